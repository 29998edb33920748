"""Deltas in pages: cut where they are sent, and put aside where they arrive, unseen until the last one is there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.store.schema import check_row, checksum, pack_names, unpack_names
from fedrag_flwr.records import NOTHING_PENDING, START, Cursor, Delta, MemoryItem, Pending

PAGE_BYTES = 2**25
MOST_PAGES = 256  # in which a delta may come
_ROWS = 2_048  # read at a time
_NUMBERS = 3 * 8  # the lengths of an item's three lists

Read = Callable[[Cursor, int], list[tuple[Cursor, MemoryItem]]]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a delta, and where the rest begins; `START` where there is none."""

    retracted: tuple[str, ...]
    items: tuple[MemoryItem, ...]
    next: Cursor


def cut(retracted: Sequence[str], read: Read, after: Cursor, size: int) -> Page:
    """Cut the page of a delta that follows a cursor: retractions first, then memories.

    Parameters
    ----------
    retracted
        All retractions of the delta, in their order.
    read
        Gives at most so many memories of the delta after a cursor, each with its own.
    after
        Where the page begins.
    size
        Bytes that it may take on the wire; it holds one row at least.
    """
    gone: list[str] = []
    items: list[MemoryItem] = []
    for name in retracted[after.retracted :]:
        size -= _text(name)
        if size < 0 and gone:
            return Page(tuple(gone), (), Cursor(after.retracted + len(gone)))
        gone.append(name)
    place = Cursor(len(retracted), after.version, after.row)
    while True:
        rows = read(place, _ROWS)
        for cursor, item in rows:
            size -= weight(item)
            if size < 0 and (items or gone):
                return Page(tuple(gone), tuple(items), place)
            items.append(item)
            place = Cursor(len(retracted), cursor.version, cursor.row)
        if len(rows) < _ROWS:
            return Page(tuple(gone), tuple(items), START)


def weight(item: MemoryItem) -> int:
    """Bytes that a memory takes on the wire."""
    texts = (item.id, item.question, item.answer, item.kind, item.answer_type, item.origin)
    lists = (*item.hyperedges, *item.anchors, *item.support)
    return sum(map(_text, texts)) + sum(map(_text, lists)) + _NUMBERS + 2 * len(item.embedding)


def _text(text: str) -> int:
    return len(text.encode()) + 2


def pending(connection: sqlite3.Connection, sender: str) -> Pending:
    """What has come of a sender's delta; nothing where it came to more pages than allowed and has to begin again."""
    if _count(connection, sender) >= MOST_PAGES:
        return NOTHING_PENDING
    row = connection.execute(
        "SELECT generation, since, version, at_retracted, at_version, at_row FROM staged WHERE sender = ?", (sender,)
    ).fetchone()
    if row is None:
        return NOTHING_PENDING
    generation, since, version, *place = row
    return Pending(generation, since, version, Cursor(*place))


def collect(connection: sqlite3.Connection, page: Delta, sender: str) -> Iterable[Delta] | None:
    """Put a page to those that came before; give all of them once it is the last, each as a delta of its own.

    What is given can be gone through more than once. Before a first page the sender's others are to be dropped. Raises
    WireError if the page does not go on where the last one ended, or there are too many; what came before stays.
    """
    if page.after == page.next == START:
        return (page,)
    before = pending(connection, sender)
    if page.after != START and before.after == START:
        raise _refused("a page came whose first ones are not here")
    if page.after != before.place(page.generation, page.since, page.version):
        raise _refused("a page does not go on where the last one ended")
    if page.next != START and page.next <= page.after:
        raise _refused("a page leads back")
    if page.next != START and _count(connection, sender) + 1 >= MOST_PAGES:
        raise _refused(f"more than {MOST_PAGES} pages came")
    _keep(connection, page, sender)
    return None if page.next != START else _Staged(connection, page, sender)


def drop(connection: sqlite3.Connection, sender: str) -> int:
    """Forget a sender's pages, and give how many there were."""
    connection.execute("DELETE FROM staged WHERE sender = ?", (sender,))
    return connection.execute("DELETE FROM staged_pages WHERE sender = ?", (sender,)).rowcount


@dataclass(frozen=True, slots=True)
class _Staged:
    """The pages of a whole delta, read one at a time."""

    connection: sqlite3.Connection
    last: Delta
    sender: str

    def __iter__(self) -> Iterator[Delta]:
        numbers = self.connection.execute("SELECT number FROM staged_pages WHERE sender = ?", (self.sender,))
        for (number,) in sorted(numbers.fetchall()):
            texts, retracted, check, vectors = self.connection.execute(
                "SELECT texts, retracted, checksum, vectors FROM staged_pages WHERE number = ?", (number,)
            ).fetchone()
            check_row(check, texts, retracted)
            yield replace(self.last, items=_unpack(texts, vectors), retracted=unpack_names(retracted))


def _keep(connection: sqlite3.Connection, page: Delta, sender: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO staged VALUES (?, ?, ?, ?, ?, ?, ?)",
        (sender, page.generation, page.since, page.version, page.next.retracted, page.next.version, page.next.row),
    )
    rows = [
        (i.id, i.question, i.answer, i.kind, i.answer_type, i.hyperedges, i.anchors, i.origin, len(i.embedding))
        for i in page.items
    ]
    texts, retracted = json.dumps(rows, ensure_ascii=False), pack_names(page.retracted)
    vectors = b"".join(np.ascontiguousarray(item.embedding, dtype="<f4").tobytes() for item in page.items)
    connection.execute(
        "INSERT INTO staged_pages (sender, texts, retracted, checksum, vectors) VALUES (?, ?, ?, ?, ?)",
        (sender, texts, retracted, checksum(texts, retracted), vectors),
    )


def _unpack(texts: str, vectors: bytes) -> tuple[MemoryItem, ...]:
    rows = json.loads(texts)
    numbers = np.frombuffer(vectors, dtype="<f4").astype(np.float32, copy=False)
    ends = np.cumsum([row[-1] for row in rows], dtype=np.int64)
    items = []
    for row, end in zip(rows, ends.tolist(), strict=True):
        name, question, answer, kind, answer_type, edges, anchors, origin, length = row
        vector = numbers[end - length : end]
        items.append(
            MemoryItem(name, question, answer, kind, answer_type, tuple(edges), tuple(anchors), vector, origin)
        )
    return tuple(items)


def _count(connection: sqlite3.Connection, sender: str) -> int:
    return int(connection.execute("SELECT count(*) FROM staged_pages WHERE sender = ?", (sender,)).fetchone()[0])


def _refused(what: str) -> WireError:
    return WireError(what, where="Delta", fix="share from the beginning")
