"""Who is at the other end of a connection: on the Unix socket the kernel tells its process."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

UNIX = "unix"
STRANGER = "stranger"
_CREDENTIALS = struct.Struct("3i")  # process, user and group


class PeerProtocol(HttpToolsProtocol):
    """HTTP that names the caller's process as its client on a Unix socket."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look who is there."""
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        if peer.family == socket.AF_UNIX:
            self.client = (UNIX, _process_of(peer))


def _process_of(peer: socket.socket) -> int:
    """The process at the other end, where the system tells it (Linux); else 0 for all."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    told = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(told)[0])


def is_local(scope: Mapping[str, object]) -> bool:
    """Whether a request came by the Unix socket."""
    client = scope.get("client")
    return isinstance(client, tuple) and client[0] == UNIX


def caller_of(scope: Mapping[str, object], has_token: bool) -> str:
    """Who sent a request: a process on the Unix socket, whoever holds the token, or anybody else."""
    client = scope.get("client")
    if is_local(scope) and isinstance(client, tuple):
        return f"{UNIX} {client[1]}"
    return "tcp" if has_token else STRANGER
