"""Which vectors are near to each other, exactly, without comparing all of them in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_KEPT = 64  # entries of a vector in its sketch
_CELLS = 2**22  # of one block of products
_CROWD = 256  # rows of one component from which they are compared with the others alone
_HELD = 2**16  # pairs after which components are brought up to date
_DENSE = 8  # candidates a row from which whole products are cheaper than single ones
_SKETCH_SLACK = 2e-3  # a sketch is float16
_SLACK = 1e-6  # a product of float32 vectors depends that much on the order of its sums

Rows = NDArray[np.int64]
Vectors = Callable[[Rows], NDArray[np.float32]]
Pairs = NDArray[np.int64]  # of two rows, (m, 2)


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of (n, d) at length one, on which every bound here rests: a device's own may be a hundredth off it."""
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


def sketches(vectors: NDArray[np.float32]) -> NDArray[np.float16]:
    """The first entries of (n, d) unit vectors and the norm of the rest, (n, min(d, 64) + 1).

    By Cauchy and Schwarz the product of two sketches is no less than that of the vectors.
    """
    first = vectors[:, :_KEPT]
    rest = np.sqrt(np.maximum(0.0, 1.0 - np.square(first).sum(axis=1, keepdims=True)))
    return np.concatenate([first, rest], axis=1).astype(np.float16)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Vectors by their sketches, among which near ones are looked for.

    Parameters
    ----------
    sketches
        Of all vectors, (n, k).
    vectors
        Gives the vectors themselves of some rows, (m, d).
    near
        Cosine from which two are near.
    """

    sketches: NDArray[np.float32]
    vectors: Vectors
    near: float

    def connect(self, rows: Rows, among: Rows, found: Components, counts: Callable[[Pairs], NDArray[np.bool_]]) -> None:
        """Join each row with the near ones among others, where their pair counts.

        Rows of a large component that is known by now are not compared with each other: a crowd of any size costs what
        as many rows of it cost that are near to nothing.
        """
        waiting = rows
        height = max(1, _CELLS // max(1, len(among)))
        while len(waiting) and len(among):
            own = found.labels[waiting]
            sizes = np.bincount(own)
            crowd = int(np.argmax(sizes))
            taken = np.flatnonzero(own == crowd) if sizes[crowd] >= _CROWD else np.arange(len(waiting))
            others = among[found.labels[among] != crowd] if sizes[crowd] >= _CROWD else among
            block, waiting = waiting[taken[:height]], np.delete(waiting, taken[:height])
            places = np.argwhere(self.sketches[block] @ self.sketches[others].T >= self.near - _SKETCH_SLACK)
            pairs = np.stack([block[places[:, 0]], others[places[:, 1]]], axis=1)
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            if len(pairs):
                near = self._verified(pairs)
                found.join(near[counts(near)])

    def _verified(self, found: Pairs) -> Pairs:
        rows, places = np.unique(found, return_inverse=True)
        places = places.reshape(found.shape)
        vectors = self.vectors(rows)
        if len(found) > _DENSE * len(rows):
            left, right = np.unique(places[:, 0]), np.unique(places[:, 1])
            close = np.argwhere(vectors[left] @ vectors[right].T >= self.near - _SLACK)
            kept: Pairs = np.stack([rows[left[close[:, 0]]], rows[right[close[:, 1]]]], axis=1)
            others: Pairs = kept[kept[:, 0] != kept[:, 1]]
            return others
        good = np.concatenate(
            [
                np.einsum("ij,ij->i", vectors[part[:, 0]], vectors[part[:, 1]]) >= self.near - _SLACK
                for part in np.array_split(places, len(places) // 2**15 + 1)
            ]
        )
        near: Pairs = found[good]
        return near


def near_products(vectors: NDArray[np.float32], others: NDArray[np.float32], near: float) -> NDArray[np.bool_]:
    """Which of (n, d) and (m, d) unit vectors are near, (n, m)."""
    return np.asarray(vectors @ others.T >= near - _SLACK)


class Components:
    """The connected components of some rows, brought up to date pair by pair.

    Parameters
    ----------
    count
        How many rows there are.
    """

    def __init__(self, count: int) -> None:
        self.labels: Rows = np.arange(count)
        self._waiting: list[Pairs] = []
        self._held = 0

    def join(self, pairs: Pairs) -> None:
        """Connect the two rows of each pair; `labels` tells of it once enough pairs have come, or all are `settled`."""
        self._waiting.append(pairs)
        self._held += len(pairs)
        if self._held >= _HELD:
            self.settled()

    def settled(self) -> Rows:
        """The component of each row, named like its first one."""
        from scipy.sparse import coo_array  # type: ignore[import-untyped, unused-ignore]
        from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped, unused-ignore]

        if self._held:
            count, pairs = len(self.labels), np.concatenate(self._waiting)
            # what is connected already meets in the row that is named like its component
            rows = np.concatenate([np.arange(count), self.labels[pairs[:, 0]]])
            ends = np.concatenate([self.labels, self.labels[pairs[:, 1]]])
            graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, ends)), shape=(count, count))
            _, fresh = connected_components(graph, directed=False)
            first = np.full(count, count)
            np.minimum.at(first, fresh, np.arange(count))
            self.labels = first[fresh]
        self._waiting, self._held = [], 0
        return self.labels
