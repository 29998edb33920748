"""SQLite files that survive a killed process and a power loss, and errors of our own when they do not open."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.files import making_in
from fedrag_flwr.sqlite_errors import own_errors

_BUSY_SECONDS = 10.0
_MEND = "restore it from a backup; do not delete a ledger"


class DurableFile:
    """One SQLite file in WAL mode: what a transaction committed stays.

    Threads may share it; other processes wait for its write lock.

    Parameters
    ----------
    path
        The file; its folder is made, readable by its owner only, where it is missing. None keeps everything in working
        memory, for as long as the object lives.
    kind
        What the file is for; another kind of file at this path is refused.
    schema
        One ``CREATE TABLE`` statement.
    version
        Schema version; a file of another version is refused.
    power_loss
        Whether a transaction must survive a power loss, too: then each waits for the disk, for milliseconds.

    Raises
    ------
    StoreError
        If the file cannot be opened, is torn, or is of another kind or version.
    """

    def __init__(self, path: Path | None, kind: str, schema: str, version: int, *, power_loss: bool = True) -> None:
        self._name = path.name if path else kind
        self._folder = path.parent if path else Path("memory")
        self._lock = threading.RLock()
        with self._errors():
            self._connection = _connected(path)
            self._connection.execute(f"PRAGMA synchronous={'FULL' if power_loss else 'NORMAL'}")
            self._connection.execute("PRAGMA secure_delete=ON")  # what is deleted is not left on free pages
            with self.writing():
                self._connection.execute("CREATE TABLE IF NOT EXISTS about (kind TEXT PRIMARY KEY, version INTEGER)")
                self._connection.execute(
                    "INSERT OR IGNORE INTO about SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM about)", (kind, version)
                )
                self._connection.execute(schema)
            about = self._connection.execute("SELECT kind, version FROM about").fetchall()
        if about != [(kind, version)]:
            self.close()
            raise StoreMismatchError(
                f"it is not a {kind} of version {version}", where=self._name, fix="use another file or an older release"
            )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock for one transaction: committed at the end, undone on an error.

        Within another one of this thread it is a part of that.
        """
        with self._lock, self._errors():
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # not where SQLite has undone it by itself, as on a full disk
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for a query."""
        with self._lock, self._errors():
            yield self._connection

    def forget_log(self) -> None:
        """Move the log into the file and empty it, unless a reader holds it: what was removed is then in neither."""
        with self.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _errors(self) -> AbstractContextManager[None]:
        return own_errors(self._folder, self._name, _MEND)


def _connected(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _opened(":memory:")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with making_in(path.parent):  # SQLite does not wait while another process turns to its log
        path.touch(mode=0o600)
        connection = _opened(path)
        connection.execute("PRAGMA journal_mode=WAL")
        return connection


def _opened(where: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(where, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
