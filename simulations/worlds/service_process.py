"""A device's service in a process of its own, for tests and measurements."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fedrag_flwr.errors import ServiceError
from fedrag_flwr.files import write_private
from fedrag_flwr.places import deployed_root
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import CONFIG, SOCKET, TOKEN, Plain


@dataclass(frozen=True, slots=True)
class ServiceProcess:
    """A running service, and where its files are.

    Parameters
    ----------
    process
        The process.
    name, home, documents
        The device's.
    log
        What the process writes.
    port
        On loopback; 0: the socket alone.
    """

    process: subprocess.Popen[bytes]
    name: str
    home: Path
    documents: Path
    log: Path
    port: int = 0

    @property
    def root(self) -> Path:
        """Where the device's files are."""
        return deployed_root(self.home, self.name)

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.root / SOCKET

    @property
    def token(self) -> str:
        """Needed over loopback."""
        return (self.root / TOKEN).read_text()

    @property
    def node(self) -> dict[str, Plain]:
        """The node config of the Flower process beside it."""
        return {"data-path": str(self.documents), "device-name": self.name, "home": str(self.home), "answers": "all"}

    def client(self) -> ServiceClient:
        """A connection to it."""
        return ServiceClient(self.socket)

    @contextmanager
    def again(self) -> Iterator[ServiceProcess]:
        """Another service over the same files."""
        process = _start(self.root / CONFIG, self.port, self.log)
        with _watched(replace(self, process=process)) as service:
            yield service

    def wait(self, seconds: float = 120.0) -> None:
        """Until it answers; raises ServiceError where it does not."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                with self.client() as client:
                    client.health()
                return
            except ServiceError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


@contextmanager
def service_process(
    name: str, home: Path, documents: Path, settings: Mapping[str, Plain], *, generator: str = "", port: int = 0
) -> Iterator[ServiceProcess]:
    """Start a service over a folder of documents, and stop it in the end if it still runs.

    Parameters
    ----------
    name, home, documents
        The device's.
    settings
        Those beside the defaults.
    generator
        The model; "": the default one.
    port
        On loopback; 0: the socket alone.
    """
    config, log = deployed_root(home, name) / CONFIG, home / "service.log"
    config.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    own = {"device-name": name, "data-path": str(documents), "home": str(home), "answers": "all"}
    own |= {"model-path": generator} if generator else {}
    lines = [f'{key} = "{value}"' for key, value in own.items()]
    lines += ["[settings]", *(f'"{key}" = {str(value).lower()}' for key, value in settings.items())]
    config.unlink(missing_ok=True)
    write_private(config, ("\n".join(lines) + "\n").encode())
    with _watched(ServiceProcess(_start(config, port, log), name, home, documents, log, port)) as service:
        yield service


def serve_command(config: Path, port: int = 0) -> list[str]:
    """`fedrag serve` by this interpreter."""
    further = ("--port", str(port)) if port else ()
    return [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", "serve", "--config", str(config), *further]


def _start(config: Path, port: int, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as stream:
        return subprocess.Popen(serve_command(config, port), stdout=stream, stderr=stream, env=dict(os.environ))


@contextmanager
def _watched(service: ServiceProcess) -> Iterator[ServiceProcess]:
    try:
        service.wait()
        yield service
    finally:
        if service.process.poll() is None:
            service.process.terminate()
        service.process.wait(120)
