"""The server's summaries of all devices, in a file that outlives the run."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from fedrag_flwr.errors import WireError
from fedrag_flwr.knowledge_graph.routing import Floats, SummaryIndex
from fedrag_flwr.memory.store.schema import pack_vector, unpack_vectors
from fedrag_flwr.privacy.ledger import DurableFile
from fedrag_flwr.records import SubgraphSummary, SummaryBatch, SummaryOverview, SummaryRequest

_FILE = "summaries.sqlite"
MOST_SUMMARIES = 20_000  # of one device: nobody speaks for more of the index than that
_SUMMARIES = """CREATE TABLE IF NOT EXISTS summaries (device TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL,
    vector BLOB NOT NULL, PRIMARY KEY (device, id)) WITHOUT ROWID"""
_DEVICES = """CREATE TABLE IF NOT EXISTS devices (
    device TEXT PRIMARY KEY, generation TEXT NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID"""


class SummaryStore:
    """What devices have shared of their summaries; each speaks for itself alone."""

    def __init__(self, root: Path, dimension: int) -> None:
        self._dimension = dimension
        self._file = DurableFile(root / _FILE, "list of summaries", _SUMMARIES)
        with self._file.writing() as connection:
            connection.execute(_DEVICES)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def known_of(self, device: str) -> SummaryRequest:
        """What to ask a device for: all that is not known yet."""
        with self._file.reading() as connection:
            row = connection.execute("SELECT generation FROM devices WHERE device = ?", (device,)).fetchone()
            ids = connection.execute("SELECT id FROM summaries WHERE device = ? ORDER BY id", (device,))
            return SummaryRequest(row[0] if row else "", tuple(name for (name,) in ids))

    def take(self, batch: SummaryBatch) -> None:
        """Take a device's answer, whole or not at all; what it takes back or replaces is in no file then.

        Raises WireError where a summary has another origin, a vector another length, or there would be too many.
        """
        for one in batch.summaries:
            if one.origin != batch.device:
                raise WireError("a summary speaks for another device", where="SummaryBatch")
            if one.vector.shape != (self._dimension,):
                raise WireError("a summary's vector has another length", where="SummaryBatch")
        with self._file.writing() as connection:
            removed = self._write(connection, batch)
            count = "SELECT count(*) FROM summaries WHERE device = ?"
            if connection.execute(count, (batch.device,)).fetchone()[0] > MOST_SUMMARIES:
                raise WireError(f"a device may have {MOST_SUMMARIES:,} summaries", where="SummaryBatch")
        if removed:
            self._file.forget_log()

    def _write(self, connection: sqlite3.Connection, batch: SummaryBatch) -> int:
        """Write a device's answer, and give how many summaries went or were replaced."""
        device = batch.device
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

    def forget(self) -> None:
        """Drop what all devices have shared."""
        with self._file.writing() as connection:
            connection.execute("DELETE FROM summaries")
            connection.execute("DELETE FROM devices")
        self._file.forget_log()

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
        with self._file.reading() as connection:
            rows = connection.execute("SELECT id, device, vector FROM summaries ORDER BY device, id").fetchall()
        kept = [row for row in rows if row[1] in devices]
        vectors = unpack_vectors([row[2] for row in kept], self._dimension)
        return [row[0] for row in kept], [row[1] for row in kept], vectors
