"""Evidence tuples beside the documents that they were found in, so that they go where a document goes or changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

from fedrag_flwr.memory.store.database import Database
from fedrag_flwr.memory.store.queries import LISTED, listed
from fedrag_flwr.memory.store.schema import checksum
from fedrag_flwr.records import EvidenceTuple

_TABLE = (
    "CREATE TABLE IF NOT EXISTS evidence_tuples (document INTEGER PRIMARY KEY REFERENCES documents (number)"
    " ON DELETE CASCADE, rules TEXT NOT NULL, tuples TEXT NOT NULL, checksum INTEGER NOT NULL)"
)
Version = tuple[str, str]  # a document's id and digest


@dataclass(frozen=True, slots=True)
class TupleStore:
    """The tuples that some rules found, in a store's file."""

    database: Database  # the store's
    rules: str  # names what found them; tuples of other rules are none

    def known(self, documents: Iterable[str]) -> dict[Version, list[EvidenceTuple]]:
        """The tuples of documents, by id, as far as they were found; what is torn counts as not found."""
        with self.database.reading() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'evidence_tuples'").fetchone():
                return {}
            rows = connection.execute(
                "SELECT d.id, d.digest, t.tuples, t.checksum FROM evidence_tuples t"
                f" JOIN documents d ON d.number = t.document WHERE t.rules = ? AND d.id {LISTED}",
                (self.rules, listed(documents)),
            ).fetchall()
        return {
            (name, digest): [EvidenceTuple(*one) for one in json.loads(packed)]
            for name, digest, packed, expected in rows
            if checksum(packed) == expected
        }

    def put(self, found: Mapping[Version, Sequence[EvidenceTuple]]) -> None:
        """Keep the tuples of documents that are still as they were read."""
        packed = {one: json.dumps([astuple(row) for row in rows]) for one, rows in found.items()}
        with self.database.writing() as connection:
            connection.execute(_TABLE)
            connection.executemany(
                "INSERT OR REPLACE INTO evidence_tuples SELECT number, ?, ?, ? FROM documents"
                " WHERE id = ? AND digest = ?",
                [(self.rules, rows, checksum(rows), *one) for one, rows in packed.items()],
            )
