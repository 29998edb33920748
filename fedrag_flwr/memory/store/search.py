"""Looking around in a store: memories that hold some words, who they come from, and what lies next to a hyperedge."""

from __future__ import annotations

from fedrag_flwr.hypergraph.rows import cosine
from fedrag_flwr.memory.store import MemoryStore, item_rows
from fedrag_flwr.records import Hyperedge, MemoryItem

_UNITS_LOOKED_AT = 64  # for the hyperedges next to one
_ESCAPED = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})  # the wildcards of LIKE


def find_items(store: MemoryStore, words: str, offset: int, limit: int) -> tuple[int, list[MemoryItem]]:
    """Memories whose question or answer holds each word, own ones first: how many there are, and some of them.

    `words` are separated by spaces, and capitals do not count; without any it gives all memories.
    """
    forms = [_forms(word) for word in words.split()]
    patterns = [f"%{form.translate(_ESCAPED)}%" for own in forms for form in own]
    said = "(question || char(10) || answer) LIKE ? ESCAPE '\\'"
    where = " AND ".join(f"({' OR '.join([said] * len(own))})" for own in forms) or "1"
    with store.database.reading() as connection:
        (total,) = connection.execute(f"SELECT count(*) FROM items WHERE {where}", patterns).fetchone()
        rows = connection.execute(
            f"SELECT number FROM items WHERE {where} ORDER BY own DESC, number LIMIT ? OFFSET ?",
            (*patterns, limit, offset),
        ).fetchall()
        dimension = int(store.identity["dimension"])
        return int(total), item_rows.items_at(connection, dimension, [row for (row,) in rows])


def _forms(word: str) -> list[str]:
    """The forms of a word that SQLite tells apart: it takes no capitals for small letters but those of ASCII."""
    if word.isascii():
        return [word]
    return list(dict.fromkeys((word, word.lower(), word.upper(), word.capitalize())))


def origins(store: MemoryStore) -> dict[str, int]:
    """How many memories of each origin there are, the largest first."""
    with store.database.reading() as connection:
        return dict(
            connection.execute("SELECT origin, count(*) FROM items GROUP BY origin ORDER BY 2 DESC, 1").fetchall()
        )


def items_on(store: MemoryStore, hyperedge_id: str) -> list[str]:
    """The ids of the memories that rest on a member of a hyperedge, sorted."""
    with store.database.reading() as connection:
        rows = connection.execute(
            "SELECT DISTINCT i.id FROM hyperedges h JOIN members m ON m.hyperedge = h.number"
            " JOIN support s ON s.unit = m.unit JOIN items i ON i.number = s.item WHERE h.id = ? ORDER BY i.id",
            (hyperedge_id,),
        )
        return [item for (item,) in rows.fetchall()]


def nearest_hyperedges(store: MemoryStore, edge: Hyperedge, most: int) -> list[tuple[Hyperedge, float]]:
    """The hyperedges of the units that are nearest to a hyperedge's prototype, each with the cosine of prototypes."""
    index = store.index(edge.granularity)
    _, (units,) = index.search(edge.prototype, _UNITS_LOOKED_AT + len(edge.members))
    within = set(edge.members)
    owners = store.hyperedges_of([unit for unit in units if unit not in within])
    ids = [owner for found in owners.values() for owner in found if owner != edge.id]
    found = store.hyperedges(ids=list(dict.fromkeys(ids))[:most])
    nearness = [(one, cosine(edge.prototype, one.prototype)) for one in found]
    return sorted(nearness, key=lambda pair: (-pair[1], pair[0].id))
