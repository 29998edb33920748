"""How many encrypted questions a device may have scored: enough answers about a hidden row tell the row."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path

from fedrag_flwr.privacy.ledger import DurableFile

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS questions (device TEXT, epoch INTEGER, asked INTEGER NOT NULL,"
    " PRIMARY KEY (device, epoch)) WITHOUT ROWID"
)


class QuestionQuota:
    """Counts each device's questions in an epoch, in a file that outlives the run.

    Parameters
    ----------
    path
        The file.
    most
        Questions of one device in one epoch.
    """

    def __init__(self, path: Path | None, most: int) -> None:
        self._file = DurableFile(path, "question quota", _SCHEMA, 1)
        self._most = most

    def take(self, known_as: Collection[str], epoch: int, wanted: int) -> int:
        """Spend up to so many questions, and say how many were left to spend; asking the same again spends anew.

        Parameters
        ----------
        known_as
            All that the device is known by: a device chooses its name, so its node counts beside it.
        epoch
            The epoch.
        wanted
            Questions.
        """
        with self._file.writing() as connection:
            asked = {name: self._asked(connection, name, epoch) for name in known_as}
            granted = max(0, min(wanted, self._most - max(asked.values())))
            for name, before in asked.items():
                connection.execute("INSERT OR REPLACE INTO questions VALUES (?, ?, ?)", (name, epoch, before + granted))
        return granted

    @staticmethod
    def _asked(connection: sqlite3.Connection, name: str, epoch: int) -> int:
        row = connection.execute("SELECT asked FROM questions WHERE device = ? AND epoch = ?", (name, epoch)).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()
