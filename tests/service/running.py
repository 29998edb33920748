"""A real service in a process of its own, over a few documents in which something is planted."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import ServiceError
from fedrag_flwr.places import deployed_root
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import CONFIG, SOCKET, TOKEN
from fedrag_flwr.settings import Plain

NAME = "bridges"
CANARY = "Ottilie Brackenridge"  # stands in a document, and in questions
DOCUMENTS = {
    "tarn-bridge.md": "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924 "
    "and crosses the river Ossel. The bridge is 312 metres long.\n",
    "quill-viaduct.md": f"# Quill Viaduct\n\nThe Quill Viaduct was built by {CANARY} between 1887 and 1891. "
    "It carries the railway over the Marrow Valley.\n",
}
QUESTION, ANSWER = "Who designed Tarn Bridge?", "Odile Varro"
PLANTED = "Who built the Quill Viaduct?"
SETTINGS: dict[str, Plain] = {
    "models.generation-cache": False,
    "models.context-tokens": 2048,
    "memory.tokens-per-kilotoken": 0,
    "memory.delta": 0.8,
    "inference.max-answer-tokens": 8,
}


@dataclass(frozen=True, slots=True)
class Service:
    """A running service, and where its files are."""

    process: subprocess.Popen[bytes]
    home: Path
    documents: Path
    port: int
    log: Path

    @property
    def root(self) -> Path:
        return deployed_root(self.home, NAME)

    @property
    def socket(self) -> Path:
        return self.root / SOCKET

    @property
    def token(self) -> str:
        return (self.root / TOKEN).read_text()

    @property
    def node(self) -> dict[str, Plain]:
        """The node config of the Flower process beside it."""
        return {"data-path": str(self.documents), "device-name": NAME, "home": str(self.home)}

    def client(self) -> ServiceClient:
        return ServiceClient(self.socket)

    def wait(self, seconds: float = 90.0) -> None:
        """Until it answers."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                with self.client() as client:
                    client.health()
                return
            except ServiceError:
                assert self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.1)


@contextmanager
def running(base: Path) -> Iterator[Service]:
    """A service over the documents, with nothing built yet; it is stopped in the end, if it still runs."""
    documents = base / "documents"
    documents.mkdir()
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text)
    home = base / "home"
    config = write_config(home, documents)
    port = free_port()
    log = base / "service.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command("--config", str(config), "--port", str(port)), stdout=stream, stderr=stream)
    service = Service(process, home, documents, port, log)
    try:
        service.wait()
        yield service
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(60)


def command(*words: str) -> list[str]:
    """`fedrag serve` by this interpreter."""
    return [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", "serve", *words]


def write_config(home: Path, documents: Path) -> Path:
    """The device's config file where the service looks for it."""
    path = deployed_root(home, NAME) / CONFIG
    path.parent.mkdir(parents=True)
    own = {"device-name": NAME, "data-path": str(documents), "home": str(home), "model-path": "smollm2-135m"}
    lines = [f'{key} = "{value}"' for key, value in own.items()]
    lines += ["[settings]", *(f'"{key}" = {str(value).lower()}' for key, value in SETTINGS.items())]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return path


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
