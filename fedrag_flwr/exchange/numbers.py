"""Numbers of sealed summaries, by which a reader tells those of now from those of before."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from fedrag_flwr.errors import StaleMessageError
from fedrag_flwr.privacy.durable import DurableFile

FILE = "summary_numbers.sqlite"
_SCHEMA = "CREATE TABLE IF NOT EXISTS numbers (key BLOB PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID"
_OWN = b""


class SummaryNumbers:
    """The last number that this device gave, and the highest that it took of each member's key.

    The file lies beside the device's own key: where both are lost the device has a new key, and begins anew for all.

    Parameters
    ----------
    path
        The file, opened when it is first needed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def next(self) -> int:
        """A number above all that this device gave before."""
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO numbers VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET number = number + 1", (_OWN,)
            )
            return self._last(_OWN)

    def check(self, key: bytes, number: int) -> None:
        """Compare a number with the highest that was taken of a member's key.

        Raises
        ------
        StaleMessageError
            It is no higher.
        """
        if number <= self._last(key):
            raise StaleMessageError("they are not newer than those that came before", where="summaries")

    def keep(self, taken: Mapping[bytes, int]) -> None:
        """Note what was taken, by the member's key."""
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT INTO numbers VALUES (?, ?)"
                " ON CONFLICT (key) DO UPDATE SET number = MAX(number, excluded.number)",
                list(taken.items()),
            )

    def close(self) -> None:
        """Close the file, if it was opened."""
        if (opened := self.__dict__.pop("_file", None)) is not None:
            opened.close()

    @cached_property
    def _file(self) -> DurableFile:
        return DurableFile(self._path, "summary numbers", _SCHEMA, 1)

    def _last(self, key: bytes) -> int:
        with self._file.reading() as connection:
            row = connection.execute("SELECT number FROM numbers WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0
