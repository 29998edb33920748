"""Running a service: its socket and lock, and a graceful end."""

from __future__ import annotations

import os
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from fedrag_flwr.errors import ServiceError, ServiceRunningError
from fedrag_flwr.files import write_private
from fedrag_flwr.service.application import make_application
from fedrag_flwr.service.config import DeviceConfig
from fedrag_flwr.service.metrics import start_logging, told
from fedrag_flwr.service.peers import PeerProtocol
from fedrag_flwr.service.protocol import LOCK, TOKEN
from fedrag_flwr.service.resident import Resident

_BACKLOG = 512
_LONGEST_PATH = 107  # bytes of a Unix socket's path on Linux
_GRACE_SECONDS = 30


def serve(config: DeviceConfig) -> None:
    """Serve one device until SIGTERM or SIGINT; raises ServiceRunningError where a service of this device, or on this
    socket, runs already, and FedragError where the device cannot be opened.
    """
    import uvicorn

    config.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    start_logging()
    with ExitStack() as held:
        held.enter_context(alone(config.root / LOCK))
        sockets = [held.enter_context(unix_socket(config.socket))]
        if config.service.port:
            sockets.append(held.enter_context(loopback_socket(config.service.port)))
        token = token_of(config.root / TOKEN) if config.service.port else ""
        app = make_application(Resident(config), token)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=PeerProtocol,
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # who calls is who connected: a header may say anything
                timeout_keep_alive=60,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        signal.signal(signal.SIGTERM, lambda *_: None)  # the server stops by itself, and the process ends with 0
        told("serving", device=config.name, port=config.service.port)
        with suppress(KeyboardInterrupt):
            server.run(sockets=sockets)
        told("stopped", device=config.name)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock that one process has at a time; raises ServiceRunningError where another has it."""
    lock = FileLock(path, timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise ServiceRunningError(
            "another service has this device or socket", where=path.parent.name, fix="stop it first, or ask it"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def unix_socket(path: Path) -> Iterator[socket.socket]:
    """Listen on a Unix socket that its owner alone can reach, from its first moment on; it goes in the end.

    Raises ServiceRunningError where another service listens there and ServiceError where there can be no socket with
    that path, or others may enter its directory.
    """
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise ServiceError("the socket's path is too long", where=path.name, fix="set `service` to a shorter path")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = path.parent.stat()
    if found.st_mode & 0o077 or found.st_uid != os.geteuid():
        raise ServiceError("the socket's directory is open to others", where=path.name, fix="chmod 700 the directory")
    with alone(path.with_name(f"{path.name}.lock")), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        path.unlink(missing_ok=True)  # of a service that was killed
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def loopback_socket(port: int) -> Iterator[socket.socket]:
    """Listen on 127.0.0.1, never on another address; raises ServiceRunningError where somebody else does."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise ServiceRunningError(
                f"the port cannot be had ({type(error).__name__})", where=str(port), fix="choose another port"
            ) from error
        listener.listen(_BACKLOG)
        yield listener


def token_of(path: Path) -> str:
    """The token in a file that its owner alone can read; made where there is none."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32).encode())
    return path.read_text(encoding="ascii").strip()
