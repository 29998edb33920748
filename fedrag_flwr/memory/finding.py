"""Looking around in a store: memories that hold some words, who they come from, and what lies next to a hyperedge."""

from __future__ import annotations

from dataclasses import dataclass

from fedrag_flwr.memory import reading
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import MemoryItem

_ESCAPED = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})  # the wildcards of LIKE


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A hyperedge that shares documents with another one, and how many."""

    id: str
    documents: int


def find_items(store: MemoryStore, words: str, offset: int, limit: int) -> tuple[int, list[MemoryItem]]:
    """Memories whose question or answer holds each word, own ones first: how many there are, and some of them.

    Parameters
    ----------
    store
        The device's.
    words
        Separated by spaces; capitals do not count. Empty for all memories.
    offset, limit
        Which of them.
    """
    patterns = [f"%{word.translate(_ESCAPED)}%" for word in words.split()]
    where = " AND ".join(["(question || char(10) || answer) LIKE ? ESCAPE '\\'"] * len(patterns)) or "1"
    with store.database.reading() as connection:
        (total,) = connection.execute(f"SELECT count(*) FROM items WHERE {where}", patterns).fetchone()
        rows = connection.execute(
            f"SELECT number FROM items WHERE {where} ORDER BY own DESC, number LIMIT ? OFFSET ?",
            (*patterns, limit, offset),
        ).fetchall()
        dimension = int(store.identity["dimension"])
        return int(total), reading.items_at(connection, dimension, [row for (row,) in rows])


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


def neighbours(store: MemoryStore, hyperedge_id: str, most: int) -> list[Neighbour]:
    """The hyperedges of the same granularity that share most documents with one."""
    with store.database.reading() as connection:
        rows = connection.execute(
            "SELECT o.id, count(DISTINCT u.document) AS shared FROM hyperedges h"
            " JOIN members m ON m.hyperedge = h.number JOIN units u ON u.number = m.unit"
            " JOIN units v ON v.document = u.document JOIN members n ON n.unit = v.number"
            " JOIN hyperedges o ON o.number = n.hyperedge"
            " WHERE h.id = ? AND o.id != h.id AND o.granularity = h.granularity"
            " GROUP BY o.id ORDER BY shared DESC, o.id LIMIT ?",
            (hyperedge_id, most),
        )
        return [Neighbour(*row) for row in rows.fetchall()]
