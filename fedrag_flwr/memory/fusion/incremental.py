"""Merging again only what a change touches: equal to merging everything.

Whether a memory stays within its device's quota depends on those of the device alone, and what becomes of it on those
of its statement key alone. So a change reaches the devices and the keys in which something came, changed or went.
What merging found of each memory is kept in a table beside the memories.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fedrag_flwr.memory.fusion.merge import FusionRules, Words, mergeable, one_of, same_statements, sparse, unit
from fedrag_flwr.memory.fusion.statement_key import statement_key
from fedrag_flwr.memory.store import item_rows
from fedrag_flwr.memory.store.change import content_id
from fedrag_flwr.memory.store.queries import LISTED, listed
from fedrag_flwr.memory.store.schema import unpack_vectors
from fedrag_flwr.records import MemoryItem

TABLES = (
    # `number` and `version` are those of the memory's row; `shown` is the id of what devices get for it, if anything
    "CREATE TABLE IF NOT EXISTS statements (number INTEGER PRIMARY KEY, version INTEGER NOT NULL, id TEXT NOT NULL,"
    " origin TEXT NOT NULL, key TEXT NOT NULL, stays INTEGER NOT NULL DEFAULT 1, shown TEXT)",
    "CREATE INDEX IF NOT EXISTS statements_by_origin ON statements (origin, id)",
    "CREATE INDEX IF NOT EXISTS statements_by_key ON statements (key, id)",
)
_AT_ONCE = 2_048


@dataclass(frozen=True, slots=True)
class IncrementalMerge:
    """One merge of what changed since the last, within a write transaction of the store of received memories."""

    connection: sqlite3.Connection  # of the store of what devices share
    dimension: int  # length of a vector
    rules: FusionRules  # when memories say the same, and how often one device may say it
    words: Words  # tells what questions say

    def __post_init__(self) -> None:
        for statement in TABLES:
            self.connection.execute(statement)

    def clear(self) -> None:
        """Forget what was merged, so that everything is merged anew."""
        self.connection.execute("DELETE FROM statements")

    def touched(self) -> list[str]:
        """Bring the table up to date with the memories, and give the keys whose memories are to be merged again."""
        origins, keys = self._drop_changed()
        for origin, key in self._add_new():
            origins.add(origin)
            keys.add(key)
        for origin in sorted(origins):
            keys.update(self._hold_to_quota(origin))
        return sorted(keys)

    def made(self, keys: Sequence[str]) -> Iterator[MemoryItem]:
        """The memories that devices get from now on of those with the keys."""
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            rows = self.connection.execute(
                f"SELECT key, number FROM statements WHERE stays = 1 AND key {LISTED} ORDER BY key, id", (listed(some),)
            ).fetchall()
            items = item_rows.items_at(self.connection, self.dimension, [number for _, number in rows])
            shown: list[tuple[str, str]] = []
            for _, members in groupby(zip(rows, items, strict=True), key=lambda pair: pair[0][0]):
                for quorum in self._merged([item for _, item in members]):
                    one = one_of(quorum, self.words)
                    shown += [(one.id, item.id) for item in quorum]
                    yield one
            numbers = {item.id: number for (_, number), item in zip(rows, items, strict=True)}
            self.connection.executemany(
                "UPDATE statements SET shown = ? WHERE number = ?", [(made, numbers[name]) for made, name in shown]
            )

    def shown(self) -> set[str]:
        """The ids of all merged memories and of those that are no other's."""
        return {row[0] for row in self.connection.execute("SELECT DISTINCT shown FROM statements WHERE shown NOT NULL")}

    def _merged(self, items: Sequence[MemoryItem]) -> Iterator[list[MemoryItem]]:
        for group in same_statements(items, self.rules.near):
            yield from mergeable(group, self.rules.near, self.words)

    def _drop_changed(self) -> tuple[set[str], set[str]]:
        """Drop the rows whose memories changed or went, and give their devices and keys."""
        rows = self.connection.execute(
            "SELECT s.number, s.origin, s.key FROM statements s"
            " LEFT JOIN items i ON i.number = s.number AND i.version = s.version WHERE i.number IS NULL"
        ).fetchall()
        self.connection.executemany("DELETE FROM statements WHERE number = ?", [row[:1] for row in rows])
        return {origin for _, origin, _ in rows}, {key for _, _, key in rows}

    def _add_new(self) -> Iterator[tuple[str, str]]:
        """Add a row for each memory that has none, and give its device and key."""
        after = 0
        while rows := self.connection.execute(
            "SELECT i.number, i.version, i.id, i.origin, i.question, i.answer FROM items i"
            " LEFT JOIN statements s ON s.number = i.number WHERE s.number IS NULL AND i.number > ?"
            " ORDER BY i.number LIMIT ?",
            (after, _AT_ONCE),
        ).fetchall():
            # digests of keys, so that no words of a memory outlast it here
            new = [(*row[:4], content_id(statement_key(*row[4:]))) for row in rows]
            self.connection.executemany(
                "INSERT INTO statements (number, version, id, origin, key) VALUES (?, ?, ?, ?, ?)", new
            )
            yield from ((origin, key) for *_, origin, key in new)
            after = rows[-1][0]

    def _hold_to_quota(self, origin: str) -> set[str]:
        """Say of a device's memories which stay within its quota, and give the keys in which that changed."""
        rows = self.connection.execute(
            "SELECT s.number, s.key, s.stays, i.vector FROM statements s JOIN items i ON i.number = s.number"
            " WHERE s.origin = ? ORDER BY s.id",
            (origin,),
        ).fetchall()
        vectors = unit(unpack_vectors([row[3] for row in rows], self.dimension))
        stays = sparse(vectors, self.rules) if len(rows) > self.rules.quota else np.ones(len(rows), dtype=np.bool_)
        changed = [(int(now), row[0], row[1]) for row, now in zip(rows, stays, strict=True) if bool(row[2]) != now]
        self.connection.executemany(
            "UPDATE statements SET stays = ?, shown = NULL WHERE number = ?", [row[:2] for row in changed]
        )
        return {key for *_, key in changed}


def counts(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """How many memories devices get, how many of these are merged, and how many received ones are over the quota."""
    row = connection.execute(
        "SELECT count(DISTINCT shown), count(DISTINCT CASE WHEN shown != id THEN shown END),"
        " count(CASE WHEN stays = 0 THEN 1 END) FROM statements"
    ).fetchone()
    return int(row[0]), int(row[1]), int(row[2])
