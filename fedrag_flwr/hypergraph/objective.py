"""FD-RAG's hypergraph objective (eq. 5-8): soft, with its gradient, over few candidates a unit; and hard, as written.

What is computed for one granularity, with memberships h as weights, `s_m = sum_n h_nm` and `d` the Euclidean norm:

- prototypes ``e_m = (sum_n h_nm x_n + t c_m) / (s_m + t)``: eq. 5 with a small pseudo-member of mass t at the seed c_m;
- intra ``1/M sum_m sum_n h_nm d(x_n - e_m) / (s_m + t)``: eq. 6 with memberships in place of member sets;
- inter: eq. 7's mean over all M^2 ordered pairs of prototypes while M is at most `ALL_PAIRS`; beyond, the mean over
  the pairs (i, j) where j is one of the `NEAREST_PAIRS` seeds nearest to seed i, chosen once;
- balance, ours: ``BALANCE/M sum_m (s_m / units_per_edge - 1)^2``. Eq. 6 averages over hyperedges, not units, so left
  alone it is smallest with most units in a few crowded hyperedges and the rest alone; this term holds their sizes.

The pseudo-member, a norm rounded near 0 and a hinge rounded near the margin give the objective the Lipschitz gradient
that FD-RAG's Proposition 1 assumes; `hard_objective` has none of these. The cosine in eq. 7 is differentiated too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.hypergraph.neighbours import nearest

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ALL_PAIRS = 256
NEAREST_PAIRS = 32
PSEUDO_MASS = 0.05
BALANCE = 0.2
ROUNDING = 0.01
_CHUNK = 4_096
_BLOCK = 128
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Entries:
    """Where memberships may be non-zero: entry i says that unit `rows[i]` may belong to hyperedge `edges[i]`.

    Both are of shape (entries,); `edge_count` is the number of candidate hyperedges.
    """

    rows: Indices
    edges: Indices
    edge_count: int

    @classmethod
    def of_candidates(cls, candidates: Indices, edge_count: int) -> Entries:
        """Lay out an (n, k) array of candidate hyperedges row by row."""
        rows = np.repeat(np.arange(len(candidates), dtype=np.int64), candidates.shape[1])
        return cls(rows, candidates.reshape(-1), edge_count)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Ordered pairs of prototypes, both of shape (pairs,)."""

    first: Indices
    second: Indices


def choose_pairs(seeds: Floats, all_pairs: int = ALL_PAIRS, neighbours: int = NEAREST_PAIRS) -> Pairs | None:
    """Choose the prototype pairs of the inter term: None means all.

    Parameters
    ----------
    seeds
        Prototypes of shape (m, dimension).
    all_pairs
        Most prototypes for which all pairs are taken.
    neighbours
        Nearest prototypes that each is paired with beyond that.
    """
    if len(seeds) <= all_pairs:
        return None
    found = nearest(seeds, seeds, neighbours + 1)
    first = np.repeat(np.arange(len(seeds), dtype=np.int64), found.shape[1])
    second = found.reshape(-1)
    return Pairs(first[first != second], second[first != second])


