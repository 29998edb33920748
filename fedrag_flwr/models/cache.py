"""Completions made before, kept on the device so that a repeated prompt costs nothing."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError, StoreError, StoreMismatchError
from fedrag_flwr.files import making_in
from fedrag_flwr.models.base import Completion, Grammar, Prompt
from fedrag_flwr.sqlite_errors import TORN

_APPLICATION_ID = 0x46524743  # "FRGC"
_VERSION = 1
_BUSY_SECONDS = 10.0
_UNCOUNTED = (-1, 0)  # no version of a file
_log = logging.getLogger(__name__)


class GenerationCache:
    """Completions by the hash of what they were made from, in SQLite; several processes may share one.

    Parameters
    ----------
    path
        The database file; it is created readable by its owner only, for it holds generated text.
    limit_bytes
        Most bytes of completions; beyond it the least recently used go.

    Raises
    ------
    StoreCorruptError
        The file is torn or is not a database.
    StoreMismatchError
        The file is another program's database, or of another version.
    """

    def __init__(self, path: str | Path, *, limit_bytes: int = 256 << 20) -> None:
        self._path = Path(path)
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._process = 0
        self._connection: sqlite3.Connection | None = None
        self._counted = _UNCOUNTED
        with self._lock:
            self._connected()

    def key(
        self,
        generator_id: str,
        prompt: Prompt,
        grammar: Grammar | None,
        max_tokens: int,
        n: int,
        seed: int,
        temperature: float,
    ) -> str:
        """Hash everything that a completion depends on; the seed and temperature only where something is drawn."""
        drawn = None if n == 1 else (seed, temperature)
        parts = (generator_id, prompt.system, prompt.examples, prompt.user, grammar, max_tokens, n, drawn)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def get(self, key: str) -> list[Completion] | None:
        """Give the completions of a key, marked as cached and with the seconds they once took; None if unknown."""
        with self._lock:
            try:
                connection = self._connected()
                row = connection.execute("SELECT content FROM completions WHERE key = ?", (key,)).fetchone()
                if row is None:
                    return None
                connection.execute("UPDATE completions SET used = ? WHERE key = ?", (time.time_ns(), key))
                return [Completion(**fields, cached=True) for fields in json.loads(row[0])]
            except (sqlite3.Error, ValueError, TypeError) as error:
                _log.warning("the generation cache cannot be read: %s", type(error).__name__)
                return None

    def put(self, key: str, completions: list[Completion]) -> None:
        """Keep the completions of a key; a cache that cannot be written is not a reason to fail."""
        content = json.dumps(
            [
                {
                    "text": made.text,
                    "tokens_in": made.tokens_in,
                    "tokens_out": made.tokens_out,
                    "seconds": made.seconds,
                    "logprob": made.logprob,
                    "least": made.least,
                }
                for made in completions
            ]
        )
        size = len(content.encode()) + len(key)
        with self._lock:
            try:
                connection = self._connected()
                before = connection.execute("SELECT bytes FROM completions WHERE key = ?", (key,)).fetchone()
                connection.execute(
                    "INSERT OR REPLACE INTO completions (key, content, bytes, used) VALUES (?, ?, ?, ?)",
                    (key, content, size, time.time_ns()),
                )
                self._evict(connection, size - (before[0] if before else 0))
            except sqlite3.Error as error:
                self._counted = _UNCOUNTED
                _log.warning("the generation cache cannot be written: %s", type(error).__name__)

    def size(self) -> tuple[int, int]:
        """Give the number of entries and their bytes."""
        with self._lock:
            row = self._connected().execute("SELECT COUNT(*), TOTAL(bytes) FROM completions").fetchone()
        return int(row[0]), int(row[1])

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._connected().execute("DELETE FROM completions")
            self._counted = _UNCOUNTED

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _evict(self, connection: sqlite3.Connection, added: int) -> None:
        if self._total(connection, added) <= self._limit:
            return
        self._counted = _UNCOUNTED
        connection.execute(
            """DELETE FROM completions WHERE key IN (
                SELECT key FROM (SELECT key, SUM(bytes) OVER (ORDER BY used DESC, key) AS kept FROM completions)
                WHERE kept > ?)""",
            (self._limit * 9 // 10,),
        )

    def _total(self, connection: sqlite3.Connection, added: int) -> int:
        """The bytes of all completions after some were added; counted anew only where others wrote to the file."""
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        known, total = self._counted
        if version == known:
            total += added
        else:
            total = int(connection.execute("SELECT TOTAL(bytes) FROM completions").fetchone()[0])
        self._counted = (version, total)
        return total

    def _connected(self) -> sqlite3.Connection:
        """Give this process's connection: one that was opened before a fork is not used after it."""
        if self._connection is None or self._process != os.getpid():
            self._connection = self._open()
            self._counted = _UNCOUNTED  # versions are each connection's own
            self._process = os.getpid()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with making_in(self._path.parent):  # SQLite does not wait while another process turns to its log
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
                return self._prepared()
        except StoreError:
            raise  # some of ours are also OSErrors
        except OSError as error:
            raise StoreError(
                f"the generation cache cannot be opened: {error.strerror}", where=self._path.name
            ) from error

    def _prepared(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except TORN as error:
            connection.close()
            if isinstance(error, sqlite3.OperationalError):
                raise StoreError("the generation cache cannot be opened", where=self._path.name) from error
            raise StoreCorruptError(
                "the generation cache is torn", where=self._path.name, fix="delete it: it only saves time"
            ) from error
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        application, version, tables = (
            connection.execute(query).fetchone()[0]
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT COUNT(*) FROM sqlite_master")
        )
        if tables and (application, version) != (_APPLICATION_ID, _VERSION):
            connection.close()
            raise StoreMismatchError(
                "this is not a generation cache of this version", where=self._path.name, fix="name another file"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is not left on free pages
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute(
            """CREATE TABLE IF NOT EXISTS completions (
                key TEXT PRIMARY KEY, content TEXT NOT NULL, bytes INTEGER NOT NULL, used INTEGER NOT NULL
            ) WITHOUT ROWID"""
        )
        connection.execute("CREATE INDEX IF NOT EXISTS by_use ON completions (used)")
        connection.execute("COMMIT")
