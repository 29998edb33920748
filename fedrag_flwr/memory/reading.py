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
from fedrag_flwr.memory.change import Contribution, Counts
from fedrag_flwr.memory.schema import check_row, unpack_facts, unpack_names, unpack_vectors
from fedrag_flwr.records import Cursor, Document, Granularity, Hyperedge, MemoryItem, Passage, Sentence

_Asked = TypeVar("_Asked", Passage, Sentence)
_LISTED = "IN (SELECT value FROM json_each(?))"


def listed(values: Iterable[object]) -> str:
    """Pack values for an ``IN (SELECT value FROM json_each(?))``, which has no limit on their number."""
    return json.dumps(list(values))


def state(connection: sqlite3.Connection, key: str) -> str:
    """One value of the store's own state."""
    return str(connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()[0])


def version(connection: sqlite3.Connection) -> int:
    """The store's version."""
    return int(state(connection, "version"))


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
    which = "p.granularity = 'paragraph'" if ids is None else f"p.id {_LISTED} AND +p.granularity = 'paragraph'"
    rows = connection.execute(
        "SELECT p.number, p.id, d.id, p.title, p.text, p.facts, p.checksum"
        " FROM units p JOIN documents d ON d.number = p.document"
        f" WHERE {which} ORDER BY d.id, p.place",
        () if ids is None else (listed(ids),),
    ).fetchall()
    within: defaultdict[str, list[Sentence]] = defaultdict(list)
    numbers = None if ids is None else [row[0] for row in rows]
    for sentence in _sentences(connection, f"s.passage {_LISTED}", numbers):
        within[sentence.passage_id].append(sentence)
    found = []
    for _, unit, owner, title, text, facts, check in rows:
        check_row(check, unit, title, text, facts)
        found.append(Passage(unit, owner, title, text, tuple(within[unit])))
    return found if ids is None else _as_asked("passage", ids, {passage.id: passage for passage in found})


def sentences(connection: sqlite3.Connection, ids: Sequence[str] | None) -> list[Sentence]:
    """Sentences in the order of their ids as given, or all of them by document and reading order."""
    found = _sentences(connection, f"s.id {_LISTED}", ids)
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


def units(connection: sqlite3.Connection, granularity: Granularity, dimension: int) -> Units:
    """All units of one granularity with their vectors, sorted by id."""
    rows = connection.execute(
        "SELECT id, vector FROM units WHERE granularity = ? ORDER BY id", (granularity,)
    ).fetchall()
    return Units(granularity, tuple(row[0] for row in rows), unpack_vectors([row[1] for row in rows], dimension))


def unit_numbers(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int]:
    """The row numbers of units; ids that are not there are left out."""
    return dict(connection.execute(f"SELECT id, number FROM units WHERE id {_LISTED}", (listed(ids),)))


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
        where, values = f"{where} AND h.id {_LISTED}", [*values, listed(ids)]
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
        f" JOIN hyperedges h ON h.number = m.hyperedge WHERE u.id {_LISTED} ORDER BY u.id, h.id",
        (listed(found),),
    ):
        found[unit].append(edge)
    return found


def items(
    connection: sqlite3.Connection,
    dimension: int,
    *,
    origin: str | None = None,
    since: int = 0,
    until: int | None = None,
    ids: Sequence[str] | None = None,
) -> list[MemoryItem]:
    """Memories sorted by id, of one origin or all, later than a version, not later than another, or with the ids."""
    where, values = "version > ?", [since]  # type: tuple[str, list[int | str]]
    if until is not None:
        where, values = f"{where} AND version <= ?", [*values, until]
    if origin is not None:
        where, values = f"{where} AND origin = ?", [*values, origin]
    if ids is not None:
        where, values = f"{where} AND id {_LISTED}", [*values, listed(ids)]
    return [item for _, item in _items(connection, dimension, f"{where} ORDER BY id", values)]


def items_at(connection: sqlite3.Connection, dimension: int, rows: Sequence[int]) -> list[MemoryItem]:
    """Memories by the rows that `changes` gave, in the order of the rows as given."""
    found = _items(connection, dimension, f"number {_LISTED}", [listed(rows)])
    by_row = {cursor.row: item for cursor, item in found}
    return [by_row[row] for row in rows]


def changes(
    connection: sqlite3.Connection, dimension: int, since: int, after: Cursor, most: int, *, own: bool, but: str = ""
) -> list[tuple[Cursor, MemoryItem]]:
    """At most so many memories later than a version and after a cursor, with theirs; none of one origin."""
    found: list[tuple[Cursor, MemoryItem]] = []
    for where, values in spans(since, after, own=own):
        left = f"{where} AND origin != ? ORDER BY version, number LIMIT ?"
        found += _items(connection, dimension, left, (*values, but, most - len(found)))
    return found


