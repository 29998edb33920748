"""Upper bounds on the matching score of all items at once, half a byte a dimension (FD-RAG eq. 11 to 13).

Write a unit vector as its first principal components and a rest, x = (x1, x2). Cauchy and Schwarz give

    q.x  <=  q1.y1 + |q1| |x1 - y1| + |q2| |x2|

for any rounding y1 of x1. The right side is an inner product of a question's numbers with an item's, so each number of
an item becomes one of 16 levels: a component the nearest (its error is in the second term), the two lengths the next
higher. The Dice overlap of the commonest anchors joins as further such numbers, since 2 s / (a + n) is a sum over the
shared anchors. FAISS's four-bit scan adds them up for a million items in about a millisecond and gives the items whose
bound reaches a score.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.postings import Postings, Rows

if TYPE_CHECKING:
    import faiss

COMPONENTS = 94
NUMBERS = 128  # nibbles of an item's codes
PREFIX = 32  # components that are also kept as they are, for bounds of single rows
CODED = 12  # commonest anchors in the codes
COMMON = 0.005  # of the items hold an anchor at least, to be coded
_SAMPLE = 16_384  # items from which the components are taken
_CHUNK = 65_536
_MIDDLE = 5  # anchors of a usual question: the Dice bound is exact for such
_SIZES = np.arange(1, 16)
_EPSILON = 1e-6  # float32 rounding of a squared length
_HIGH = 2.0  # a high component of a question, in those of a usual one
_ROUNDING = 1e-5  # of float32 sums of so many numbers

# The 16 levels of least squared error for a normal variable (J. Max, 1960), upper half.
_NORMAL = np.array([0.1284, 0.3881, 0.6568, 0.9424, 1.2562, 1.6181, 2.0691, 2.7326])
_LEVELS = np.concatenate([-_NORMAL[::-1], _NORMAL])


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as the sweep needs it.

    Parameters
    ----------
    vector
        Its direction, (dimension,), unit norm or zero.
    anchors
        Its distinct anchors.
    alpha
        Weight of the cosine.
    """

    vector: NDArray[np.float64]
    anchors: frozenset[str]
    alpha: float

    def score(self, cosines: NDArray[np.floating], covers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Combine cosines, or bounds on them, with Dice overlaps (FD-RAG eq. 11)."""
        return np.asarray(self.alpha * cosines + (1.0 - self.alpha) * covers, dtype=np.float64)


class Sweep:
    """Upper bounds for a fixed set of items.

    Parameters
    ----------
    vectors
        (n, dimension) float32; unit rows, or zero.
    postings
        Their anchors.
    alpha
        The usual weight of the cosine, for which the codes are laid out.
    """

    def __init__(self, vectors: NDArray[np.float32], postings: Postings, alpha: float) -> None:
        self._axes = _principal_axes(vectors)
        self._kept = min(COMPONENTS, vectors.shape[1])
        self._prefix = min(PREFIX, vectors.shape[1])
        self.coded = postings.commonest(CODED, COMMON)
        self._near = np.empty((len(vectors), self._prefix + 1), dtype=np.float32)
        self._codes, self._low, self._high, self._copies = self._encode(vectors, postings, alpha)

    def coded_among(self, anchors: Collection[str]) -> list[str]:
        """Those of a question's anchors whose overlap is part of the swept bounds."""
        return [anchor for anchor in self.coded if anchor in anchors]

    def near(self, asking: Asking, rows: Rows) -> NDArray[np.float64]:
        """Upper bounds on the cosine of single rows, from fewer components but without rounding."""
        first, rest = self._split(asking.vector, self._prefix)
        return np.asarray(self._near[rows] @ np.append(first, rest).astype(np.float32), dtype=np.float64)

    def most(self, asking: Asking) -> float:
        """No item that shares only coded anchors with a question can score higher than this."""
        shared = len(self.coded_among(asking.anchors))
        cover = 2.0 * shared / (len(asking.anchors) + shared) if shared else 0.0
        return asking.alpha + (1.0 - asking.alpha) * cover

    def above(self, asking: Asking, score: float) -> tuple[Rows, NDArray[np.float64]] | None:
        """All rows whose bound reaches a score, with the bounds; None where bounds would say nothing.

        The bound holds for rows that share no anchor with the question but coded ones.
        """
        weights = self._weights(asking)
        ends = weights * self._low, weights * self._high
        spans = np.abs(ends[1] - ends[0])
        # FAISS rounds each product to a step of 1/255 of the widest span (or 1/65535 of their sum), and the score too
        step = max(float(spans.max()) / 255.0, float(spans.sum()) / 65_535.0)
        slack = (len(weights) / 2 + 2) * step + _ROUNDING
        if score - slack < float(np.minimum(*ends).sum()) + 2 * step + _ROUNDING:
            return None  # everything may reach it, and FAISS leaves out what has the lowest level in all numbers
        _, bounds, rows = self._codes.range_search(weights[None].astype(np.float32), score - slack)
        return rows, bounds.astype(np.float64) + slack

    def best(self, asking: Asking, count: int) -> Rows:
        """Rows with the highest bounds, to start from."""
        _, rows = self._codes.search(self._weights(asking)[None].astype(np.float32), count)
        return np.asarray(rows[0][rows[0] >= 0], dtype=np.int64)

    # --- the question's side ----------------------------------------------------------------------

    def _split(self, vector: NDArray[np.float64], kept: int) -> tuple[NDArray[np.float64], float]:
        first = self._axes[:, :kept].T @ vector
        return first, float(np.sqrt(max(0.0, float(vector @ vector - first @ first)) + _EPSILON))

    def _weights(self, asking: Asking) -> NDArray[np.float64]:
        first, rest = self._split(asking.vector, self._kept)
        cosine = asking.alpha * np.concatenate([first, [rest, np.linalg.norm(first)]])
        asked = len(asking.anchors)
        # 1/(asked + n) <= scale * 1/(middle + n) for all sizes n of an anchor set
        scale = max((_MIDDLE + size) / (asked + size) for size in (_SIZES[0], _SIZES[-1]))
        cover = [2.0 * (1.0 - asking.alpha) * scale * (anchor in asking.anchors) for anchor in self.coded]
        return np.repeat(np.concatenate([cosine, cover]) / self._copies, self._copies)

    # --- the items' side --------------------------------------------------------------------------

    def _encode(
        self, vectors: NDArray[np.float32], postings: Postings, alpha: float
    ) -> tuple[faiss.IndexIVFPQFastScan, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Give the codes, each number's lowest and highest level, and how often each is written."""
        components = vectors @ np.ascontiguousarray(self._axes[:, : self._kept], dtype=np.float32)
        squares = np.einsum("nd,nd->n", vectors, vectors)
        self._near[:, : self._prefix] = components[:, : self._prefix]
        self._near[:, self._prefix] = _rest(squares, components[:, : self._prefix])
        rest = _rest(squares, components)
        usual = np.sqrt(np.mean(components.astype(np.float64) ** 2, axis=0))
        levels = components.mean(axis=0)[:, None] + components.std(axis=0)[:, None] * _LEVELS.astype(np.float32)
        error = _round(components, levels)
        numbers, books = [components], [levels]
        for length in (rest, error):
            book = np.quantile(length, np.linspace(0.02, 1.0, len(_LEVELS)), method="higher").astype(np.float32)
            numbers.append(book[np.searchsorted(book, length)][:, None])
            books.append(book[None])
        cover = np.concatenate([[0.0], 1.0 / (_MIDDLE + _SIZES)]).astype(np.float32)
        covers = np.zeros((len(vectors), len(self.coded)), dtype=np.float32)
        for place, anchor in enumerate(self.coded):
            holders = postings.rows(anchor)
            covers[holders, place] = cover[np.minimum(postings.sizes[holders], _SIZES[-1])]
        numbers.append(covers)
        book = np.concatenate([*books, np.tile(cover, (len(self.coded), 1))])
        low, high = book.min(axis=1).astype(np.float64), book.max(axis=1).astype(np.float64)
        lengths = [float(rest.mean()), float(np.linalg.norm(usual))]
        expected = np.concatenate(
            [alpha * np.array([*(_HIGH * usual), *lengths]), [2.0 - 2.0 * alpha] * len(self.coded)]
        )
        copies = _copies(expected * (high - low))
        index = _four_bit(np.repeat(book, copies, axis=0))
        for at in range(0, len(vectors), _CHUNK):
            chunk = np.concatenate([part[at : at + _CHUNK] for part in numbers], axis=1)
            index.add(np.repeat(chunk, copies, axis=1))
        return index, np.repeat(low, copies), np.repeat(high, copies), copies


def _copies(spans: NDArray[np.float64]) -> NDArray[np.int64]:
    """How often to write each number, so that no copy's share of the span is much wider than another's."""
    copies = np.ones(len(spans), dtype=np.int64)
    while copies.sum() < NUMBERS:
        copies[np.argmax(spans / copies)] += 1
    return copies


def _principal_axes(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Orthonormal columns, (dimension, dimension), those first along which a sample of the rows is longest."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    return np.ascontiguousarray(np.linalg.eigh(sample.T @ sample)[1][:, ::-1])


def _rest(squares: NDArray[np.float32], components: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of what components leave out of rows, never too short."""
    left = squares - np.einsum("nd,nd->n", components, components)
    return np.asarray(np.sqrt(np.maximum(left, 0.0) + np.float32(_EPSILON)), dtype=np.float32)


def _round(components: NDArray[np.float32], levels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round components in place, each to the nearest of its levels, and give the length of what that changed."""
    squared = np.full(len(components), _EPSILON, dtype=np.float32)
    for column, book in zip(components.T, levels, strict=True):
        rounded = book[np.searchsorted(0.5 * (book[1:] + book[:-1]), column)]
        squared += (column - rounded) ** 2
        column[:] = rounded
    return np.asarray(np.sqrt(squared), dtype=np.float32)


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
