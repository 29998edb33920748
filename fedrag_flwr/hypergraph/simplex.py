"""Euclidean projection of rows on the probability simplex (FD-RAG eq. 4 and 19)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError


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

    Raises
    ------
    SettingError
        If `values` is not a matrix of finite numbers, or its rows have no entry.
    """
    if values.ndim != 2 or (values.size and not np.isfinite(values).all()):
        raise SettingError("rows to project must be a matrix of finite numbers", where="hypergraph.simplex")
    if len(values) and not values.shape[1]:
        raise SettingError("every row to project needs an entry", where="hypergraph.simplex")
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
