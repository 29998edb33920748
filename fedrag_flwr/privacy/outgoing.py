"""The ledger of what left: how much of what kind, by hour and run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fedrag_flwr.privacy.ledger import DurableFile

FILE = "outgoing.sqlite"
_Sums = tuple[int, int, int]  # records, their bytes, and how many were kept back
_HOUR = 3_600
_SCHEMA = """CREATE TABLE IF NOT EXISTS outgoing (
    hour INTEGER NOT NULL, run TEXT NOT NULL, kind TEXT NOT NULL,
    count INTEGER NOT NULL, bytes INTEGER NOT NULL, withheld INTEGER NOT NULL,
    PRIMARY KEY (hour, run, kind)) WITHOUT ROWID"""
_ADD = """INSERT INTO outgoing VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (hour, run, kind) DO UPDATE SET
    count = count + excluded.count, bytes = bytes + excluded.bytes, withheld = withheld + excluded.withheld"""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What left of one kind."""

    hour: int  # when: the beginning of an hour, in seconds since 1970; of several hours the last
    run: str  # the run that asked for it; empty where none did
    # What the filter released (`items`, `evidence`, `summaries`, `answers`, `questions`, `vectors`, `documents`,
    # `sketches`, `sums`), or the type of a message, whose bytes hold all that the message carried.
    kind: str
    # count, bytes: how many, and the bytes of their texts and vectors, or of the whole messages.
    count: int
    bytes: int
    withheld: int  # how many the export filter kept back


class OutgoingLedger:
    """Counts what leaves by hour, run and kind, in a file that outlives the store.

    What a thread has released is written in one step before the message that carries it is handed over, and stays when
    the process is killed; a power loss may take the last counts. The device's own file is made when something first
    leaves; without one the counts stay in working memory.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: dict[int, dict[str, _Sums]] = {}  # by thread and kind

    @cached_property
    def _file(self) -> DurableFile:
        return DurableFile(self._path, "outgoing ledger", _SCHEMA, power_loss=False)  # it counts, and spends nothing

    def note(self, kind: str, records: Sequence[object], withheld: int = 0) -> None:
        """Note what this thread lets leave."""
        size = sum(map(weight, records))
        with self._lock:
            noted = self._noted.setdefault(threading.get_ident(), {})
            count, total, kept_back = noted.get(kind, (0, 0, 0))
            noted[kind] = (count + len(records), total + size, kept_back + withheld)

    def forget(self) -> None:
        """Drop what this thread released and no message carried."""
        with self._lock:
            self._noted.pop(threading.get_ident(), None)

    def write(self, run: str, message: str, size: int) -> None:
        """Write down what this thread has released, and the message of so many bytes that carries it; raises StoreError
        where the file cannot be written: then the message must not leave.
        """
        with self._lock:
            noted = self._noted.pop(threading.get_ident(), {})
        self._add(run, [*noted.items(), (message, (1, size, 0))])

    def by_kind(self) -> list[Outgoing]:
        """All that ever left, a row for each kind."""
        return self._read(
            "SELECT max(hour), '', kind, sum(count), sum(bytes), sum(withheld) FROM outgoing GROUP BY kind"
        )

    def newest(self, most: int) -> list[Outgoing]:
        """The newest rows, the last hour first."""
        return self._read(f"SELECT * FROM outgoing ORDER BY hour DESC, run, kind LIMIT {int(most)}")

    def close(self) -> None:
        """Write what no message carried, and close the file."""
        with self._lock:
            noted = [row for rows in self._noted.values() for row in rows.items()]
            self._noted.clear()
        self._add("", noted)
        if "_file" in self.__dict__:
            self._file.close()
            del self.__dict__["_file"]

    def _add(self, run: str, noted: Sequence[tuple[str, _Sums]]) -> None:
        rows = [(kind, *sums) for kind, sums in noted if any(sums)]
        if not rows:
            return
        hour = int(self._clock()) // _HOUR * _HOUR
        with self._lock:
            file = self._file
        with file.writing() as connection:
            connection.executemany(_ADD, [(hour, run, *row) for row in rows])

    def _read(self, query: str) -> list[Outgoing]:
        if self._path is not None and not self._path.exists():
            return []
        with self._lock:
            file = self._file
        with file.reading() as connection:
            return [Outgoing(*row) for row in connection.execute(query).fetchall()]


def weight(value: object) -> int:
    """Bytes of the texts in a record and of its vectors, whose values travel in two bytes each."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "replace"))
    if isinstance(value, np.ndarray):
        return int(value.nbytes if value.dtype == np.uint8 else 2 * value.size)
    if isinstance(value, tuple):
        return sum(map(weight, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(weight(getattr(value, field.name)) for field in fields(value))
    return 0
