"""Numbers of items as levels, so that FAISS's four-bit scan sums up a bound for all of them (see `sweep`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
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
_SLOTS = 4  # values that a half byte can hold, and lists that one can tell apart
PER_THREAD = 32_768  # items that are worth a thread of their own
_FIRST = 8  # components whose error has a length of its own
_ROUTES = np.eye(_SLOTS, dtype=np.float32)

# The levels of least squared error for a normal variable (J. Max, 1960), upper halves: 16, 4 and 2 of them.
_NORMAL = (
    np.array([0.1284, 0.3881, 0.6568, 0.9424, 1.2562, 1.6181, 2.0691, 2.7326]),
    np.array([0.4528, 1.5104]),
    np.array([0.7979]),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """What is kept of an item: this many first components with 16 levels, of the next with 4, of the next with 2.

    They take a half byte, a quarter and an eighth each; `numbers` is how many half bytes there are for values. Reverse
    water-filling: what varies little is worth few bits, but not none, for what is left out of the components counts
    with its whole length.
    """

    fine: int
    middle: int
    coarse: int
    numbers: int

    @property
    def kept(self) -> int:
        """How many components are kept."""
        return self.fine + self.middle + self.coarse

    def cuts(self, dimension: int) -> tuple[int, ...]:
        """Where levels become fewer among the kept of so many components: 0, three ends."""
        ends = (0, self.fine, self.fine + self.middle, self.kept)
        return tuple(min(end, dimension) for end in ends)


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
    """The numbers of items in a few half bytes; it gives the items whose bound reaches a score.

    Parameters
    ----------
    items
        What to keep of them; at least one item.
    usual
        A usual question's weights, for which the numbers are laid out.
    layout
        How many bits each component gets.
    """

    def __init__(self, items: Projected, usual: Weights, layout: Layout) -> None:
        self._cuts = layout.cuts(items.components.shape[1])
        self._ends = tuple(sorted({*self._cuts, min(_FIRST, self._cuts[-1])}))
        rounded, levels = _round(items.components, self._cuts)
        errors = [_round_up(_lengths(items.components, rounded, *ends)) for ends in pairwise(self._ends)]
        rest, rest_levels = _round_up(items.rest)
        sizes = _COVERS[np.minimum(items.sizes, _SIZES[-1])]
        levels += [rest_levels, *(error_levels for _, error_levels in errors), *[_COVERS] * items.holds.shape[1]]
        lengths = np.stack([rest, *(error for error, _ in errors)], axis=1)
        low, high = (np.array([float(end(book)) for book in levels] + [0.0]) for end in (np.min, np.max))
        groups = _groups(self._cuts, len(levels))
        self._lists = lists_for(len(items.rows))
        spans = (np.abs(self._spread(usual, _HIGH)) * (high - low))[groups].sum(axis=1)
        copies = _copies(spans, layout.numbers)
        self._groups = np.repeat(groups, copies, axis=0)
        self._share = np.repeat(1.0 / copies, copies)[:, None]
        self._width, self._ends_sum = (high - low)[self._groups], (high + low)[self._groups]
        self._index = _four_bit(np.repeat(_book(groups, levels), copies, axis=0), self._lists)
        shares = np.arange(len(items.rows)) * self._lists // len(items.rows)
        for at in range(0, len(items.rows), _CHUNK):
            here = slice(at, at + _CHUNK)
            covers = items.holds[here] * sizes[here, None]
            nothing = np.zeros((len(covers), 1), dtype=np.float32)
            values = np.concatenate([rounded[here], lengths[here], covers, nothing], axis=1)
            chunk = values[:, self._groups].reshape(len(values), -1)
            self._index.add_with_ids(_sent(chunk, shares[here]), items.rows[here])

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def above(self, weights: Weights, score: float) -> NDArray[np.int64] | None:
        """The rows whose bound reaches a score; None where all may reach it."""
        spread = self._per_copy(weights)
        spans = np.abs(spread * self._width).sum(axis=1)
        lowest = 0.5 * (float(np.vdot(spread, self._ends_sum)) - float(spans.sum()))
        # FAISS rounds each product to a step of 1/255 of the widest span (or 1/65535 of their sum), and the score too
        step = max(float(spans.max()) / 255.0, float(spans.sum()) / 65_535.0)
        slack = (len(spread) / 2 + 2) * step + _ROUNDING
        if score - slack < lowest + 2 * step + _ROUNDING:
            return None  # FAISS leaves out what has the lowest level in all numbers
        return np.asarray(self._index.range_search(self._asked(spread), score - slack)[2])

    def best(self, weights: Weights, count: int) -> NDArray[np.int64]:
        """Rows with the highest bounds, so many of each thread's share."""
        _, rows = self._index.search(self._asked(self._per_copy(weights)), count)
        return np.asarray(rows[rows >= 0], dtype=np.int64)

    def _asked(self, spread: NDArray[np.float64]) -> NDArray[np.float32]:
        """The question once for each list: FAISS answers several at a time."""
        return _sent(spread.ravel(), np.arange(self._lists))

    def _per_copy(self, weights: Weights) -> NDArray[np.float64]:
        """What a question gives each value of each half byte, (numbers, 4)."""
        return self._spread(weights)[self._groups] * self._share

    def _spread(self, weights: Weights, high: float = 1.0) -> NDArray[np.float64]:
        """The weights of an item's values: components, rest, rounding errors, covers, and nothing for empty places."""
        # 1 / (asked + n) <= scale / (middle + n) for all sizes n of an anchor set
        scale = max((MIDDLE + size) / (weights.asked + size) for size in (_SIZES[0], _SIZES[-1]))
        components = weights.components[: self._cuts[-1]]
        errors = np.sqrt(np.add.reduceat(np.square(components), self._ends[:-1]))
        return np.concatenate([high * components, [weights.rest], errors, 2.0 * scale * weights.covers, [0.0]])


