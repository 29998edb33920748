"""Seeds of hyperedges by k-means, and the nearest of them for each unit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK_UNITS = 8_192
_ROUNDS = 12


def nearest(queries: NDArray[np.floating], points: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """Find the points of largest inner product for each query, best first.

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
    import faiss

    index = faiss.IndexFlatIP(points.shape[1])
    index.add(np.ascontiguousarray(points, dtype=np.float32))
    _, found = index.search(np.ascontiguousarray(queries, dtype=np.float32), min(count, len(points)))
    return np.asarray(found, dtype=np.int64)


def seed_prototypes(vectors: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Spread unit-length seeds over the vectors by spherical k-means.

    Beyond 8,192 units they are first cut into blocks of about that size, each with its share of the seeds, so that
    seeding takes time proportional to the number of units.

    Parameters
    ----------
    vectors
        Unit rows, shape (n, dimension).
    count
        Number of seeds, at most n.
    rng
        Source of the seed of k-means.

    Returns
    -------
    NDArray[np.float64]
        Shape (count, dimension).
    """
    if len(vectors) <= _BLOCK_UNITS:
        return _centroids(vectors, count, rng)
    blocks = -(-len(vectors) // _BLOCK_UNITS)
    belongs = nearest(vectors, _centroids(vectors, blocks, rng), 1)[:, 0]
    sizes = np.bincount(belongs, minlength=blocks)
    shares = np.diff(np.rint(np.concatenate([[0], np.cumsum(sizes)]) * count / len(vectors)).astype(int))
    parts = [_centroids(vectors[belongs == block], int(share), rng) for block, share in enumerate(shares) if share]
    return np.concatenate(parts)


def _centroids(vectors: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    import faiss

    kmeans = faiss.Kmeans(
        vectors.shape[1],
        count,
        niter=_ROUNDS,
        seed=int(rng.integers(2**31 - 1)),
        spherical=True,
        init_method=faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS,
        min_points_per_centroid=1,
        max_points_per_centroid=len(vectors),
    )
    kmeans.train(np.ascontiguousarray(vectors, dtype=np.float32))
    return np.asarray(kmeans.centroids, dtype=np.float64)
