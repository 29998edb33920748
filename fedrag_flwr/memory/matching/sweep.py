"""Upper bounds on the matching score of all items at once, a few bits a dimension (FD-RAG eq. 11 to 13).

Write a unit vector as its first principal components and a rest, x = (x1, x2). Cauchy and Schwarz give

    q.x  <=  q1.y1 + |q1| |x1 - y1| + |q2| |x2|

for any rounding y1 of x1; with components cut into stretches, the middle term is a sum over these, and less. The right
side is an inner product of a question's numbers with an item's, so each number of an item becomes one of 16, 4 or 2
levels: a component the nearest (its error is in the middle terms), a length the next higher. The Dice overlap of the
commonest anchors joins as further such numbers, since 2 s / (a + n) is a sum over the shared anchors. FAISS's four-bit
scan adds up some tens of half bytes for a million items in a millisecond or two, in up to four of OpenMP's threads.

Few numbers leave some thousands of a million items, and reading twice as many for all costs more than bounding those
few anew from a byte a component (see `rounded`). The holders of each common anchor are kept by themselves and in finer
codes, since they are fewer and may be farther, for questions that hold it too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.matching.codes import EPSILON, MIDDLE, Codes, Layout, Projected, Weights, rest
from fedrag_flwr.memory.matching.postings import Common, Postings, Rows, counted
from fedrag_flwr.memory.matching.rounded import DEEP, Depth, Rounded

ROUNDING = 1e-5  # a float32 product of equal unit vectors may exceed 1 by less
ALL = Layout(32, 32, 72, 75)  # of an item among all
HELD = Layout(56, 40, 80, 115)  # among the holders of a common anchor
CODED = 12  # common anchors at most
COMMON = 0.01  # of the items hold such an anchor at least
_SAMPLE = 16_384  # items from which the axes are taken


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


@dataclass(frozen=True, slots=True)
class Turned:
    """A question along the axes of a sweep: the first components of its vector, (kept,)."""

    asking: Asking
    components: NDArray[np.float64]

    @property
    def square(self) -> float:
        """Squared length of its vector: 1, or 0."""
        return float(self.asking.vector @ self.asking.vector)


@dataclass(frozen=True, slots=True)
class Swept:
    """Sorted rows whose bound reaches a score, and how many rows were bounded for it."""

    rows: Rows
    bounded: int


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
        self._axes = _principal_axes(vectors)[:, :DEEP]
        self.common = Common(postings, postings.commonest(CODED, COMMON))
        squares = np.einsum("nd,nd->n", vectors, vectors)
        components = vectors @ self._axes.astype(np.float32)
        self._rounded = Rounded(components, squares)
        usual = np.sqrt(np.mean(components.astype(np.float64) ** 2, axis=0))

        def codes(rows: Rows, layout: Layout, holds: NDArray[np.bool_]) -> Codes:
            part = components[rows, : layout.kept]
            projected = Projected(rows, part, rest(squares[rows], part), holds, postings.sizes[rows])
            return Codes(projected, _usual(usual[: layout.kept], alpha, holds.shape[1]), layout)

        everything = np.arange(len(vectors), dtype=np.int64)
        self._all = codes(everything, ALL, np.zeros((len(vectors), 0), dtype=np.bool_))
        self._held: dict[str, Codes] = {}
        for anchor in self.common.names:
            rows = postings.rows(anchor).astype(np.int64)
            self._held[anchor] = codes(rows, HELD, self.common.holds(rows))

    def turn(self, asking: Asking) -> Turned:
        """A question as the methods below take it."""
        return Turned(asking, asking.vector @ self._axes)

    def near(self, turned: Turned, rows: Rows, depth: Depth) -> NDArray[np.float64]:
        """Upper bounds on the cosine of single rows."""
        return self._rounded.bounds(turned.components, turned.square, rows, depth)

    def above(self, turned: Turned, score: float) -> Swept | None:
        """All rows that can reach a score; None where these may be all.

        That holds for rows that share no anchor with the question but common ones. A row that shares none is among all
        rows, one that shares some among the holders of these.
        """
        asking = turned.asking
        shared = self.common.among(asking.anchors)
        most = 2.0 * len(shared) / max(len(asking.anchors) + len(shared), 1)
        bar = score - ROUNDING
        swept: list[tuple[Codes, Weights]] = []
        if asking.alpha + (1.0 - asking.alpha) * most >= bar:
            weights = _weights(turned, HELD.kept, self.common.names)
            swept = [(self._held[anchor], weights) for anchor in shared]
        if asking.alpha >= bar:
            swept.append((self._all, _weights(turned, ALL.kept, ())))
        found: list[Rows] = []
        for codes, weights in swept:
            reached = codes.above(weights, score)
            if reached is None:
                return None
            found.append(reached)
        return Swept(counted(found)[0], sum(len(codes) for codes, _ in swept))

    def best(self, turned: Turned, count: int) -> Rows:
        """Rows whose cosine has the highest bounds, to start from."""
        return self._all.best(_weights(turned, ALL.kept, ()), count)


def _weights(turned: Turned, kept: int, common: Collection[str]) -> Weights:
    asking, first = turned.asking, turned.components[:kept]
    beyond = float(np.sqrt(max(0.0, turned.square - float(first @ first)) + EPSILON))
    covers = np.array([(1.0 - asking.alpha) * (anchor in asking.anchors) for anchor in common])
    return Weights(asking.alpha * first, asking.alpha * beyond, covers, len(asking.anchors))


def _usual(components: NDArray[np.float64], alpha: float, coded: int) -> Weights:
    beyond = float(np.sqrt(max(0.0, 1.0 - float(components @ components))))
    return Weights(alpha * components, alpha * beyond, np.full(coded, 1.0 - alpha), MIDDLE)


def _principal_axes(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Orthonormal columns, (dimension, dimension), those first along which a sample of the rows is longest."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    return np.ascontiguousarray(np.linalg.eigh(sample.T @ sample)[1][:, ::-1])