def spans(since: int, after: Cursor, *, own: bool) -> list[tuple[str, tuple[int, ...]]]:
    """Conditions for memories later than a version and after a cursor: the rest of its version, then later ones.

    Each is a range of one index; SQLite would walk all rows before the cursor for the two together.
    """
    later = ("own = ? AND version > ?", (int(own), max(since, after.version)))
    if after.version <= since:
        return [later]
    return [("own = ? AND version = ? AND number > ?", (int(own), after.version, after.row)), later]


def foreign_origins(connection: sqlite3.Connection, origin: str | None) -> dict[str, str]:
    """The origins of all memories of others, or of those of one, by id; within a write transaction."""
    if origin is None:
        return dict(connection.execute("SELECT id, origin FROM items WHERE own = 0").fetchall())
    # only a bank asks for one origin; the plus keeps SQLite from walking all memories of others
    connection.execute("CREATE INDEX IF NOT EXISTS items_by_origin ON items (origin)")
    return dict(connection.execute("SELECT id, origin FROM items WHERE origin = ? AND +own = 0", (origin,)).fetchall())


def foreign_room(connection: sqlite3.Connection, limit: int, wanted: int) -> int:
    """How many memories of others may still come, or a lower number that is enough for those wanted."""
    most = int(connection.execute("SELECT coalesce(max(number), 0) FROM items").fetchone()[0])  # there are no more
    if limit - most >= wanted:
        return limit - most
    return limit - int(connection.execute("SELECT count(*) FROM items WHERE own = 0").fetchone()[0])


def own_version(connection: sqlite3.Connection) -> int:
    """The version at which an own memory last came, changed or went."""
    row = connection.execute(
        "SELECT max(coalesce((SELECT max(version) FROM items WHERE own = 1), 0),"
        " coalesce((SELECT max(version) FROM retractions WHERE own = 1), 0))"
    ).fetchone()
    return int(row[0])


def origins(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The origins of memories; ids that are not there are left out."""
    return dict(connection.execute(f"SELECT id, origin FROM items WHERE id {_LISTED}", (listed(ids),)).fetchall())


def _items(
    connection: sqlite3.Connection, dimension: int, where: str, values: Sequence[int | str]
) -> list[tuple[Cursor, MemoryItem]]:
    rows = connection.execute(
        "SELECT number, id, question, answer, kind, answer_type, anchors, hyperedges, origin, own, checksum, version,"
        f" vector FROM items WHERE {where}",
        values,
    ).fetchall()
    vectors = unpack_vectors([row[-1] for row in rows], dimension)
    own = [row[0] for row in rows if row[9]]
    supports = _supports(connection, own)
    derived = derived_hyperedges(connection, own)
    found = []
    for vector, row in zip(vectors, rows, strict=True):
        number, name, question, answer, kind, answer_type, anchors, edges, owner, mine, check, version, _ = row
        check_row(check, name, question, answer, kind, answer_type, anchors, edges, owner)
        item = MemoryItem(
            id=name,
            question=question,
            answer=answer,
            kind=kind,
            answer_type=answer_type,
            hyperedges=derived.get(number, ()) if mine else unpack_names(edges),
            anchors=unpack_names(anchors),
            embedding=vector,
            origin=owner,
            support=tuple(supports[number]) if mine else (),
        )
        found.append((Cursor(0, version, number), item))
    return found


def _supports(connection: sqlite3.Connection, numbers: Sequence[int]) -> defaultdict[int, list[str]]:
    supports: defaultdict[int, list[str]] = defaultdict(list)
    for number, unit in connection.execute(
        "SELECT s.item, u.id FROM support s JOIN units u ON u.number = s.unit"
        f" WHERE s.item {_LISTED} ORDER BY s.item, s.place",
        (listed(numbers),),
    ):
        supports[number].append(unit)
    return supports


def derived_hyperedges(
    connection: sqlite3.Connection, numbers: Sequence[int] | None = None
) -> dict[int, tuple[str, ...]]:
    """The hyperedges of own items by row number: all that have a member in the item's support, sorted."""
    where = "" if numbers is None else f" WHERE s.item {_LISTED}"
    found: defaultdict[int, list[str]] = defaultdict(list)
    for number, edge in connection.execute(
        "SELECT DISTINCT s.item, h.id FROM support s JOIN members m ON m.unit = s.unit"
        f" JOIN hyperedges h ON h.number = m.hyperedge{where} ORDER BY s.item, h.id",
        () if numbers is None else (listed(numbers),),
    ):
        found[number].append(edge)
    return {number: tuple(edges) for number, edges in found.items()}


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
