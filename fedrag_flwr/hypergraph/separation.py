"""The inter-hyperedge term (FD-RAG eq. 7): over near pairs with a gradient, and as written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.hypergraph.neighbours import nearest
from fedrag_flwr.hypergraph.products import Floats, Indices, Vectors, row_products

NEAREST_PAIRS = 32
ROUNDING = 0.01
_MOST_ROWS = 1_024
_BLOCK = 128
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of different prototypes, each once: `first` and `second` of shape (pairs,), among `count` prototypes."""

    first: Indices
    second: Indices
    count: int

    @property
    def total(self) -> int:
        """Ordered pairs that the mean is over: each pair both ways and, as in eq. 7, each prototype with itself."""
        return 2 * len(self.first) + self.count


def choose_pairs(seeds: Vectors, neighbours: int = NEAREST_PAIRS) -> Pairs:
    """Pair each prototype with those whose seeds are nearest to its own: with all, where there are no more than that.

    Parameters
    ----------
    seeds
        Prototypes of shape (m, dimension).
    neighbours
        Nearest prototypes that each is paired with.
    """
    count = len(seeds)
    found = nearest(seeds, seeds, neighbours + 1)
    first = np.repeat(np.arange(count, dtype=np.int64), found.shape[1])
    second = found.reshape(-1)
    keys = np.unique((np.minimum(first, second) * count + np.maximum(first, second))[first != second])
    return Pairs(keys // count, keys % count, count)


def near_separation(prototypes: Vectors, margin: float, pairs: Pairs) -> tuple[float, Callable[[], Vectors]]:
    """Compute eq. 7 over some pairs with norm and hinge rounded, and give what computes its gradient.

    Parameters
    ----------
    prototypes
        Shape (m, dimension); the gradient has the same shape.
    margin
        gamma.
    pairs
        Which pairs.
    """
    first, second = pairs.first, pairs.second
    squares = np.einsum("md,md->m", prototypes, prototypes).astype(np.float64)
    lengths = np.maximum(np.sqrt(squares), _TINY)
    products = row_products(prototypes, prototypes, first, second)
    length_product = lengths[first] * lengths[second]
    cosines = products / length_product
    roots = np.sqrt(np.maximum(squares[first] + squares[second] - 2.0 * products, 0.0) + ROUNDING**2)
    norms = roots - ROUNDING
    hinge, active = _rounded_hinge(margin - norms)
    scale = 2.0 / max(pairs.total, 1)

    def gradient() -> Vectors:
        by_distance = scale * (cosines - (1.0 - cosines) * active) / roots
        by_cosine = scale * (norms - hinge)
        turn = by_cosine * cosines
        own = by_distance - turn / np.maximum(squares[first], _TINY**2)
        others = by_distance - turn / np.maximum(squares[second], _TINY**2)
        return _scatter(prototypes, pairs, by_cosine / length_product - by_distance, own, others)

    return scale * float((cosines * norms + (1.0 - cosines) * hinge).sum()), gradient


def _scatter(prototypes: Vectors, pairs: Pairs, across: Floats, own: Floats, others: Floats) -> Vectors:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

    count, kind = pairs.count, prototypes.dtype
    links = csr_matrix((across.astype(kind), (pairs.first, pairs.second)), shape=(count, count))
    stay = np.bincount(pairs.first, own, minlength=count) + np.bincount(pairs.second, others, minlength=count)
    slope = np.asarray(links @ prototypes)
    slope += links.T @ prototypes
    slope += stay.astype(kind)[:, None] * prototypes
    return slope


def _rounded_hinge(gap: Floats) -> tuple[Floats, Floats]:
    """Compute max(gap, 0) with its corner rounded, and its derivative."""
    active = np.clip(gap / ROUNDING, 0.0, 1.0)
    return np.maximum(gap - ROUNDING / 2.0, 0.0) * (active == 1.0) + (active < 1.0) * active * gap / 2.0, active


def separation(prototypes: Vectors, margin: float, most_rows: int = _MOST_ROWS) -> float:
    """Compute eq. 7 as written.

    Of more than `most_rows` prototypes that many, evenly spaced, stand for all as the first of each pair; the second is
    every prototype. So it takes time proportional to their number.

    Parameters
    ----------
    prototypes
        Shape (m, dimension).
    margin
        gamma.
    most_rows
        Most prototypes for which the mean is exact.
    """
    if not len(prototypes):
        return 0.0
    exact = prototypes.astype(np.float64)
    squares = np.einsum("md,md->m", exact, exact)
    lengths = np.maximum(np.sqrt(squares), _TINY)
    chosen = np.unique(np.linspace(0, len(exact) - 1, min(len(exact), most_rows)).round().astype(np.int64))
    value = 0.0
    for start in range(0, len(chosen), _BLOCK):
        rows = chosen[start : start + _BLOCK]
        products = exact[rows] @ exact.T
        norms = np.sqrt(np.maximum(squares[rows, None] + squares[None, :] - 2.0 * products, 0.0))
        cosines = products / (lengths[rows, None] * lengths[None, :])
        value += float((cosines * norms + (1.0 - cosines) * np.maximum(margin - norms, 0.0)).sum())
    return value / len(chosen) / len(exact)