def _groups(cuts: tuple[int, ...], count: int) -> NDArray[np.int64]:
    """Which values share a half byte, (half bytes, 4): one, two or four components, or one other; then `count`."""
    groups: list[list[int]] = []
    for size, (start, end) in zip((1, 2, 4), pairwise(cuts), strict=True):
        groups += [list(range(at, min(at + size, end))) for at in range(start, end, size)]
    groups += [[place] for place in range(cuts[-1], count)]
    return np.array([group + [count] * (_SLOTS - len(group)) for group in groups], dtype=np.int64)


def _book(groups: NDArray[np.int64], levels: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """What the 16 codes of each half byte stand for, (half bytes, 16, 4): all combinations of its values' levels."""
    book = np.zeros((len(groups), 16, _SLOTS), dtype=np.float32)
    codes = np.arange(16)
    for number, group in enumerate(groups):
        for slot, place in enumerate(group[group < len(levels)]):
            own = levels[place]
            book[number, :, slot] = own[codes // len(own) ** slot % len(own)]
    return book


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
    components: NDArray[np.float32], cuts: tuple[int, ...]
) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """Components up to the last cut rounded to the nearest of their levels, and the levels of each."""
    rounded = np.empty((len(components), cuts[-1]), dtype=np.float32)
    levels: list[NDArray[np.float32]] = []
    for upper, (start, end) in zip(_NORMAL, pairwise(cuts), strict=True):
        normal = np.concatenate([-upper[::-1], upper])
        for place in range(start, end):
            column = components[:, place]
            own = (column.mean() + column.std() * normal).astype(np.float32)
            rounded[:, place] = own[np.searchsorted(0.5 * (own[1:] + own[:-1]), column)]
            levels.append(own)
    return rounded, levels


def _lengths(
    components: NDArray[np.float32], rounded: NDArray[np.float32], start: int, end: int
) -> NDArray[np.float32]:
    """Lengths of what rounding changed in some components, never too short."""
    change = components[:, start:end] - rounded[:, start:end]
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", change, change) + np.float32(EPSILON)), dtype=np.float32)


def _round_up(lengths: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lengths rounded to the next higher of 16 levels, and the levels; the few shortest do not widen their span."""
    levels = np.quantile(lengths, np.linspace(0.02, 1.0, 16), method="higher").astype(np.float32)
    return levels[np.searchsorted(levels, lengths)], levels


def lists_for(items: int) -> int:
    """Into how many lists so many items are cut: FAISS's threads take one each."""
    import faiss

    return max(1, min(faiss.omp_get_max_threads(), _SLOTS, items // PER_THREAD))


def _sent(values: NDArray[np.floating], lists: NDArray[np.int64]) -> NDArray[np.float32]:
    """Values with one half byte more, which says to which list each row goes and adds nothing to any product."""
    sent = np.empty((len(lists), values.shape[-1] + _SLOTS), dtype=np.float32)
    sent[:, :-_SLOTS] = values
    sent[:, -_SLOTS:] = _ROUTES[lists]
    return sent


def _four_bit(book: NDArray[np.float32], lists: int) -> faiss.IndexIVFPQFastScan:
    """An empty index that keeps each group of values as the nearest of 16 in `book`, (numbers, 16, 4)."""
    import faiss

    book = np.concatenate([book, np.zeros_like(book[:1])])
    numbers, width = len(book), book.shape[0] * book.shape[2]
    quantizer = faiss.IndexFlatIP(width)
    quantizer.add(_sent(np.zeros((lists, width - _SLOTS)), np.arange(lists)))
    index = faiss.IndexIVFPQFastScan(quantizer, width, lists, numbers, 4, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = False
    faiss.copy_array_to_vector(np.ascontiguousarray(book, dtype=np.float32).ravel(), index.pq.centroids)
    index.is_trained = True
    return index
