"""Upper bounds on the matching score of all items at once, half a byte a dimension (FD-RAG eq. 11 to 13).

Write a unit vector as its first principal components and a rest, x = (x1, x2). Cauchy and Schwarz give

    q.x  <=  q1.y1 + |q1| |x1 - y1| + |q2| |x2|

for any rounding y1 of x1. The right side is an inner product of a question's numbers with an item's, so each number of
an item becomes one of 16 levels: a component the nearest (its error is in the second term), the two lengths the next
higher. The Dice overlap of the commonest anchors joins as further such numbers, since 2 s / (a + n) is a sum over the
shared anchors. FAISS's four-bit scan adds up some tens of numbers for a million items in a millisecond or two.

An item that shares nothing with a question must be very near to it to score as high as one that does, and few numbers
tell most items from such: all items are kept coarsely, and finely for questions with nothing so near. The holders of
each common anchor are kept by themselves, for questions that hold it too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.codes import EPSILON, Codes, Projected, Weights
from fedrag_flwr.memory.postings import Postings, Rows

ROUNDING = 1e-5  # a float32 product of equal unit vectors may exceed 1 by less
COARSE = (62, 76)  # components and half bytes of an item among all, where only the nearest can reach a score
FINE = (110, 124)  # where farther ones can
HELD = (110, 136)  # among the holders of a common anchor
NEAREST = 0.88  # cosine from which on the coarse codes tell enough apart
PREFIX = 32  # components for the bounds of single rows
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
class Swept:
    """Sorted rows whose bound reaches a score, the bounds, and how many rows were bounded for it."""

    rows: Rows
    bounds: NDArray[np.float64]
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
        self._axes = _principal_axes(vectors)
        self.coded = postings.commonest(CODED, COMMON)
        squares = np.einsum("nd,nd->n", vectors, vectors)
        components = vectors @ self._axes[:, : max(FINE[0], HELD[0])].astype(np.float32)
        self._near = np.column_stack([components[:, :PREFIX], _rest(squares, components[:, :PREFIX])])
        usual = np.sqrt(np.mean(components.astype(np.float64) ** 2, axis=0))

        def codes(rows: Rows, kept: int, numbers: int, holds: NDArray[np.bool_]) -> Codes:
            part = components[rows, :kept]
            projected = Projected(rows, part, _rest(squares[rows], part), holds, postings.sizes[rows])
            return Codes(projected, _usual(usual[:kept], alpha, holds.shape[1]), numbers)

        everything = np.arange(len(vectors), dtype=np.int64)
        none = np.zeros((len(vectors), 0), dtype=np.bool_)
        self._coarse, self._fine = (codes(everything, *layout, none) for layout in (COARSE, FINE))
        self._held: dict[str, Codes] = {}
        for anchor in self.coded:
            rows = postings.rows(anchor).astype(np.int64)
            holds = np.column_stack([np.isin(rows, postings.rows(other)) for other in self.coded])
            self._held[anchor] = codes(rows, *HELD, holds)

    def coded_among(self, anchors: Collection[str]) -> list[str]:
        """Those of a question's anchors whose overlap is part of the swept bounds."""
        return [anchor for anchor in self.coded if anchor in anchors]

    def near(self, asking: Asking, rows: Rows) -> NDArray[np.float64]:
        """Upper bounds on the cosine of single rows, without rounding."""
        first, rest = self._split(asking.vector, PREFIX)
        return np.asarray(self._near[rows] @ np.append(first, rest).astype(np.float32), dtype=np.float64)

    def above(self, asking: Asking, score: float) -> Swept | None:
        """All rows that can reach a score; None where these may be all.

        That holds for rows that share no anchor with the question but coded ones. A row that shares none is among all
        rows, one that shares some among the holders of these.
        """
        shared = self.coded_among(asking.anchors)
        most = 2.0 * len(shared) / max(len(asking.anchors) + len(shared), 1)
        swept = [(self._held[anchor], self._weights(asking, HELD[0], self.coded)) for anchor in shared]
        bar = score - ROUNDING
        if asking.alpha + (1.0 - asking.alpha) * most < bar:
            swept = []
        if asking.alpha >= bar:
            codes, layout = (self._coarse, COARSE) if score >= NEAREST * asking.alpha else (self._fine, FINE)
            swept.append((codes, self._weights(asking, layout[0], ())))
        found = [(np.zeros(0, dtype=np.int64), np.zeros(0))]
        for codes, weights in swept:
            reached = codes.above(weights, score)
            if reached is None:
                return None
            found.append(reached)
        rows, bounds = (np.concatenate(column) for column in zip(*found, strict=True))
        rows, first = np.unique(rows, return_index=True)  # the holders' bounds, which hold for all, come first
        return Swept(rows, bounds[first], sum(len(codes) for codes, _ in swept))

    def best(self, asking: Asking, count: int) -> Rows:
        """Rows whose cosine has the highest bounds, to start from."""
        return self._coarse.best(self._weights(asking, COARSE[0], ()), count)

    def _split(self, vector: NDArray[np.float64], kept: int) -> tuple[NDArray[np.float64], float]:
        first = self._axes[:, :kept].T @ vector
        return first, float(np.sqrt(max(0.0, float(vector @ vector - first @ first)) + EPSILON))

    def _weights(self, asking: Asking, kept: int, coded: Collection[str]) -> Weights:
        first, rest = self._split(asking.vector, kept)
        covers = np.array([(1.0 - asking.alpha) * (anchor in asking.anchors) for anchor in coded])
        return Weights(asking.alpha * first, asking.alpha * rest, covers, len(asking.anchors))


def _usual(components: NDArray[np.float64], alpha: float, coded: int) -> Weights:
    rest = float(np.sqrt(max(0.0, 1.0 - float(components @ components))))
    return Weights(alpha * components, alpha * rest, np.full(coded, 1.0 - alpha), 5)


def _principal_axes(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Orthonormal columns, (dimension, dimension), those first along which a sample of the rows is longest."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    return np.ascontiguousarray(np.linalg.eigh(sample.T @ sample)[1][:, ::-1])


def _rest(squares: NDArray[np.float32], components: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of what components leave out of rows, never too short."""
    left = squares - np.einsum("nd,nd->n", components, components)
    return np.asarray(np.sqrt(np.maximum(left, 0.0) + np.float32(EPSILON)), dtype=np.float32)
