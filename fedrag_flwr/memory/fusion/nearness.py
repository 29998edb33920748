"""Which vectors are near to each other, exactly, without comparing all of them in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_KEPT = 64  # entries of a vector in its sketch
_CELLS = 2**24  # of one block of products
_DENSE = 8  # candidates a row from which whole products are cheaper than single ones
_SKETCH_SLACK = 2e-3  # a sketch is float16
_SLACK = 1e-6  # a product of float32 vectors depends that much on the order of its sums

Vectors = Callable[[NDArray[np.int64]], NDArray[np.float32]]
Pairs = NDArray[np.int64]


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

    def pairs(self, rows: NDArray[np.int64], among: NDArray[np.int64]) -> Iterator[Pairs]:
        """Pairs (m, 2) of a row and a near other one, block by block; each pair of two rows may come twice."""
        if not len(rows) or not len(among):
            return
        others = self.sketches[among].T
        height = max(1, _CELLS // len(among))
        for start in range(0, len(rows), height):
            block = rows[start : start + height]
            places = np.argwhere(self.sketches[block] @ others >= self.near - _SKETCH_SLACK)
            found = np.stack([block[places[:, 0]], among[places[:, 1]]], axis=1)
            found = found[found[:, 0] != found[:, 1]]
            if len(found):
                yield self._verified(found)

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


def components(count: int, blocks: Iterator[Pairs]) -> NDArray[np.int64]:
    """The connected component of each of so many rows, numbered from 0; holds one block of pairs at a time."""
    from scipy.sparse import coo_array  # type: ignore[import-untyped, unused-ignore]
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped, unused-ignore]

    labels = np.arange(count)
    for pairs in blocks:
        if not len(pairs):
            continue
        # what is connected already meets in the row that is named like its component
        rows, ends = (
            np.concatenate([np.arange(count), labels[pairs[:, 0]]]),
            np.concatenate([labels, labels[pairs[:, 1]]]),
        )
        graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, ends)), shape=(count, count))
        _, fresh = connected_components(graph, directed=False)
        first = np.full(count, count)
        np.minimum.at(first, fresh, np.arange(count))
        labels = first[fresh]
    return labels
