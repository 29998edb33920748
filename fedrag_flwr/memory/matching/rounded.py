"""Vectors by their first principal components, a byte each: bounds on the cosine of rows picked one by one.

By Cauchy and Schwarz as in `sweep`, with 255 even levels instead of 16, so that what rounding
adds is small and nearly all of a bound's excess is the part of the vectors that the components leave out.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.matching.codes import EPSILON, rest
from fedrag_flwr.memory.matching.postings import Rows

SHALLOW = 64  # components of the bounds for many rows: a cache line each
DEEP = 192  # of those for the rows that are left
_REACH = 4.0  # standard deviations that the levels span; the error of what lies beyond is known too
_LEVELS = 127
_CHUNK = 2048  # rows at a time, so that what is made of them stays in the cache
_BUILT = 65_536

Depth = Literal["shallow", "deep"]


class Rounded:
    """The components of unit rows, kept in a byte each.

    Parameters
    ----------
    components
        (n, kept) float32; those beyond `DEEP` are not looked at.
    squares
        Squared length of the whole rows, (n,).
    """

    def __init__(self, components: NDArray[np.float32], squares: NDArray[np.float32]) -> None:
        count, kept = len(components), min(components.shape[1], DEEP)
        means = np.array([np.mean(np.square(components[:, place])) for place in range(kept)])
        self._scale = np.where(means > 0.0, _REACH / _LEVELS * np.sqrt(means), 1.0).astype(np.float32)
        self._first = np.empty((count, min(kept, SHALLOW)), dtype=np.int8)
        self._more = np.empty((count, kept - self._first.shape[1]), dtype=np.int8)
        self._left = {depth: np.empty((count, 2), dtype=np.float32) for depth in ("shallow", "deep")}
        for at in range(0, count, _BUILT):
            self._round(slice(at, at + _BUILT), components, squares)

    def _round(self, here: slice, components: NDArray[np.float32], squares: NDArray[np.float32]) -> None:
        part = components[here, : len(self._scale)]
        levels = np.clip(np.rint(part / self._scale), -_LEVELS, _LEVELS)
        cut = self._first.shape[1]
        self._first[here], self._more[here] = levels[:, :cut], levels[:, cut:]
        error = np.square(part - levels * self._scale)
        for depth, kept in (("shallow", cut), ("deep", len(self._scale))):
            self._left[depth][here, 0] = rest(squares[here], part[:, :kept])
            self._left[depth][here, 1] = np.sqrt(error[:, :kept].sum(axis=1) + np.float32(EPSILON))

    def bounds(self, question: NDArray[np.float64], square: float, rows: Rows, depth: Depth) -> NDArray[np.float64]:
        """Upper bounds on the cosine of rows, up to the rounding of float32.

        Parameters
        ----------
        question
            The components of its unit vector, at least as many as are kept.
        square
            Squared length of its vector: 1, or 0.
        rows
            Which rows, (m,).
        depth
            From how many components.
        """
        cut = self._first.shape[1]
        kept = question[: cut if depth == "shallow" else len(self._scale)]
        weights = (kept * self._scale[: len(kept)]).astype(np.float32)
        beyond = float(np.sqrt(max(0.0, square - float(kept @ kept)) + EPSILON))
        left = np.array([beyond, np.linalg.norm(kept)], dtype=np.float32)
        found = np.empty(len(rows))
        for at in range(0, len(rows), _CHUNK):
            chunk = rows[at : at + _CHUNK]
            bounds = self._left[depth].take(chunk, axis=0) @ left
            bounds += self._first.take(chunk, axis=0).astype(np.float32) @ weights[:cut]
            if depth == "deep":
                bounds += self._more.take(chunk, axis=0).astype(np.float32) @ weights[cut:]
            found[at : at + _CHUNK] = bounds
        return found
