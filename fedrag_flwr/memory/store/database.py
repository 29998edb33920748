"""The SQLite file under a store: made whole or not at all, one writer at a time, errors of our own kinds."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from fedrag_flwr.errors import (
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from fedrag_flwr.files import sync
from fedrag_flwr.memory.store.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES
from fedrag_flwr.sqlite_errors import REBUILD, own_errors

FILE = "store.sqlite"
LOCK = "write.lock"
LOCK_SECONDS = 30.0  # to wait for another writer
_POLL_SECONDS = 0.01


@contextlib.contextmanager
def write_lock(directory: Path, timeout: float, name: str = LOCK) -> Iterator[None]:
    """Hold a lock of the store's directory, across threads and processes.

    Raises StoreLockedError, which names the writer's process id, if another writer holds it for `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    handle = os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise _locked(directory / name, handle, timeout) from None
                time.sleep(_POLL_SECONDS)
        with contextlib.suppress(OSError):  # the pid only helps the waiting reader; a full disk must not stop a removal
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)  # a forked child may still hold the descriptor
    finally:
        os.close(handle)


def _locked(file: Path, handle: int, timeout: float) -> StoreLockedError:
    pid = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
    return StoreLockedError(
        f"process {pid} has been writing to the store for more than {timeout:g} s",
        where=f"{file.parent.name}/{file.name}",
        fix=f"wait for process {pid} or end it",
    )


class _Handle:
    """One thread's connection; it closes when the thread, or the store, is gone."""

    __slots__ = ("__weakref__", "close", "connection")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.close = weakref.finalize(self, connection.close)


class Database:
    """Connections to one store file: any number of readers, one writer at a time."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._local = threading.local()
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self._closed = False

    @staticmethod
    def create(directory: Path, state: dict[str, str]) -> None:
        """Make the file with its tables and first state; the caller holds the write lock.

        The file is made under another name and moved, so that a file under the right name is always whole.
        """
        path = directory / FILE
        fresh = directory / f"{FILE}.new"
        for leftover in (fresh, Path(f"{fresh}-wal"), Path(f"{fresh}-shm"), Path(f"{fresh}-journal")):
            leftover.unlink(missing_ok=True)
        if Path(f"{path}-wal").exists():
            raise StoreCorruptError(
                "the file is missing while its log is there", where=f"{directory.name}/{FILE}", fix=REBUILD
            )
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(f"BEGIN; {TABLES}")
            connection.executemany("INSERT INTO state VALUES (?, ?)", state.items())
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sync(fresh)
        fresh.replace(path)
        sync(directory)

    def check(self) -> None:
        """See that the file is whole, is a store and has this schema.

        Raises StoreCorruptError if it is torn or is something else, StoreMismatchError if its schema is another.
        """
        name = f"{self.directory.name}/{FILE}"
        with own_errors(self.directory, FILE):
            file = self.directory / FILE
            at_rest = 0 if Path(f"{file}-wal").exists() else file.stat().st_size
        with self.reading() as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            schema = connection.execute("PRAGMA user_version").fetchone()[0]
            if application != APPLICATION_ID:
                raise StoreCorruptError("the file is a database, but not a store", where=name, fix=REBUILD)
            if schema != SCHEMA_VERSION:
                age = "an older" if schema < SCHEMA_VERSION else "a newer"
                raise StoreMismatchError(
                    f"the store was written by {age} release (schema {schema}, this release has {SCHEMA_VERSION})",
                    where=name,
                    fix=f"{REBUILD}, or use that release",
                )
            if at_rest % connection.execute("PRAGMA page_size").fetchone()[0]:
                self._whole("the last page is short")
            self._whole(connection.execute("PRAGMA quick_check(1)").fetchone()[0])

    def verify(self) -> None:
        """Check every page, index and reference of the file; raises StoreCorruptError if something is not whole."""
        with self.reading() as connection:
            self._whole(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
            broken = connection.execute("PRAGMA foreign_key_check").fetchone()
            self._whole("ok" if broken is None else "a reference leads nowhere")

    def _whole(self, verdict: str) -> None:
        if verdict != "ok":
            raise StoreCorruptError("the file is torn", where=f"{self.directory.name}/{FILE}", fix=REBUILD)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one unchanging state; never waits for a writer."""
        with own_errors(self.directory, FILE):
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _end(connection, "COMMIT")

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection in a transaction that is committed at the end, or undone by an error."""
        with own_errors(self.directory, FILE), write_lock(self.directory, LOCK_SECONDS):
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                _end(connection, "ROLLBACK")

    def forget_log(self) -> None:
        """Move the log into the file and empty it, unless a reader holds it: what was removed is then in neither."""
        with own_errors(self.directory, FILE):
            self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for handle in list(self._handles):
            handle.close()

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError("the store is closed", where=self.directory.name, fix="open it again")
        handle: _Handle | None = getattr(self._local, "handle", None)
        if handle is None:
            handle = _Handle(self._connect())
            self._handles.add(handle)
            self._local.handle = handle
        return handle.connection

    def _connect(self) -> sqlite3.Connection:
        path = self.directory / FILE
        if not path.is_file():
            raise StoreError("the store's file is gone", where=f"{self.directory.name}/{FILE}", fix=REBUILD)
        if path.stat().st_size == 0:  # SQLite would take it for a new database
            raise StoreCorruptError("the file is empty", where=f"{self.directory.name}/{FILE}", fix=REBUILD)
        connection = sqlite3.connect(
            path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cache_size = -16000")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _end(connection: sqlite3.Connection, statement: str) -> None:
    try:
        if connection.in_transaction:
            connection.execute(statement)
    except sqlite3.ProgrammingError:
        return  # closed by another thread in the middle: nothing is left to end
