"""The documents of the tests' service, in which something is planted."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedrag_flwr.settings import Plain
from tests.service.service_process import ServiceProcess, service_process

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


@contextmanager
def running(base: Path) -> Iterator[ServiceProcess]:
    """A service over the documents, with nothing built yet; it is stopped in the end, if it still runs."""
    documents = base / "documents"
    documents.mkdir()
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text)
    with service_process(
        NAME, base / "home", documents, SETTINGS, generator="smollm2-135m", port=free_port()
    ) as service:
        yield service


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
