"""Seeds of hyperedges by k-means, and the nearest of them for each unit; both in time proportional to the units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Matrix = NDArray[np.float32]

_BLOCK_UNITS = 1_024  # k-means within a block takes time that grows with its square
_BLOCK_SEEDS = 64  # that a block has at the least, so that its units have a choice
_CELL_POINTS = 256
_MOST_EXACT = 2**20  # inner products
_REACH = 8
_ROUNDS = 12
_SAMPLE = 256  # vectors for each centre when blocks and cells are cut


def nearest(queries: NDArray[np.floating], points: NDArray[np.floating], count: int) -> Indices:
    """Find the points of largest inner product for each query, best first.

    Where there are many of both, a query looks at the points of its own cell and of the cells around it, about 2,000.

    Parameters
    ----------
    queries
        Shape (n, dimension).
    points
        Shape (m, dimension), m at least 1.
    count
        How many to find.

    Returns
    -------
    NDArray[np.int64]
        Indices into `points`, shape (n, min(count, m)).
    """
    queries, points = (np.ascontiguousarray(rows, dtype=np.float32) for rows in (queries, points))
    if len(queries) * len(points) <= _MOST_EXACT:
        return _search(queries, points, count)
    centres = _centroids(points, math.ceil(len(points) / _CELL_POINTS), seed=0, sample=_SAMPLE)
    cells = _groups(_search(points, centres, 1)[:, 0], len(centres))
    around = _search(centres, centres, _REACH)
    found = np.empty((len(queries), min(count, len(points))), dtype=np.int64)
    for cell, asking in enumerate(_groups(_search(queries, centres, 1)[:, 0], len(centres))):
        pool = np.concatenate([cells[near] for near in around[cell]])
        if len(pool) < count:
            pool = np.arange(len(points))
        if len(asking):
            found[asking] = pool[_search(queries[asking], points[pool], count)]
    return found


@dataclass(frozen=True, slots=True)
class Block:
    """Units that are near each other, as ascending rows of shape (n,), and the seeds among them, (m, dimension)."""

    rows: Indices
    seeds: Matrix


def seed_blocks(vectors: Matrix, count: int, rng: np.random.Generator) -> list[Block]:
    """Spread unit-length seeds over the vectors by spherical k-means, and give each unit the block of its nearest seed.

    Parameters
    ----------
    vectors
        Unit rows, shape (n, dimension).
    count
        Number of seeds, at most n.
    rng
        Source of the seeds of k-means.

    Returns
    -------
    list[Block]
        One block up to 2,048 units, else blocks of about 1,024, or of as many as 64 seeds have; more where vectors are
        equal, for these share a block.
        Each unit is in one, and each seed but those of a block where no unit has its nearest.
    """
    parts = _seeds(vectors, count, rng)
    if len(parts) == 1:
        return [Block(np.arange(len(vectors), dtype=np.int64), parts[0])]
    block_of = np.repeat(np.arange(len(parts)), [len(seeds) for seeds in parts])
    homes = block_of[nearest(vectors, np.concatenate(parts), 1)[:, 0]]
    pairs = zip(_groups(homes, len(parts)), parts, strict=True)
    return [Block(rows, seeds) for rows, seeds in pairs if len(rows)]


def seed_prototypes(vectors: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """The seeds of `seed_blocks` alone, shape (count, dimension); those of a block stand together."""
    return np.concatenate(_seeds(vectors, count, rng))


def _seeds(vectors: Matrix, count: int, rng: np.random.Generator) -> list[Matrix]:
    size = max(_BLOCK_UNITS, _BLOCK_SEEDS * math.ceil(len(vectors) / count))
    blocks = _blocks(vectors, np.arange(len(vectors)), size, rng)
    shares = np.diff(np.rint(np.cumsum([0, *map(len, blocks)]) * count / len(vectors)).astype(int))
    return [
        _centroids(vectors[block], int(share), seed=_draw(rng))
        for block, share in zip(blocks, shares, strict=True)
        if share
    ]


def _blocks(vectors: Matrix, rows: Indices, size: int, rng: np.random.Generator) -> list[Indices]:
    """Cut rows into blocks of about `size` near ones; equal vectors, which k-means cannot tell apart, anywhere."""
    if len(rows) <= 2 * size:
        return [rows]
    parts = math.ceil(len(rows) / size)
    centres = _centroids(vectors[rows], parts, seed=_draw(rng), sample=_SAMPLE)
    groups = [rows[group] for group in _groups(_search(vectors[rows], centres, 1)[:, 0], parts) if len(group)]
    if len(groups) == 1:
        return np.array_split(rows, parts)
    return [block for group in groups for block in _blocks(vectors, group, size, rng)]


def _draw(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _groups(labels: Indices, count: int) -> list[Indices]:
    """List the positions of each label from 0 to count - 1."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1])


def _search(queries: Matrix, points: Matrix, count: int) -> Indices:
    import faiss

    index = faiss.IndexFlatIP(points.shape[1])
    index.add(np.ascontiguousarray(points))
    _, found = index.search(np.ascontiguousarray(queries), min(count, len(points)))
    return np.asarray(found, dtype=np.int64)


def _centroids(vectors: Matrix, count: int, *, seed: int, sample: int | None = None) -> Matrix:
    import faiss

    kmeans = faiss.Kmeans(
        vectors.shape[1],
        count,
        niter=_ROUNDS,
        seed=seed,
        spherical=True,
        init_method=faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS,
        min_points_per_centroid=1,
        max_points_per_centroid=sample or len(vectors),
    )
    kmeans.train(np.ascontiguousarray(vectors))
    return np.asarray(kmeans.centroids, dtype=np.float32)
