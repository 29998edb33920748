"""A store's versions: each comes after the last by a number that nobody can tell beforehand.

A store that is put back from a backup counts on from an older version. By steps of one it would come to the numbers
that others know for what it held before it was put back, and both sides would agree on a number that means different
things. So versions jump, and only one that this very store gave to others counts as known to them.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable

Jump = Callable[[], int]
LONGEST_JUMP = 2**18  # on the wire a version has 40 bits: some eight million changes of a store
_TABLE = "CREATE TABLE IF NOT EXISTS given (version INTEGER PRIMARY KEY)"  # stores made before versions jumped lack it


def jump() -> int:
    """By how much the next version is higher than the last."""
    return 1 + secrets.randbelow(LONGEST_JUMP)


def give(connection: sqlite3.Connection, version: int) -> None:
    """Remember that others may know of a version; within a write transaction."""
    connection.execute(_TABLE)
    connection.execute("INSERT OR IGNORE INTO given VALUES (?)", (version,))


def is_given(connection: sqlite3.Connection, version: int) -> bool:
    """Whether others may know of a version from this store as it is, and not as it was before it was put back."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'given'").fetchone() is None:
        return False
    return connection.execute("SELECT 1 FROM given WHERE version = ?", (version,)).fetchone() is not None
