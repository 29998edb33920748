"""Which items hold which anchors, as sorted arrays: the Dice overlap of FD-RAG eq. 12 without looking at all items."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
_NONE = np.zeros(0, dtype=np.int32)


class Postings:
    """An inverted index from anchors to rows.

    Parameters
    ----------
    anchors
        For each row its distinct anchors.
    """

    def __init__(self, anchors: Iterable[frozenset[str]]) -> None:
        sets = list(anchors)
        self.sizes = np.fromiter(map(len, sets), dtype=np.int32, count=len(sets))
        self._number: dict[str, int] = {}
        number = self._number
        held = np.fromiter(
            (number.setdefault(anchor, len(number)) for anchor in chain.from_iterable(sets)),
            dtype=np.int32,
            count=int(self.sizes.sum()),
        )
        order = np.argsort(held, kind="stable")  # rows stay sorted within an anchor
        self._rows = np.repeat(np.arange(len(sets), dtype=np.int32), self.sizes)[order]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(held, minlength=len(number)))])

    def __len__(self) -> int:
        return len(self.sizes)

    def rows(self, anchor: str) -> NDArray[np.int32]:
        """The rows that hold an anchor, sorted."""
        number = self._number.get(anchor)
        return self._rows[:0] if number is None else self._rows[self._starts[number] : self._starts[number + 1]]

    def commonest(self, most: int, share: float) -> tuple[str, ...]:
        """At most so many anchors, each held by more than a share of the rows, the commonest first."""
        lengths = np.diff(self._starts)
        order = np.argsort(-lengths, kind="stable")[:most]
        wanted = {int(number) for number in order if lengths[number] > share * len(self)}
        named = {number: anchor for anchor, number in self._number.items() if number in wanted}
        return tuple(named[int(number)] for number in order if int(number) in wanted)

    def overlap(self, anchors: Collection[str]) -> NDArray[np.float64]:
        """The Dice overlap of a question's distinct anchors with those of all rows; 0 where both are empty."""
        shared = self.shared(anchors)
        return _dice(shared, len(anchors), self.sizes)

    def shared(self, anchors: Collection[str]) -> NDArray[np.unsignedinteger]:
        """How many of some distinct anchors each row holds."""
        counts = np.zeros(len(self), dtype=np.min_scalar_type(len(anchors)))
        for anchor in anchors:
            counts[self.rows(anchor)] += 1
        return counts


class Common:
    """Which of a few common anchors each row holds, a bit for each.

    Parameters
    ----------
    postings
        All anchors.
    names
        The common ones, at most 16.
    """

    def __init__(self, postings: Postings, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._bits = np.zeros(len(postings), dtype=np.uint16)
        for place, name in enumerate(self.names):
            self._bits[postings.rows(name)] |= np.uint16(1 << place)
        self._ones = np.array([bits.bit_count() for bits in range(1 << len(self.names))], dtype=np.uint8)

    def among(self, anchors: Collection[str]) -> list[str]:
        """Those of a question's anchors that are common."""
        return [name for name in self.names if name in anchors]

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of them rows hold, (m, names)."""
        return (self._bits[rows, None] >> np.arange(len(self.names), dtype=np.uint16)) & np.uint16(1) > 0

    def shared(self, anchors: Collection[str], rows: Rows) -> NDArray[np.uint8]:
        """How many of a question's common anchors rows hold."""
        asked = sum(1 << place for place, name in enumerate(self.names) if name in anchors)
        return self._ones.take(self._bits.take(rows) & np.uint16(asked))


class Overlap:
    """The Dice overlap of one question with the rows that are looked at.

    Parameters
    ----------
    postings
        All anchors.
    common
        The commonest of them: their holders are too many to be counted for each question.
    anchors
        The question's distinct anchors.
    """

    def __init__(self, postings: Postings, common: Common, anchors: Collection[str]) -> None:
        self._sizes = postings.sizes
        self._common = common
        self._anchors = anchors
        known = frozenset(common.names)
        others = [postings.rows(anchor) for anchor in anchors if anchor not in known]
        self._holders, self._shared = counted(others)

    def holders(self) -> tuple[Rows, NDArray[np.float64]]:
        """The rows that hold one of the other anchors or more, sorted, and the overlap with each."""
        return self._holders, self._of(self._holders, self._shared)

    def without_holders(self, rows: Rows) -> Rows:
        """Those of some rows that are not among `holders`."""
        return rows[~among(rows, self._holders)]

    def of(self, rows: Rows) -> NDArray[np.float64]:
        """The overlap with rows that are not among `holders`; 0 where both anchor sets are empty."""
        return self._of(rows, np.zeros(1, dtype=np.int64))

    def _of(self, rows: Rows, others: NDArray[np.int64]) -> NDArray[np.float64]:
        shared = others + self._common.shared(self._anchors, rows)
        return _dice(shared, len(self._anchors), self._sizes.take(rows))


def counted(parts: Sequence[NDArray[np.int32] | Rows]) -> tuple[Rows, NDArray[np.int64]]:
    """The rows of all parts, sorted, each once, and how many parts hold each."""
    rows = np.sort(np.concatenate([_NONE, *parts]))
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    return rows[first].astype(np.int64), np.diff(first, append=len(rows))


def among(rows: Rows, others: NDArray[np.int32] | Rows) -> NDArray[np.bool_]:
    """Which rows are among others that are sorted."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    places = np.minimum(np.searchsorted(others, rows.astype(others.dtype)), len(others) - 1)
    return np.asarray(others[places] == rows, dtype=np.bool_)


def _dice(shared: NDArray[np.integer], asked: int, sizes: NDArray[np.int32]) -> NDArray[np.float64]:
    together = asked + sizes.astype(np.int64)
    return 2.0 * shared / np.maximum(together, 1)
