"""Numerics over sparse rows: projection onto the simplex, products, sums by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def project_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project every row on the probability simplex.

    Sorts each row and finds the threshold that its positive part is shifted by: O(n k log k) for n rows of k entries.

    Parameters
    ----------
    values
        Finite numbers of shape (n, k).

    Returns
    -------
    NDArray[np.float64]
        Shape (n, k); rows are non-negative and sum to 1.
    """
    if not values.size:
        return np.zeros(values.shape)
    values = values - values.max(axis=1, keepdims=True)  # the projection is invariant to shifts; this keeps it exact
    descending = -np.sort(-values, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    ranks = np.arange(1, values.shape[1] + 1)
    support = (descending * ranks > excess).sum(axis=1)
    shift = excess[np.arange(len(values)), support - 1] / support
    projected: NDArray[np.float64] = np.maximum(values - shift[:, None], 0.0)
    projected /= projected.sum(axis=1, keepdims=True)
    return projected


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Vectors = NDArray[np.floating]  # products are taken in the vectors' own precision, sums of them in double

_CHUNK = 512  # gathered rows that stay in a core's cache


def row_products(left: Vectors, right: Vectors, first: Indices, second: Indices) -> Floats:
    """Compute ``left[first[i]] . right[second[i]]`` for each i, a chunk at a time.

    As long as `first` counts rows up from 0 in runs of one length, as candidates are laid out, it takes half the time.
    """
    products = np.empty(len(first))
    width = max(1, int(np.searchsorted(first, 1)))
    laid_out = np.append(first == np.arange(len(first)) // width, False)
    done = int(laid_out.argmin()) // width * width
    step = max(1, _CHUNK // 2 // width) * width
    for start in range(0, done, step):
        stop = min(start + step, done)
        rows, chosen = left[start // width : stop // width], second[start:stop].reshape(-1, width)
        products[start:stop] = np.matmul(right[chosen], rows[:, :, None]).reshape(-1)
    for start in range(done, len(first), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        products[chunk] = np.einsum("ed,ed->e", left[first[chunk]], right[second[chunk]])
    return products


def weighted_sums(weights: Floats, rows: Indices, groups: Indices, count: int, vectors: Vectors) -> Vectors:
    """Sum ``weights[i] * vectors[rows[i]]`` over each group: shape (count, dimension) for ascending `groups`."""
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

    bounds = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
    summing = csr_matrix((weights.astype(vectors.dtype), rows, bounds), shape=(count, len(vectors)))
    return np.asarray(summing @ vectors)


def cosine(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Cosine of two vectors; 0 where one has no direction."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0
