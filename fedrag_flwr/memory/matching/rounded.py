"""Vectors by their first principal components, a byte each: bounds on the cosine of rows picked one by one.

By Cauchy and Schwarz as in `sweep`, with 255 even levels instead of 16 at most, so that what rounding adds is small and
nearly all of a bound's excess is the part of the vectors that the components leave out.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.matching.codes import EPSILON, rest
from fedrag_flwr.memory.matching.postings import Rows

_LINE = 64  # bytes of a cache line
_LENGTHS = 8  # of them for two lengths
SHALLOW = _LINE - _LENGTHS  # components of the bounds for many rows: a cache line each
DEEP = SHALLOW + 2 * _LINE - _LENGTHS  # of those for the rows that are left: two more
_REACH = 4.0  # standard deviations that the levels span; the error of what lies beyond is known too
_LEVELS = 127
_BLOCK = 2048  # rows at a time, so that what is made of them stays in the cache
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
        self._cuts = min(kept, SHALLOW), kept
        self._rows: dict[Depth, NDArray[np.uint8]] = {"shallow": _lines(count, 1), "deep": _lines(count, 2)}
        for at in range(0, count, _BUILT):
            self._round(slice(at, at + _BUILT), components, squares)

    def _round(self, here: slice, components: NDArray[np.float32], squares: NDArray[np.float32]) -> None:
        part = components[here, : len(self._scale)]
        levels = np.clip(np.rint(part / self._scale), -_LEVELS, _LEVELS)
        error = np.square(part - levels * self._scale)
        start = 0
        for rows, end in zip(self._rows.values(), self._cuts, strict=True):
            values, lengths = _parts(rows[here])
            values[:, : end - start] = levels[:, start:end]
            lengths[:, 0] = rest(squares[here], part[:, :end])
            lengths[:, 1] = np.sqrt(error[:, :end].sum(axis=1) + np.float32(EPSILON))
            start = end

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
        cut, end = self._cuts[0], self._cuts[depth == "deep"]
        kept = question[:end]
        weights = (kept * self._scale[:end]).astype(np.float32)
        beyond = float(np.sqrt(max(0.0, square - float(kept @ kept)) + EPSILON))
        left = np.array([beyond, np.linalg.norm(kept)], dtype=np.float32)
        found = np.empty(len(rows))
        for at in range(0, len(rows), _BLOCK):
            chunk = rows[at : at + _BLOCK]
            values, lengths = _parts(self._rows["shallow"].take(chunk, axis=0))
            bounds = values[:, :cut].astype(np.float32) @ weights[:cut]
            if depth == "deep":
                values, lengths = _parts(self._rows["deep"].take(chunk, axis=0))
                bounds += values[:, : end - cut].astype(np.float32) @ weights[cut:]
            found[at : at + _BLOCK] = bounds + lengths @ left
        return found


def _lines(count: int, lines: int) -> NDArray[np.uint8]:
    """Zeros of so many cache lines a row, each row at the start of one: reading a row touches no other."""
    width = lines * _LINE
    whole = np.zeros((count + 1) * width, dtype=np.uint8)
    start = -whole.ctypes.data % _LINE
    return whole[start : start + count * width].reshape(count, width)


def _parts(rows: NDArray[np.uint8]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Views of what rows hold: components, and the lengths of what these leave out and of what rounding changed."""
    return rows[:, :-_LENGTHS].view(np.int8), rows[:, -_LENGTHS:].view(np.float32)
