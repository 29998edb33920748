"""Rows cut into regions that lie about a direction each, and how near to a question any row of one can be.

Write x = (x.c) c + x' with the direction c of a row's region. Cauchy and Schwarz give

    q.x  <=  (q.c) (x.c) + |q'| |x'|,

the cosine of the difference of two angles, and x.c of all rows of a region lies between two numbers. So a question that
only a row at a few degrees can answer need not look at regions whose rows lie at other angles from their direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph import centroids
from fedrag_flwr.memory.matching.codes import EPSILON

ROWS = 4096  # of a region, about
_KEPT = 64  # components that directions have
_SAMPLE = 128  # rows a direction is taken from


class Regions:
    """Regions of unit or zero rows.

    Parameters
    ----------
    components
        (n, kept) float32, along orthonormal axes.
    most
        How many regions there may be.
    """

    def __init__(self, components: NDArray[np.float32], most: int) -> None:
        import faiss

        first = np.ascontiguousarray(components[:, :_KEPT])
        directions = centroids(first, max(1, min(most, len(first) // ROWS)), seed=0, sample=_SAMPLE)
        index = faiss.IndexFlatIP(first.shape[1])
        index.add(directions)
        along, nearest = index.search(first, 1)
        chosen, of = np.unique(nearest[:, 0], return_inverse=True)
        self._directions = directions[chosen]
        self.of: NDArray[np.int64] = of  # region of each row, (n,)
        self._least, self._most = np.full(len(chosen), np.inf), np.full(len(chosen), -np.inf)
        np.minimum.at(self._least, of, along[:, 0])
        np.maximum.at(self._most, of, along[:, 0])

    def near(self, question: NDArray[np.float64], square: float) -> NDArray[np.float64]:
        """Upper bounds on the cosine of the rows of each region, up to the rounding of float32.

        Parameters
        ----------
        question
            The components of its unit vector, at least as many as directions have.
        square
            Squared length of its vector: 1, or 0.
        """
        along = self._directions @ question[: self._directions.shape[1]]
        rows = np.clip(along, self._least, self._most)  # the nearest that a row may have: the bound is concave in it
        beyond = (square - np.square(along)) * (1.0 - np.square(rows))
        return np.asarray(along * rows + np.sqrt(np.maximum(beyond, 0.0) + EPSILON), dtype=np.float64)