class SoftObjective:
    """The soft objective of one granularity as a function of its entries' memberships (FD-RAG eq. 5-8).

    Parameters
    ----------
    vectors
        Unit embeddings, shape (n, dimension).
    entries
        Where memberships may be non-zero.
    seeds
        Where each prototype starts, shape (edge_count, dimension).
    settings
        Weights and margin.
    pairs
        Prototype pairs of the inter term, None for all.
    """

    def __init__(
        self, vectors: Floats, entries: Entries, seeds: Floats, settings: LearningSettings, pairs: Pairs | None
    ) -> None:
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float64)
        self._entries = entries
        self._seeds = np.ascontiguousarray(seeds, dtype=np.float64)
        self._settings = settings
        self._pairs = pairs
        self._order = np.argsort(entries.edges, kind="stable")
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(entries.edges, minlength=entries.edge_count))])
        self._square_norms = np.einsum("nd,nd->n", self._vectors, self._vectors)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """Compute the objective for memberships of shape (entries,) and its gradient, of the same shape."""
        entries, settings, count = self._entries, self._settings, self._entries.edge_count
        if not count:
            return 0.0, np.zeros(0)
        units = np.bincount(entries.edges, weights, minlength=count)
        mass = units + PSEUDO_MASS
        prototypes = (self._sum_by_edge(weights) + PSEUDO_MASS * self._seeds) / mass[:, None]
        products = self._dot(prototypes)
        squares = np.einsum("md,md->m", prototypes, prototypes)
        distances = self._square_norms[entries.rows] + squares[entries.edges] - 2.0 * products
        roots = np.sqrt(np.maximum(distances, 0.0) + ROUNDING**2)
        norms = roots - ROUNDING
        compactness = np.bincount(entries.edges, weights * norms, minlength=count) / mass
        intra, inter_weight = float(compactness.sum()) / count, 1.0 - settings.intra_weight
        inter, inter_slope = inter_term(prototypes, settings.margin, self._pairs)
        crowding = units / settings.units_per_edge - 1.0
        value = settings.intra_weight * intra + inter_weight * inter + BALANCE * float(crowding @ crowding) / count
        pull = weights / roots
        moved = np.bincount(entries.edges, pull, minlength=count)[:, None] * prototypes - self._sum_by_edge(pull)
        slope = settings.intra_weight / count * moved / mass[:, None] + inter_weight * inter_slope
        through = self._dot(slope) - np.einsum("md,md->m", prototypes, slope)[entries.edges]
        direct = settings.intra_weight / count * (norms - compactness[entries.edges])
        even = 2.0 * BALANCE / count / settings.units_per_edge * crowding
        return value, (direct + through) / mass[entries.edges] + even[entries.edges]

    def _sum_by_edge(self, weights: Floats) -> Floats:
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

        shape = (self._entries.edge_count, len(self._vectors))
        incidence = csr_matrix((weights[self._order], self._entries.rows[self._order], self._bounds), shape=shape)
        return np.asarray(incidence @ self._vectors, dtype=np.float64)

    def _dot(self, prototypes: Floats) -> Floats:
        return row_products(self._vectors, prototypes, self._entries.rows, self._entries.edges)


