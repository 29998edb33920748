"""A device's knowledge graph in its store: statements by document, vectors, and communities with their summaries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.knowledge_graph.statements import End, Statement
from fedrag_flwr.memory.store.database import Database
from fedrag_flwr.memory.store.queries import LISTED, listed
from fedrag_flwr.memory.store.schema import check_row, checksum, pack_names, pack_vector, unpack_names, unpack_vectors
from fedrag_flwr.records import SubgraphSummary

Kind = Literal["entity", "relation"]
_COLUMNS = "passage, sentence, head, head_key, head_type, relation, tail, tail_key, tail_type"


@dataclass(frozen=True, slots=True)
class TextVector:
    """The vector of an entity or a relation, the digest of the text that it was made of, and its documents' ids."""

    id: str
    digest: str
    vector: NDArray[np.float32]
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredCommunity:
    """A community under an id that stands for its content, with its summary, "" where there is none yet."""

    id: str
    members: tuple[str, ...]
    summary: str
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphStore:
    """The graph's tables in a store's file."""

    database: Database  # the store's
    dimension: int  # length of its vectors

    @property
    def version(self) -> int:
        """Raised by every change of the graph; that of the documents is the store's."""
        with self.database.reading() as connection:
            row = connection.execute("SELECT number FROM graph_version").fetchone()
        return int(row[0]) if row else 0

    # --- statements -------------------------------------------------------------------------------

    def unread(self, extractor: str) -> list[str]:
        """The ids of documents whose statements this extractor has not found yet, sorted."""
        with self.database.reading() as connection:
            rows = connection.execute(
                "SELECT id FROM documents WHERE number NOT IN"
                " (SELECT document FROM graph_documents WHERE extractor = ?) ORDER BY id",
                (extractor,),
            )
            return [row[0] for row in rows]

    def put_statements(self, documents: Sequence[str], statements: Iterable[Statement], extractor: str) -> None:
        """Keep all statements of documents in place of those that they had."""
        with self.database.writing() as connection:
            _raise_version(connection)
            numbers = dict(
                connection.execute(
                    f"SELECT id, number FROM documents WHERE id {LISTED}",
                    (listed(documents),),
                ).fetchall()
            )
            connection.executemany(
                "DELETE FROM graph_statements WHERE document = ?", [(number,) for number in numbers.values()]
            )
            connection.executemany(
                f"INSERT INTO graph_statements (document, {_COLUMNS}, weight, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (numbers[one.document_id], *(texts := _texts(one)), one.weight, checksum(*texts))
                    for one in statements
                    if one.document_id in numbers
                ),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO graph_documents VALUES (?, ?)",
                [(number, extractor) for number in numbers.values()],
            )

    def statements(self) -> list[Statement]:
        """All statements, by document and in the order in which they were found."""
        with self.database.reading() as connection:
            rows = connection.execute(
                f"SELECT d.id, {_COLUMNS}, weight, s.checksum FROM graph_statements s"
                " JOIN documents d ON d.number = s.document ORDER BY d.id, s.number"
            ).fetchall()
        return [_statement(row) for row in rows]

    # --- vectors ----------------------------------------------------------------------------------

    def vectors(self, kind: Kind) -> dict[str, TextVector]:
        """All vectors of a kind by id, without their documents."""
        with self.database.reading() as connection:
            rows = connection.execute(
                "SELECT id, digest, vector FROM graph_vectors WHERE kind = ? ORDER BY id", (kind,)
            ).fetchall()
        matrix = unpack_vectors([row[2] for row in rows], self.dimension)
        return {row[0]: TextVector(row[0], row[1], vector) for row, vector in zip(rows, matrix, strict=True)}

    def put_vectors(self, kind: Kind, vectors: Iterable[TextVector], gone: Iterable[str] = ()) -> None:
        """Keep vectors in place of those with their ids, tied to their documents, and drop what is gone."""
        new = list(vectors)
        rows = [(kind, one.id, one.digest, pack_vector(one.vector)) for one in new]
        self._put("graph_vectors", kind, new, rows, gone)

    # --- communities ------------------------------------------------------------------------------

    def communities(self) -> dict[str, StoredCommunity]:
        """All communities by id, without their documents."""
        with self.database.reading() as connection:
            rows = connection.execute("SELECT * FROM graph_communities ORDER BY id").fetchall()
        for _, members, summary, expected in rows:
            check_row(expected, members, summary)
        return {row[0]: StoredCommunity(row[0], unpack_names(row[1]), row[2]) for row in rows}

    def put_communities(self, communities: Iterable[StoredCommunity], gone: Iterable[str] = ()) -> None:
        """Keep communities, tied to their documents, and drop what is gone."""
        new = list(communities)
        packed = [(one.id, pack_names(one.members), one.summary) for one in new]
        self._put("graph_communities", "community", new, [(*row, checksum(*row[1:])) for row in packed], gone)

    def _put(
        self,
        table: str,
        kind: str,
        new: Sequence[TextVector] | Sequence[StoredCommunity],
        rows: Iterable[tuple[str | bytes | int, ...]],
        gone: Iterable[str],
    ) -> None:
        """Keep rows of four columns in place of those with their ids, and tie them to their documents."""
        with self.database.writing() as connection:
            _raise_version(connection)
            connection.executemany(
                "DELETE FROM graph_rests WHERE kind = ? AND id = ?",
                [(kind, name) for name in (*gone, *(one.id for one in new))],
            )
            connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", rows)
            connection.executemany(
                "INSERT INTO graph_rests SELECT ?, ?, number FROM documents WHERE id = ?",
                [(kind, one.id, document) for one in new for document in one.documents],
            )

    # --- what all devices know about --------------------------------------------------------------

    def put_overview(self, summaries: Iterable[SubgraphSummary]) -> None:
        """Keep the vectors of all devices' summaries in place of those before."""
        with self.database.writing() as connection:
            connection.execute("DELETE FROM graph_overview")
            connection.executemany(
                "INSERT OR REPLACE INTO graph_overview VALUES (?, ?, ?)",
                [(one.origin, one.id, pack_vector(one.vector)) for one in summaries],
            )

    def overview(self) -> tuple[list[str], NDArray[np.float32]]:
        """The owner of each summary, and the vectors of all, shape (n, dimension)."""
        with self.database.reading() as connection:
            rows = connection.execute("SELECT owner, vector FROM graph_overview ORDER BY owner, id").fetchall()
        return [row[0] for row in rows], unpack_vectors([row[1] for row in rows], self.dimension)


def _raise_version(connection: sqlite3.Connection) -> None:
    if not connection.execute("UPDATE graph_version SET number = number + 1").rowcount:
        connection.execute("INSERT INTO graph_version VALUES (1)")


def as_dict(communities: Mapping[str, StoredCommunity]) -> dict[str, int]:
    """Communities as a number for each member."""
    return {member: number for number, one in enumerate(communities.values()) for member in one.members}


def _texts(one: Statement) -> tuple[str, ...]:
    head, tail = one.head, one.tail
    return (
        *(one.passage_id, one.sentence_id, head.text, head.key, head.type),
        *(one.relation, tail.text, tail.key, tail.type),
    )


def _statement(row: tuple[str, ...]) -> Statement:
    document, *texts, weight, expected = row
    check_row(int(expected), *texts)
    passage, sentence, head, head_key, head_type, relation, tail, tail_key, tail_type = texts
    return Statement(
        End(head, head_key, head_type),
        relation,
        End(tail, tail_key, tail_type),
        document,
        passage,
        sentence,
        float(weight),
    )
