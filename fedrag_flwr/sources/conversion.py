"""Readers that may crash, hang or take all memory, in one process that is used for all files of a folder."""

from __future__ import annotations

import logging

from fedrag_flwr.errors import DocumentError, ProcessError
from fedrag_flwr.processes import Child

SECONDS = 60.0
MOST_TEXT = 32 * 2**20  # bytes of one document's text
MEMORY = 3 * 2**30  # bytes of address space
TOO_LARGE = "it takes too much memory"
_AROUND = 2**16  # bytes of a reply beside the text: the title, an error, warnings
_WORKER = "fedrag_flwr.sources.conversion_worker"
_LOG = logging.getLogger(__name__)


class Converter:
    """Reads files in a process of its own, which starts with the first one and again after a crash."""

    def __init__(
        self, seconds: float = SECONDS, memory: int = MEMORY, most_text: int = MOST_TEXT, worker: str = _WORKER
    ) -> None:
        self._child = Child(worker, [str(memory), str(most_text)], seconds, most_text + _AROUND)

    def read(self, name: str, suffix: str, raw: bytes) -> tuple[str, str]:
        """Give a file's title and text; raises DocumentError where the file cannot be read, or reading it crashed or
        took too long; the next one is read all the same. A library's warnings are logged under `name`.
        """
        try:
            error, fix, title, text, *warnings = self._child.call([suffix.encode(), raw])
        except ProcessError:
            raise DocumentError("reading it crashed, or took too long", fix="export it again, or split it") from None
        for warning in warnings:
            _LOG.warning("%s: %s", name, warning.decode("utf-8", "replace"))
        if error == TOO_LARGE.encode():  # what is left of it may not suffice for the next one
            self._child.close()
        if error:
            raise DocumentError(error.decode("utf-8", "replace"), fix=fix.decode("utf-8", "replace"))
        return title.decode(), text.decode()

    def close(self) -> None:
        """End the process."""
        self._child.close()
