"""The process in which foreign formats are read: it may crash without harm to its parent."""

from __future__ import annotations

import logging
import resource
import sys

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.processes import private_streams, read_frames, write_frames
from fedrag_flwr.sources.conversion import TOO_LARGE
from fedrag_flwr.sources.formats import FOREIGN

_MOST_BYTES = 2**30  # of a request
_MOST_WARNINGS, _MOST_CHARS = 3, 200  # of a file; what a library warns of may be long
_MOST_TITLE = 2_000  # characters


class _Warnings(logging.Handler):
    """What libraries warn of while one file is read."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first few."""
        if len(self.told) < _MOST_WARNINGS:
            self.told.append(" ".join(record.getMessage().split())[:_MOST_CHARS])


def reply_to(suffix: str, raw: bytes, most_text: int) -> list[bytes]:
    """Read a file: an error with its fix ("" for none), title, text, and warnings."""
    warnings = _Warnings()
    logging.getLogger().handlers = [warnings]
    error, fix, title, text = "", "", "", ""
    try:
        title, text = FOREIGN[suffix](raw)
    except DocumentError as told:
        error, fix = told.what, told.fix
    except MemoryError:
        error, fix = TOO_LARGE, "split it"
    except Exception as told:  # foreign bytes make parsers raise kinds beyond their own
        error, fix = f"it cannot be read ({type(told).__name__})", "export it again"
    found = text.encode("utf-8", "replace")
    if len(found) > most_text:
        error, fix, found = f"its text is longer than {most_text} bytes", "split it", b""
    said = (error, fix, title[:_MOST_TITLE])
    told_of = (warning.encode("utf-8", "replace") for warning in warnings.told)
    return [*(one.encode("utf-8", "replace") for one in said), found, *told_of]


def main() -> None:
    """Read files until there are no more."""
    memory, most_text = map(int, sys.argv[1:3])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "darwin":  # which knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    asked, told = private_streams()
    while True:
        try:
            suffix, raw = read_frames(asked, _MOST_BYTES)
        except EOFError:
            return
        write_frames(told, reply_to(suffix.decode(), raw, most_text))


if __name__ == "__main__":
    main()
