"""Rows of memories, and of rejected ones, as records; every function works within the caller's transaction."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from fedrag_flwr.errors import StoreError
from fedrag_flwr.memory.store import queries
from fedrag_flwr.memory.store.change import Rejected, check_units, check_vectors
from fedrag_flwr.memory.store.queries import LISTED, listed
from fedrag_flwr.memory.store.schema import check_row, checksum, pack_vector, unpack_names, unpack_vectors
from fedrag_flwr.records import Cursor, MemoryItem


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
        where, values = f"{where} AND id {LISTED}", [*values, listed(ids)]
    return [item for _, item in _items(connection, dimension, f"{where} ORDER BY id", values)]


def items_at(connection: sqlite3.Connection, dimension: int, rows: Sequence[int]) -> list[MemoryItem]:
    """Memories by the rows that `changes` gave, in the order of the rows as given."""
    found = _items(connection, dimension, f"number {LISTED}", [listed(rows)])
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
    # the plus keeps SQLite from walking all memories of others
    return dict(connection.execute("SELECT id, origin FROM items WHERE origin = ? AND +own = 0", (origin,)).fetchall())


def foreign_room(connection: sqlite3.Connection, limit: int, wanted: int) -> int:
    """How many memories of others may still come, or a lower number that is enough for those wanted."""
    most = int(connection.execute("SELECT coalesce(max(number), 0) FROM items").fetchone()[0])  # there are no more
    if limit - most >= wanted:
        return limit - most
    return limit - int(connection.execute("SELECT count(*) FROM items WHERE own = 0").fetchone()[0])


def count_of(connection: sqlite3.Connection, origin: str) -> int:
    """How many memories of an origin there are."""
    return int(connection.execute("SELECT count(*) FROM items WHERE origin = ?", (origin,)).fetchone()[0])


def origins(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The origins of memories; ids that are not there are left out."""
    return dict(connection.execute(f"SELECT id, origin FROM items WHERE id {LISTED}", (listed(ids),)).fetchall())


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
        f" WHERE s.item {LISTED} ORDER BY s.item, s.place",
        (listed(numbers),),
    ):
        supports[number].append(unit)
    return supports


def derived_hyperedges(
    connection: sqlite3.Connection, numbers: Sequence[int] | None = None
) -> dict[int, tuple[str, ...]]:
    """The hyperedges of own items by row number: all that have a member in the item's support, sorted."""
    where = "" if numbers is None else f" WHERE s.item {LISTED}"
    found: defaultdict[int, list[str]] = defaultdict(list)
    for number, edge in connection.execute(
        "SELECT DISTINCT s.item, h.id FROM support s JOIN members m ON m.unit = s.unit"
        f" JOIN hyperedges h ON h.number = m.hyperedge{where} ORDER BY s.item, h.id",
        () if numbers is None else (listed(numbers),),
    ):
        found[number].append(edge)
    return {number: tuple(edges) for number, edges in found.items()}


def rejected(connection: sqlite3.Connection, dimension: int) -> list[Rejected]:
    """All rejected ones, sorted by id."""
    supports: defaultdict[int, list[str]] = defaultdict(list)
    for number, unit in connection.execute(
        "SELECT s.rejected, u.id FROM rejected_support s JOIN units u ON u.number = s.unit ORDER BY s.rejected, s.place"
    ):
        supports[number].append(unit)
    rows = connection.execute(
        "SELECT number, checksum, vector, id, question, answer, kind, answer_type FROM rejected ORDER BY id"
    ).fetchall()
    vectors = unpack_vectors([row[2] for row in rows], dimension)
    found = []
    for vector, (number, check, _, *texts) in zip(vectors, rows, strict=True):
        check_row(check, *texts)
        name, question, answer, kind, answer_type = texts
        found.append(Rejected(name, question, answer, kind, answer_type, tuple(supports[number]), vector))
    return found


def put_rejected(connection: sqlite3.Connection, dimension: int, one: Rejected) -> None:
    """Keep a rejected one in the place of what was rejected under its id."""
    if not one.support:
        raise StoreError("a rejected memory names no support", where=one.id, fix="give it the ids of its units")
    check_vectors(dimension, one.embedding[np.newaxis, :], 1, one.id)
    numbers = queries.unit_numbers(connection, one.support)
    check_units(one.support, numbers, one.id)
    drop_rejected(connection, [one.id])
    texts = (one.id, one.question, one.answer, one.kind, one.answer_type)
    number = connection.execute(
        "INSERT INTO rejected (id, question, answer, kind, answer_type, checksum, vector) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*texts, checksum(*texts), pack_vector(one.embedding)),
    ).lastrowid
    connection.executemany(
        "INSERT INTO rejected_support (rejected, place, unit) VALUES (?, ?, ?)",
        [(number, place, numbers[unit]) for place, unit in enumerate(one.support)],
    )


def check_apart(connection: sqlite3.Connection) -> None:
    """See that nothing is rejected which is a memory too."""
    both = connection.execute(
        "SELECT h.id FROM rejected h JOIN items i ON i.id = h.id AND i.own = 1 LIMIT 1"
    ).fetchone()
    if both is not None:
        raise StoreError("a memory is rejected too", where=str(both[0]), fix="withdraw it in the same change")


def drop_rejected(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Forget those with the ids."""
    connection.execute(f"DELETE FROM rejected WHERE id {LISTED}", (listed(ids),))


def drop_rejected_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Forget what rests on documents, given by their row numbers, while their units are still there."""
    connection.execute(
        "DELETE FROM rejected WHERE number IN (SELECT s.rejected FROM rejected_support s"
        f" JOIN units u ON u.number = s.unit WHERE u.document {LISTED})",
        (listed(numbers),),
    )
