"""Numbers of items as 16 levels each, so that FAISS's four-bit scan sums up a bound for all of them (see `sweep`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import faiss

EPSILON = 1e-6  # float32 rounding of a squared length
MIDDLE = 5  # anchors of a usual question: the Dice bound is exact for such
_CHUNK = 65_536
_SIZES = np.arange(1, 16)
_COVERS = np.concatenate([[0.0], 1.0 / (MIDDLE + _SIZES)]).astype(np.float32)
_HIGH = 2.0  # a high component of a question, in those of a usual one
_ROUNDING = 1e-5  # of float32 sums of so many numbers

# The 16 levels of least squared error for a normal variable (J. Max, 1960), upper half.
_NORMAL = np.array([0.1284, 0.3881, 0.6568, 0.9424, 1.2562, 1.6181, 2.0691, 2.7326])
_LEVELS = np.concatenate([-_NORMAL[::-1], _NORMAL]).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Projected:
    """Some items by their first principal components.

    Parameters
    ----------
    rows
        Which items, (n,).
    components
        (n, kept) float32.
    rest
        Length of what the components leave out, (n,), never too short.
    holds
        Which of the coded anchors they hold, (n, coded) bool.
    sizes
        How many anchors they hold, (n,).
    """

    rows: NDArray[np.int64]
    components: NDArray[np.float32]
    rest: NDArray[np.float32]
    holds: NDArray[np.bool_]
    sizes: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Weights:
    """What a question gives each number of an item; all nonnegative but those of components.

    Parameters
    ----------
    components
        (kept,), times alpha.
    rest
        Length of what the components leave out of the question, times alpha.
    covers
        (coded,): 1 - alpha for the coded anchors that it holds, else 0.
    asked
        How many anchors it holds.
    """

    components: NDArray[np.float64]
    rest: float
    covers: NDArray[np.float64]
    asked: int


class Codes:
    """The numbers of items, half a byte each; it gives the items whose bound reaches a score.

    Parameters
    ----------
    items
        What to keep of them.
    usual
        A usual question's weights, for which the numbers are laid out.
    numbers
        How many half bytes an item gets; at least one for each of its numbers.
    """

    def __init__(self, items: Projected, usual: Weights, numbers: int) -> None:
        rounded, levels, error = _round(items.components)
        rest, rest_levels = _round_up(items.rest)
        error, error_levels = _round_up(error)
        sizes = _COVERS[np.minimum(items.sizes, _SIZES[-1])]
        book = np.concatenate(
            [levels, rest_levels[None], error_levels[None], np.tile(_COVERS, (items.holds.shape[1], 1))]
        )
        low, high = book.min(axis=1).astype(np.float64), book.max(axis=1).astype(np.float64)
        expected = np.abs(_spread(usual))
        expected[: len(levels)] *= _HIGH
        self._copies = _copies(expected * (high - low), numbers)
        self._low, self._high = (np.repeat(ends, self._copies) for ends in (low, high))
        self._index = _four_bit(np.repeat(book, self._copies, axis=0))
        for at in range(0, len(items.rows), _CHUNK):
            here = slice(at, at + _CHUNK)
            covers = items.holds[here] * sizes[here, None]
            chunk = np.concatenate([rounded[here], rest[here, None], error[here, None], covers], axis=1)
            self._index.add_with_ids(np.repeat(chunk, self._copies, axis=1), items.rows[here])

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def above(self, weights: Weights, score: float) -> NDArray[np.int64] | None:
        """The rows whose bound reaches a score; None where all may reach it."""
        spread = self._per_copy(weights)
        ends = spread * self._low, spread * self._high
        spans = np.abs(ends[1] - ends[0])
        # FAISS rounds each product to a step of 1/255 of the widest span (or 1/65535 of their sum), and the score too
        step = max(float(spans.max()) / 255.0, float(spans.sum()) / 65_535.0)
        slack = (len(spread) / 2 + 2) * step + _ROUNDING
        if score - slack < float(np.minimum(*ends).sum()) + 2 * step + _ROUNDING:
            return None  # FAISS leaves out what has the lowest level in all numbers
        return np.asarray(self._index.range_search(spread[None].astype(np.float32), score - slack)[2])

    def best(self, weights: Weights, count: int) -> NDArray[np.int64]:
        """Rows with the highest bounds."""
        _, rows = self._index.search(self._per_copy(weights)[None].astype(np.float32), count)
        return np.asarray(rows[0][rows[0] >= 0], dtype=np.int64)

    def _per_copy(self, weights: Weights) -> NDArray[np.float64]:
        return np.repeat(_spread(weights) / self._copies, self._copies)


def _spread(weights: Weights) -> NDArray[np.float64]:
    """The weights of an item's numbers: components, rest, rounding error, covers."""
    # 1 / (asked + n) <= scale / (middle + n) for all sizes n of an anchor set
    scale = max((MIDDLE + size) / (weights.asked + size) for size in (_SIZES[0], _SIZES[-1]))
    error = float(np.linalg.norm(weights.components))
    return np.concatenate([weights.components, [weights.rest, error], 2.0 * scale * weights.covers])


def _copies(spans: NDArray[np.float64], numbers: int) -> NDArray[np.int64]:
    """How often to write each number: the widest is what all are rounded by, so its weight is dealt to copies."""
    copies = np.ones(len(spans), dtype=np.int64)
    while copies.sum() < numbers:
        copies[np.argmax(spans / copies)] += 1
    return copies


def rest(squares: NDArray[np.float32], components: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of what components leave out of rows of these squared lengths, never too short."""
    left = squares - np.einsum("nd,nd->n", components, components)
    return np.asarray(np.sqrt(np.maximum(left, 0.0) + np.float32(EPSILON)), dtype=np.float32)


def _round(
    components: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Components rounded to the nearest of 16 levels each, the levels (kept, 16), and the length of the change."""
    levels = components.mean(axis=0)[:, None] + components.std(axis=0)[:, None] * _LEVELS
    rounded = np.empty_like(components)
    squared = np.full(len(components), EPSILON, dtype=np.float32)
    for place, book in enumerate(levels):
        column = components[:, place]
        rounded[:, place] = book[np.searchsorted(0.5 * (book[1:] + book[:-1]), column)]
        squared += (column - rounded[:, place]) ** 2
    return rounded, levels, np.sqrt(squared)


def _round_up(lengths: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lengths rounded to the next higher of 16 levels, and the levels; the few shortest do not widen their span."""
    levels = np.quantile(lengths, np.linspace(0.02, 1.0, len(_LEVELS)), method="higher").astype(np.float32)
    return levels[np.searchsorted(levels, lengths)], levels


def _four_bit(book: NDArray[np.float32]) -> faiss.IndexIVFPQFastScan:
    """An empty index of one list that keeps each number as the nearest of its 16 levels; `book` is (numbers, 16)."""
    import faiss

    numbers = len(book)
    only = faiss.IndexFlatIP(numbers)
    only.add(np.zeros((1, numbers), dtype=np.float32))
    index = faiss.IndexIVFPQFastScan(only, numbers, 1, numbers, 4, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = False
    faiss.copy_array_to_vector(np.ascontiguousarray(book, dtype=np.float32).ravel(), index.pq.centroids)
    index.is_trained = True
    return index
