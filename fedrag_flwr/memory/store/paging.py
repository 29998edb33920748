"""Cutting a delta into pages that fit into one message each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fedrag_flwr.records import START, Cursor, MemoryItem

PAGE_BYTES = 2**25
MOST_PAGES = 256
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
