"""What a device remembers of the messages that it handled, so that one that comes twice has an effect but once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from fedrag_flwr.errors import StaleMessageError, StoreCorruptError, StoreFullError
from fedrag_flwr.privacy.ledger import DurableFile

FILE = "messages.sqlite"
MOST_RUNS = 64
MOST_REPLY = 2**18  # bytes of a reply that is kept; larger ones are read anew from the store
_SCHEMA = """CREATE TABLE IF NOT EXISTS handled (
    run TEXT PRIMARY KEY, step INTEGER NOT NULL, number INTEGER NOT NULL, reply BLOB
) WITHOUT ROWID"""
_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class MessageLog:
    """The latest request of each of the last runs, and the reply to the very last if that is small.

    The server numbers its requests and waits for a reply before it sends a device the next. So one with the number of
    the latest is that one again and gets the same reply, and one with a lower number is old.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mending = threading.Lock()

    def once(self, run: str, step: int, act: Callable[[], bytes]) -> bytes:
        """Handle a request, or give the reply that it got before; raises StaleMessageError where a later request of the
        run was handled before and StoreError where the file cannot be read or written. A torn one is made anew: it
        spares what can be done again.

        A device that is killed between the act and this note acts anew: acts are such that this changes nothing, but
        for lessons of walks, which count twice then, sealed summaries, which are not newer then and are refused until
        the next exchange, and waiting questions, whose turn is over then until they are offered again. Those without a
        place (0) are handled each time. What `act` raises is not remembered, so it may be tried again.
        """
        if not step:
            return act()
        latest, reply = self._mended(lambda: self._latest(run))
        if step < latest:
            raise StaleMessageError(
                "a later message of this run was handled before", where="message", fix="ask anew, with a new number"
            )
        if step == latest and reply is not None:
            return reply
        content = act()
        try:
            self._mended(lambda: self._keep(run, step, content if len(content) <= MOST_REPLY else None))
        except StoreFullError:  # the reply is made, and the ledger of what leaves has it
            _LOG.warning("the disk is full: a message that comes twice will be handled twice")
        return content

    def forget(self) -> None:
        """Drop the replies, if any were ever kept: they may tell of what is gone since, and can be made anew."""
        if self._path.exists():
            self._mended(self._forget)

    def close(self) -> None:
        """Close the file, if it was opened."""
        if (opened := self.__dict__.pop("_file", None)) is not None:
            opened.close()

    def _mended(self, step: Callable[[], _Result]) -> _Result:
        found = _identity(self._path)
        try:
            return step()
        except StoreCorruptError:
            with self._mending:
                if _identity(self._path) == found:  # else another thread or process has made it anew meanwhile
                    _LOG.warning("the log of messages was torn and is made anew: one that comes twice is handled twice")
                    self.close()
                    for part in self._path.parent.glob(f"{self._path.name}*"):
                        part.unlink(missing_ok=True)
            return step()

    def _forget(self) -> None:
        with self._file.writing() as connection:
            connection.execute("UPDATE handled SET reply = NULL")
        self._file.forget_log()

    @cached_property
    def _file(self) -> DurableFile:
        return DurableFile(self._path, "log of messages", _SCHEMA)

    def _latest(self, run: str) -> tuple[int, bytes | None]:
        with self._file.reading() as connection:
            row = connection.execute("SELECT step, reply FROM handled WHERE run = ?", (run,)).fetchone()
        return row or (0, None)

    def _keep(self, run: str, step: int, reply: bytes | None) -> None:
        with self._file.writing() as connection:
            (number,) = connection.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM handled").fetchone()
            connection.execute("UPDATE handled SET reply = NULL WHERE run != ?", (run,))  # no more stays than is needed
            connection.execute(
                "INSERT INTO handled VALUES (?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET"
                " step = excluded.step, number = excluded.number, reply = excluded.reply"
                " WHERE excluded.step >= handled.step",  # two at work end in any order
                (run, step, number, reply),
            )
            connection.execute(
                "DELETE FROM handled WHERE run NOT IN (SELECT run FROM handled ORDER BY number DESC LIMIT ?)",
                (MOST_RUNS,),
            )
        self._file.forget_log()


def _identity(path: Path) -> int:
    """Which file stands at a path: another one made anew has another number; 0 where there is none."""
    return path.stat().st_ino if path.exists() else 0
