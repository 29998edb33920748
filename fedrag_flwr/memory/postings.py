"""Which items hold which anchors, as sorted arrays: the Dice overlap of FD-RAG eq. 12 without looking at all items."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


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

    def any_of(self, anchors: Sequence[str]) -> Rows:
        """The rows that hold one of the anchors or more, sorted."""
        found = [self.rows(anchor) for anchor in anchors]
        return np.unique(np.concatenate(found)).astype(np.int64) if found else np.zeros(0, dtype=np.int64)

    def overlap(self, anchors: Collection[str], rows: Rows | None = None) -> NDArray[np.float64]:
        """The Dice overlap of an anchor set with those of sorted rows, or of all; 0 where both are empty.

        Parameters
        ----------
        anchors
            The distinct anchors of a question.
        rows
            Which rows, sorted and distinct; None: all.
        """
        if rows is None:
            shared = np.zeros(len(self), dtype=np.int64)
            for anchor in anchors:
                shared[self.rows(anchor)] += 1
            return _dice(shared, len(anchors), self.sizes)
        shared = np.zeros(len(rows), dtype=np.int64)
        for anchor in anchors:
            holders = self.rows(anchor)
            if len(holders) > len(rows):
                shared += among(rows, holders)
            elif len(holders):
                places = np.minimum(np.searchsorted(rows, holders), len(rows) - 1)
                shared[places[rows[places] == holders]] += 1
        return _dice(shared, len(anchors), self.sizes[rows])


def among(rows: Rows, others: NDArray[np.int32] | Rows) -> NDArray[np.bool_]:
    """Which rows are among others that are sorted."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    places = np.minimum(np.searchsorted(others, rows.astype(others.dtype)), len(others) - 1)
    return np.asarray(others[places] == rows, dtype=np.bool_)


def _dice(shared: NDArray[np.int64], asked: int, sizes: NDArray[np.int32]) -> NDArray[np.float64]:
    together = asked + sizes.astype(np.int64)
    return 2.0 * shared / np.maximum(together, 1)
