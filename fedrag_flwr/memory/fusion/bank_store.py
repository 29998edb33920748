"""A store of the bank's: memories of many devices, read and written in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.fusion.nearness import unit
from fedrag_flwr.memory.store import MemoryStore, item_rows, queries, staging
from fedrag_flwr.memory.store.schema import unpack_vectors
from fedrag_flwr.records import Cursor, MemoryItem

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Statement:
    """Where a memory lies, whose it is, what it asks, and what it answers."""

    place: Cursor
    id: str
    origin: str
    question: str
    answer: str


class BankStore(MemoryStore):
    """A store without documents of its own: all of its memories are others', and go on to others."""

    _passes_on = True

    def items_at(self, rows: Sequence[int]) -> list[MemoryItem]:
        """Memories by the rows that `changes` gave."""
        with self._database.reading() as connection:
            return item_rows.items_at(connection, self._dimension, rows)

    def vectors_at(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of memories by the rows that `changes` gave, (n, dimension), unit rows."""
        with self._database.reading() as connection:
            found = dict(
                connection.execute(
                    f"SELECT number, vector FROM items WHERE number {queries.LISTED}",
                    (queries.listed(rows),),
                )
            )
        return unit(unpack_vectors([found[row] for row in rows], self._dimension))

    def statements(self, since: int, after: Cursor, most: int) -> tuple[list[Statement], NDArray[np.float32]]:
        """What at most so many memories say that are later than a version and after a cursor, and their unit rows."""
        rows: list[tuple[int, int, str, str, str, str, bytes]] = []
        with self._database.reading() as connection:
            for where, values in item_rows.spans(since, after, own=False):
                rows += connection.execute(
                    "SELECT version, number, id, origin, question, answer, vector FROM items"
                    f" WHERE {where} ORDER BY version, number LIMIT ?",
                    (*values, most - len(rows)),
                ).fetchall()
        vectors = unit(unpack_vectors([row[-1] for row in rows], self._dimension))
        return [Statement(Cursor(0, *row[:2]), *row[2:6]) for row in rows], vectors

    def items_by_id(self, ids: Sequence[str]) -> list[MemoryItem]:
        """The memories there are with the ids, sorted by id."""
        with self._database.reading() as connection:
            return item_rows.items(connection, self._dimension, ids=ids)

    def ids(self, start: str = "", most: int = -1) -> list[str]:
        """The ids of memories in order, all or at most so many: from one on, and after the last the first."""
        select = "SELECT id FROM items WHERE id {} ? ORDER BY id LIMIT ?"
        with self._database.reading() as connection:
            found = [row[0] for row in connection.execute(select.format(">="), (start, most))]
            rest = most - len(found) if most >= 0 else most
            return found + [row[0] for row in connection.execute(select.format("<"), (start, rest))]

    def drop_pages(self) -> None:
        """Forget the pages of deltas that are not whole yet; their senders begin again."""
        with self._database.writing() as connection:
            dropped = staging.drop_all(connection)
        if dropped:
            self._forget()

    def put_made(self, items: Iterable[MemoryItem], gone: Iterable[str]) -> int:
        """Put memories of other origins that this side made or checked itself, and remove others, in one step.

        Parameters
        ----------
        items
            Memories; what is equal to what is there is not written. Read first, a thousand at a time.
        gone
            Ids that go; read when all of `items` was.

        Returns
        -------
        int
            The store's version.
        """
        with self._database.writing() as connection:
            writer = self._writer(connection)
            waiting = iter(items)
            while fresh := {item.id: item for item in islice(waiting, _AT_ONCE)}:
                there = {item.id: item for item in item_rows.items(connection, self._dimension, ids=list(fresh))}
                for item in fresh.values():
                    writer.put_foreign(item, there.get(item.id))
            writer.retract_foreign(list(gone))
            version = writer.settle()
        if writer.removed:
            self._forget("item")
        return version
