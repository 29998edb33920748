"""Who is at the other end of a connection, and how many connections there are: idle ones must not shut others out."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
import time
from collections.abc import Mapping

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

UNIX = "unix"
STRANGER = "stranger"
_CREDENTIALS = struct.Struct("3i")  # process, user and group


MOST_CONNECTIONS = 128  # of the socket, and as many of the port
HEAD_SECONDS = 10.0  # until a request's head is there
MOST_HEAD_BYTES = 64 * 2**10


class PeerProtocol(HttpToolsProtocol):
    """HTTP that names the caller's process as its client on a Unix socket.

    The socket and the port have a limit of connections each. Where there are too many, the one that is idle for longest
    is closed; where all are at work, the new one is. A head that is late or too large closes its connection.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look who is there, and whether there is room."""
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        self.family: int = peer.family
        if peer.family == socket.AF_UNIX:
            self.client = (UNIX, _process_of(peer))
        self.active = time.monotonic()
        self.head_bytes = 0
        self.late = self.loop.call_later(HEAD_SECONDS, transport.close)
        alike = [one for one in self.connections if isinstance(one, PeerProtocol) and one.family == self.family]
        if len(alike) > most_connections():
            idle = [one for one in alike if one is not self and one.is_idle]
            min(idle, key=lambda one: one.active, default=self).drop()

    @property
    def is_idle(self) -> bool:
        """Whether no request is worked on."""
        return self.cycle is None or self.cycle.response_complete

    def drop(self) -> None:
        """Close the connection, which counts no longer from now on."""
        self.connections.discard(self)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Read on, and see whether the head grows too large."""
        self.active = time.monotonic()
        self.head_bytes += len(data)
        super().data_received(data)
        if self.head_bytes > MOST_HEAD_BYTES:
            self.drop()

    def on_message_begin(self) -> None:
        """A request begins: its head has to be there in time."""
        super().on_message_begin()
        self.late.cancel()
        self.late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        """The head is there; what comes now is the body."""
        self.late.cancel()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A body is bounded where it is read."""
        self.head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The next request has a head of its own."""
        self.head_bytes = 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self.late.cancel()
        super().connection_lost(exc)


def most_connections() -> int:
    """How many connections one listener may have: far fewer than the files that a process may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(8, min(MOST_CONNECTIONS, files // 4))


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
