"""Rows of the store's tables as records; every function reads within the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.store.change import Contribution, Counts
from fedrag_flwr.memory.store.schema import check_row, unpack_facts, unpack_vectors
from fedrag_flwr.records import Document, Granularity, Hyperedge, Passage, Sentence

_Asked = TypeVar("_Asked", Passage, Sentence)
LISTED = "IN (SELECT value FROM json_each(?))"


def listed(values: Iterable[object]) -> str:
    """Pack values for an ``IN (SELECT value FROM json_each(?))``, which has no limit on their number."""
    return json.dumps(list(values))


def state(connection: sqlite3.Connection, key: str) -> str:
    """One value of the store's own state."""
    return str(connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()[0])


def version(connection: sqlite3.Connection) -> int:
    """The store's version."""
    return int(state(connection, "version"))


def digests(connection: sqlite3.Connection) -> dict[str, str]:
    """The digest of each document, by id."""
    return dict(connection.execute("SELECT id, digest FROM documents ORDER BY id").fetchall())


def counts(connection: sqlite3.Connection) -> Counts:
    """Count what the store holds."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM documents),"
        " (SELECT count(*) FROM units WHERE granularity = 'paragraph'),"
        " (SELECT count(*) FROM units WHERE granularity = 'sentence'),"
        " (SELECT count(*) FROM hyperedges),"
        " (SELECT count(*) FROM items WHERE own = 1), (SELECT count(*) FROM items WHERE own = 0)"
    ).fetchone()
    return Counts(*row)


def document(connection: sqlite3.Connection, document_id: str) -> Document:
    """One document."""
    row = connection.execute(
        "SELECT id, title, text, digest, checksum FROM documents WHERE id = ?", (document_id,)
    ).fetchone()
    if row is None:
        raise missing("document", [document_id])
    check_row(row[4], *row[:4])
    return Document(*row[:4])


def passages(connection: sqlite3.Connection, ids: Sequence[str] | None) -> list[Passage]:
    """Passages in the order of their ids as given, or all of them by document and reading order."""
    which = "p.granularity = 'paragraph'" if ids is None else f"p.id {LISTED} AND +p.granularity = 'paragraph'"
    rows = connection.execute(
        "SELECT p.number, p.id, d.id, p.title, p.text, p.facts, p.checksum"
        " FROM units p JOIN documents d ON d.number = p.document"
        f" WHERE {which} ORDER BY d.id, p.place",
        () if ids is None else (listed(ids),),
    ).fetchall()
    within: defaultdict[str, list[Sentence]] = defaultdict(list)
    numbers = None if ids is None else [row[0] for row in rows]
    for sentence in _sentences(connection, f"s.passage {LISTED}", numbers):
        within[sentence.passage_id].append(sentence)
    found = []
    for _, unit, owner, title, text, facts, check in rows:
        check_row(check, unit, title, text, facts)
        found.append(Passage(unit, owner, title, text, tuple(within[unit])))
    return found if ids is None else _as_asked("passage", ids, {passage.id: passage for passage in found})


def sentences(connection: sqlite3.Connection, ids: Sequence[str] | None) -> list[Sentence]:
    """Sentences in the order of their ids as given, or all of them by document and reading order."""
    found = _sentences(connection, f"s.id {LISTED}", ids)
    return found if ids is None else _as_asked("sentence", ids, {sentence.id: sentence for sentence in found})


def _sentences(connection: sqlite3.Connection, having: str, keys: Sequence[str | int] | None) -> list[Sentence]:
    # the plus keeps SQLite from walking all sentences where a few are asked for
    which = "s.granularity = 'sentence'" if keys is None else f"{having} AND +s.granularity = 'sentence'"
    rows = connection.execute(
        "SELECT s.id, p.id, s.title, s.text, s.facts, s.checksum"
        " FROM units s JOIN units p ON p.number = s.passage JOIN documents d ON d.number = s.document"
        f" WHERE {which} ORDER BY d.id, p.place, s.place",
        () if keys is None else (listed(keys),),
    ).fetchall()
    found = []
    for unit, passage, title, text, facts, check in rows:
        check_row(check, unit, title, text, facts)
        found.append(Sentence(unit, passage, text, unpack_facts(facts)))
    return found


def units(
    connection: sqlite3.Connection, granularity: Granularity, dimension: int, ids: Iterable[str] | None = None
) -> Units:
    """All units of one granularity with their vectors, or those there are with the ids, sorted by id."""
    which = "granularity = ?" if ids is None else f"+granularity = ? AND id {LISTED}"
    rows = connection.execute(
        f"SELECT id, vector FROM units WHERE {which} ORDER BY id",
        (granularity,) if ids is None else (granularity, listed(ids)),
    ).fetchall()
    return Units(granularity, tuple(row[0] for row in rows), unpack_vectors([row[1] for row in rows], dimension))


def unit_numbers(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int]:
    """The row numbers of units; ids that are not there are left out."""
    return dict(connection.execute(f"SELECT id, number FROM units WHERE id {LISTED}", (listed(ids),)))


def hyperedges(
    connection: sqlite3.Connection,
    dimension: int,
    *,
    granularity: Granularity | None = None,
    ids: Sequence[str] | None = None,
) -> list[Hyperedge]:
    """Hyperedges sorted by id: all, those of one granularity, those with the ids, or both."""
    where, values = " WHERE 1", []  # type: tuple[str, list[str]]
    if ids is not None:
        where, values = f"{where} AND h.id {LISTED}", [*values, listed(ids)]
    if granularity is not None:
        where, values = f"{where} AND h.granularity = ?", [*values, granularity]
    members: defaultdict[int, list[tuple[str, float]]] = defaultdict(list)
    for number, unit, weight in connection.execute(
        "SELECT m.hyperedge, u.id, m.weight FROM members m JOIN units u ON u.number = m.unit"
        f" JOIN hyperedges h ON h.number = m.hyperedge{where} ORDER BY m.hyperedge, m.place",
        values,
    ):
        members[number].append((unit, weight))
    rows = connection.execute(
        f"SELECT h.number, h.id, h.granularity, h.prototype FROM hyperedges h{where} ORDER BY h.id", values
    ).fetchall()
    prototypes = unpack_vectors([row[3] for row in rows], dimension)
    return [
        Hyperedge(
            edge,
            grain,
            tuple(unit for unit, _ in members[number]),
            tuple(weight for _, weight in members[number]),
            prototypes[index],
        )
        for index, (number, edge, grain, _) in enumerate(rows)
    ]


def hyperedges_of(connection: sqlite3.Connection, unit_ids: Sequence[str]) -> dict[str, list[str]]:
    """The ids of the hyperedges that each unit is in, sorted; none for a unit that is not there."""
    found: dict[str, list[str]] = {unit: [] for unit in unit_ids}
    for unit, edge in connection.execute(
        "SELECT DISTINCT u.id, h.id FROM units u JOIN members m ON m.unit = u.number"
        f" JOIN hyperedges h ON h.number = m.hyperedge WHERE u.id {LISTED} ORDER BY u.id, h.id",
        (listed(found),),
    ):
        found[unit].append(edge)
    return found


def contribution(connection: sqlite3.Connection, document_id: str) -> Contribution:
    """What one document brought."""
    row = connection.execute("SELECT number FROM documents WHERE id = ?", (document_id,)).fetchone()
    if row is None:
        raise missing("document", [document_id])

    def ids(statement: str) -> tuple[str, ...]:
        return tuple(found for (found,) in connection.execute(statement, row))

    by_grain = "SELECT id FROM units WHERE document = ? AND granularity = '{}' ORDER BY passage, place"
    return Contribution(
        passages=ids(by_grain.format("paragraph")),
        sentences=ids(by_grain.format("sentence")),
        hyperedges=ids(
            "SELECT DISTINCT h.id FROM units u JOIN members m ON m.unit = u.number"
            " JOIN hyperedges h ON h.number = m.hyperedge WHERE u.document = ? ORDER BY h.id"
        ),
        items=ids(
            "SELECT DISTINCT i.id FROM units u JOIN support s ON s.unit = u.number"
            " JOIN items i ON i.number = s.item WHERE u.document = ? ORDER BY i.id"
        ),
    )


def listing(connection: sqlite3.Connection, kind: str) -> list[tuple[str, int]]:
    """The ids of what an index covers, sorted, each with the version at which it came."""
    if kind == "item":
        return connection.execute("SELECT id, version FROM items ORDER BY id").fetchall()
    return connection.execute("SELECT id, version FROM units WHERE granularity = ? ORDER BY id", (kind,)).fetchall()


def vectors_since(
    connection: sqlite3.Connection, kind: str, since: int, dimension: int
) -> tuple[list[str], NDArray[np.float32]]:
    """Ids, sorted, and (n, dimension) vectors of what came after a version."""
    if kind == "item":
        cursor = connection.execute("SELECT id, vector FROM items WHERE version > ? ORDER BY id", (since,))
    else:
        cursor = connection.execute(
            "SELECT id, vector FROM units WHERE granularity = ? AND version > ? ORDER BY id", (kind, since)
        )
    rows = cursor.fetchall()
    return [row[0] for row in rows], unpack_vectors([row[1] for row in rows], dimension)


def missing(kind: str, ids: Sequence[str]) -> NotFoundError:
    """Make the error for ids that are not in the store."""
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return NotFoundError(f"no such {kind} in the store{more}", where=ids[0], fix="it may have been removed since")


def _as_asked(kind: str, ids: Sequence[str], found: dict[str, _Asked]) -> list[_Asked]:
    absent = [unit for unit in ids if unit not in found]
    if absent:
        raise missing(kind, absent)
    return [found[unit] for unit in ids]
