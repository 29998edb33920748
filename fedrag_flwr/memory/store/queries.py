"""Rows of the store's tables as records; every function reads within the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.store.schema import unpack_vectors
from fedrag_flwr.records import Granularity, Hyperedge

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


def units_state(connection: sqlite3.Connection, granularity: Granularity) -> tuple[int, int]:
    """How many units of one granularity there are, and the latest version of one: differs whenever they do."""
    state = "SELECT count(*), coalesce(max(version), 0) FROM units WHERE granularity = ?"
    count, latest = connection.execute(state, (granularity,)).fetchone()
    return int(count), int(latest)


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
