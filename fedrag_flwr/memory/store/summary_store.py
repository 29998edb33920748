"""The server's summaries of all devices, in a file that outlives the run."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from fedrag_flwr.errors import WireError
from fedrag_flwr.files import making_in
from fedrag_flwr.knowledge_graph.routing import Floats, SummaryIndex
from fedrag_flwr.memory.store.schema import pack_vector, unpack_vectors
from fedrag_flwr.records import SubgraphSummary, SummaryBatch, SummaryOverview, SummaryRequest
from fedrag_flwr.sqlite_errors import TORN, own_errors

_FILE = "summaries.sqlite"
MOST_SUMMARIES = 20_000  # of one device: nobody speaks for more of the index than that
_TABLES = (
    "CREATE TABLE IF NOT EXISTS devices (device TEXT PRIMARY KEY, generation TEXT NOT NULL, version INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS summaries (device TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL,"
    " vector BLOB NOT NULL, PRIMARY KEY (device, id)) WITHOUT ROWID",
)


class SummaryStore:
    """What devices have shared of their summaries; each speaks for itself alone.

    Parameters
    ----------
    root
        The folder of the file.
    dimension
        Length of the vectors.
    """

    def __init__(self, root: Path, dimension: int) -> None:
        self._root = root
        self._dimension = dimension
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with own_errors(root, _FILE), making_in(root):
            (root / _FILE).touch(mode=0o600)
            self._connection = sqlite3.connect(root / _FILE, isolation_level=None)
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA secure_delete = ON")  # what is deleted is not left on free pages
                for table in _TABLES:
                    self._connection.execute(table)
            except TORN:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def known_of(self, device: str) -> SummaryRequest:
        """What to ask a device for: all that is not known yet."""
        with own_errors(self._root, _FILE):
            row = self._connection.execute("SELECT generation FROM devices WHERE device = ?", (device,)).fetchone()
            ids = self._connection.execute("SELECT id FROM summaries WHERE device = ? ORDER BY id", (device,))
            return SummaryRequest(row[0] if row else "", tuple(name for (name,) in ids))

    def take(self, batch: SummaryBatch) -> None:
        """Take a device's answer, whole or not at all; what it takes back or replaces is in no file then.

        Raises
        ------
        WireError
            A summary has another origin, or a vector another length; or there would be more than one device may have.
        """
        for one in batch.summaries:
            if one.origin != batch.device:
                raise WireError("a summary speaks for another device", where="SummaryBatch")
            if one.vector.shape != (self._dimension,):
                raise WireError("a summary's vector has another length", where="SummaryBatch")
        with own_errors(self._root, _FILE):
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                removed = self._write(batch)
                self._within_quota(batch.device)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            if removed:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _write(self, batch: SummaryBatch) -> int:
        """Write a device's answer, and give how many summaries went or were replaced."""
        connection, device = self._connection, batch.device
        gone = [(device, name) for name in (*batch.retracted, *(one.id for one in batch.summaries))]
        removed = connection.executemany("DELETE FROM summaries WHERE device = ? AND id = ?", gone).rowcount
        if self.known_of(device).generation != batch.generation:
            removed += connection.execute("DELETE FROM summaries WHERE device = ?", (device,)).rowcount
        connection.execute("INSERT OR REPLACE INTO devices VALUES (?, ?, ?)", (device, batch.generation, batch.version))
        connection.executemany(
            "INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?)",
            [(device, one.id, one.text, pack_vector(one.vector)) for one in batch.summaries],
        )
        return removed

    def _within_quota(self, device: str) -> None:
        """Raise where a device has too many; what it sent is taken back with it."""
        count = "SELECT count(*) FROM summaries WHERE device = ?"
        if self._connection.execute(count, (device,)).fetchone()[0] > MOST_SUMMARIES:
            raise WireError(f"a device may have {MOST_SUMMARIES:,} summaries", where="SummaryBatch")

    def forget(self) -> None:
        """Drop what all devices have shared."""
        with own_errors(self._root, _FILE):
            self._connection.execute("DELETE FROM summaries")
            self._connection.execute("DELETE FROM devices")
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def index(self, devices: frozenset[str], seed: int = 0) -> SummaryIndex:
        """The summaries of some devices, searchable."""
        ids, owners, vectors = self.rows(devices)
        return SummaryIndex(ids, owners, vectors, seed)

    def overview(self, devices: frozenset[str]) -> SummaryOverview:
        """The vectors of some devices' summaries, without texts."""
        ids, owners, vectors = self.rows(devices)
        return SummaryOverview(
            tuple(SubgraphSummary(one, "", row, owner) for one, owner, row in zip(ids, owners, vectors, strict=True))
        )

    def rows(self, devices: frozenset[str]) -> tuple[list[str], list[str], Floats]:
        """Ids, owners and vectors, (n, dimension), of some devices' summaries, in the order of owners and ids."""
        with own_errors(self._root, _FILE):
            rows = self._connection.execute("SELECT id, device, vector FROM summaries ORDER BY device, id").fetchall()
        kept = [row for row in rows if row[1] in devices]
        vectors = unpack_vectors([row[2] for row in kept], self._dimension)
        return [row[0] for row in kept], [row[1] for row in kept], vectors