def row_products(left: Floats, right: Floats, first: Indices, second: Indices) -> Floats:
    """Compute ``left[first[i]] . right[second[i]]`` for each i, a chunk at a time."""
    products = np.empty(len(first))
    for start in range(0, len(first), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        products[chunk] = np.einsum("ed,ed->e", left[first[chunk]], right[second[chunk]])
    return products


def inter_term(
    prototypes: Floats, margin: float, pairs: Pairs | None, *, gradient: bool = True, rounding: float = ROUNDING
) -> tuple[float, Floats]:
    """Compute eq. 7 over the pairs, and its gradient in the prototypes.

    Parameters
    ----------
    prototypes
        Shape (m, dimension).
    margin
        gamma.
    pairs
        Which pairs, None for all; the mean over them is taken.
    gradient
        Whether the gradient is wanted; without it an empty array comes back.
    rounding
        Width over which the norm and the hinge are rounded; 0 computes eq. 7 as written.
    """
    count = len(prototypes)
    total = float(count * count if pairs is None else len(pairs.first))
    slope = np.zeros(prototypes.shape if gradient else 0)
    if not total:
        return 0.0, slope
    squares = np.einsum("md,md->m", prototypes, prototypes)
    lengths = np.maximum(np.sqrt(squares), _TINY)
    value = 0.0
    for first, second, products in _pair_products(prototypes, pairs):
        length_product = lengths[first] * lengths[second]
        cosines = products / length_product
        roots = np.sqrt(np.maximum(squares[first] + squares[second] - 2.0 * products, 0.0) + rounding**2)
        norms = roots - rounding
        hinge, active = _rounded_hinge(margin - norms, rounding)
        value += float((cosines * norms + (1.0 - cosines) * hinge).sum())
        if not gradient:
            continue
        by_distance = (cosines - (1.0 - cosines) * active) / np.maximum(roots, _TINY)
        by_cosine = norms - hinge
        across = by_cosine / length_product - by_distance
        own = by_distance - by_cosine * cosines / squares_floor(squares[first])
        if pairs is None:
            block = first[:, 0]
            slope[block] += 2.0 * (across @ prototypes + own.sum(axis=1)[:, None] * prototypes[block])
        else:
            others = by_distance - by_cosine * cosines / squares_floor(squares[second])
            slope += _scatter(prototypes, pairs, across, own, others)
    return value / total, slope / total


def squares_floor(squares: Floats) -> Floats:
    """Keep squared lengths away from 0, where the cosine has no gradient."""
    return np.maximum(squares, _TINY**2)


def _pair_products(prototypes: Floats, pairs: Pairs | None) -> Iterator[tuple[Indices, Indices, Floats]]:
    if pairs is not None:
        yield pairs.first, pairs.second, row_products(prototypes, prototypes, pairs.first, pairs.second)
        return
    everyone = np.arange(len(prototypes), dtype=np.int64)
    for start in range(0, len(prototypes), _BLOCK):
        block = everyone[start : start + _BLOCK]
        yield block[:, None], everyone[None, :], prototypes[block] @ prototypes.T


def _rounded_hinge(gap: Floats, rounding: float) -> tuple[Floats, Floats]:
    """Compute max(gap, 0) with its corner rounded over a width, and its derivative."""
    if not rounding:
        return np.maximum(gap, 0.0), (gap > 0.0).astype(np.float64)
    active = np.clip(gap / rounding, 0.0, 1.0)
    return np.maximum(gap - rounding / 2.0, 0.0) * (active == 1.0) + (active < 1.0) * active * gap / 2.0, active


def _scatter(prototypes: Floats, pairs: Pairs, across: Floats, own: Floats, others: Floats) -> Floats:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

    count = len(prototypes)
    links = csr_matrix((across, (pairs.first, pairs.second)), shape=(count, count))
    stay = np.bincount(pairs.first, own, minlength=count) + np.bincount(pairs.second, others, minlength=count)
    return np.asarray((links + links.T) @ prototypes + stay[:, None] * prototypes, dtype=np.float64)


def hard_objective(
    vectors: Floats, weights: Floats, entries: Entries, settings: LearningSettings, edge_count: int | None = None
) -> float:
    """Compute eq. 5-8 as written on one granularity's sparsified incidence.

    Empty hyperedges have neither members nor a prototype: they count in eq. 6's 1/M and are left out of eq. 7.

    Parameters
    ----------
    vectors
        Unit embeddings, shape (n, dimension).
    weights
        Memberships that were kept, shape (entries,), all positive.
    entries
        Whose they are.
    settings
        Weights and margin.
    edge_count
        M of eq. 6; default `entries.edge_count`.
    """
    total = entries.edge_count if edge_count is None else edge_count
    if not len(weights) or not total:
        return 0.0
    used, edges = np.unique(entries.edges, return_inverse=True)
    mass = np.bincount(edges, weights)
    prototypes = np.zeros((len(used), vectors.shape[1]))
    np.add.at(prototypes, edges, weights[:, None] * vectors[entries.rows])
    prototypes /= mass[:, None]
    norms = np.linalg.norm(vectors[entries.rows] - prototypes[edges], axis=1)
    intra = float((np.bincount(edges, norms) / np.bincount(edges)).sum()) / total
    inter, _ = inter_term(prototypes, settings.margin, None, gradient=False, rounding=0.0)
    return settings.intra_weight * intra + (1.0 - settings.intra_weight) * inter
