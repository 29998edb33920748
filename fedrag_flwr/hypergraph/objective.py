"""FD-RAG's hypergraph objective (eq. 5-8), soft, with its gradient, over few candidates a unit.

What is computed for one granularity, with memberships h as weights, `s_m = sum_n h_nm` and `d` the Euclidean norm:

- prototypes ``e_m = (sum_n h_nm x_n + t c_m) / (s_m + t)``: eq. 5 with a small pseudo-member of mass t at the seed c_m;
- intra ``1/M sum_m sum_n h_nm d(x_n - e_m) / (s_m + t)``: eq. 6 with memberships in place of member sets;
- inter: eq. 7's mean over the pairs of prototypes of which one seed is among the `NEAREST_PAIRS` nearest to the other,
  chosen once: over all pairs where there are no more than that;
- balance, ours: ``BALANCE/M sum_m (s_m / units_per_edge - 1)^2``. Eq. 6 averages over hyperedges, not units, so left
  alone it is smallest with most units in a few crowded hyperedges and the rest alone; this term holds their sizes.

The pseudo-member, a norm rounded near 0 and a hinge rounded near the margin give the objective the Lipschitz gradient
that FD-RAG's Proposition 1 assumes. The cosine in eq. 7 is differentiated too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.hypergraph.neighbours import nearest
from fedrag_flwr.hypergraph.rows import Floats, Indices, Vectors, row_products, weighted_sums

NEAREST_PAIRS = 32
ROUNDING = 0.01
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
    """Pair each prototype with those whose seeds, (m, dimension), are nearest to its own: all of few."""
    count = len(seeds)
    found = nearest(seeds, seeds, neighbours + 1)
    first = np.repeat(np.arange(count, dtype=np.int64), found.shape[1])
    second = found.reshape(-1)
    keys = np.unique((np.minimum(first, second) * count + np.maximum(first, second))[first != second])
    return Pairs(keys // count, keys % count, count)


def near_separation(prototypes: Vectors, margin: float, pairs: Pairs) -> tuple[float, Callable[[], Vectors]]:
    """Compute eq. 7 over some pairs, norm and hinge rounded, and give its gradient's function; both (m, dimension)."""
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


PSEUDO_MASS = 0.05
BALANCE = 0.2


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


class SoftObjective:
    """The soft objective of one granularity as a function of its entries' memberships (FD-RAG eq. 5-8).

    Parameters
    ----------
    vectors
        Unit embeddings, shape (n, dimension); inner products are taken in their precision.
    entries
        Where memberships may be non-zero.
    seeds
        Where each prototype starts, shape (edge_count, dimension).
    settings
        Weights and margin.
    pairs
        Prototype pairs of the inter term.
    """

    def __init__(
        self, vectors: Vectors, entries: Entries, seeds: Vectors, settings: LearningSettings, pairs: Pairs
    ) -> None:
        self._vectors = np.ascontiguousarray(vectors)
        self._entries = entries
        self._seeds = seeds.astype(vectors.dtype)
        self._settings = settings
        self._pairs = pairs
        self._order = np.argsort(entries.edges, kind="stable")
        self._square_norms = np.einsum("nd,nd->n", self._vectors, self._vectors).astype(np.float64)

    def evaluate(self, weights: Floats) -> tuple[float, Callable[[], Floats]]:
        """Compute the objective for memberships of shape (entries,), and give what computes its gradient there.

        The gradient has the shape of `weights`. A step that is not taken needs none, and costs half as much.
        """
        entries, settings, count = self._entries, self._settings, self._entries.edge_count
        if not count:
            return 0.0, lambda: np.zeros(0)
        units = np.bincount(entries.edges, weights, minlength=count)
        mass = units + PSEUDO_MASS
        prototypes = (self._sum_by_edge(weights) + PSEUDO_MASS * self._seeds) / self._column(mass)
        squares = np.einsum("md,md->m", prototypes, prototypes)
        distances = self._square_norms[entries.rows] + squares[entries.edges] - 2.0 * self._dot(prototypes)
        roots = np.sqrt(np.maximum(distances, 0.0) + ROUNDING**2)
        norms = roots - ROUNDING
        compactness = np.bincount(entries.edges, weights * norms, minlength=count) / mass
        intra, inter_weight = float(compactness.sum()) / count, 1.0 - settings.intra_weight
        inter, inter_gradient = near_separation(prototypes, settings.margin, self._pairs)
        crowding = units / settings.units_per_edge - 1.0
        value = settings.intra_weight * intra + inter_weight * inter + BALANCE * float(crowding @ crowding) / count

        def gradient() -> Floats:
            pull: Floats = weights / roots
            slope = self._column(np.bincount(entries.edges, pull, minlength=count)) * prototypes
            slope -= self._sum_by_edge(pull)
            slope *= self._column(settings.intra_weight / count / mass)
            slope += inter_weight * inter_gradient()
            through = self._dot(slope) - np.einsum("md,md->m", prototypes, slope)[entries.edges]
            direct = settings.intra_weight / count * (norms - compactness[entries.edges])
            even = 2.0 * BALANCE / count / settings.units_per_edge * crowding
            result: Floats = (direct + through) / mass[entries.edges] + even[entries.edges]
            return result

        return value, gradient

    def _column(self, values: NDArray[np.number]) -> Vectors:
        return values.astype(self._vectors.dtype)[:, None]

    def _sum_by_edge(self, weights: Floats) -> Vectors:
        used = self._order[weights[self._order] != 0.0]  # after the first steps most memberships are 0
        rows, edges = self._entries.rows[used], self._entries.edges[used]
        return weighted_sums(weights[used], rows, edges, self._entries.edge_count, self._vectors)

    def _dot(self, prototypes: Vectors) -> Floats:
        return row_products(self._vectors, prototypes, self._entries.rows, self._entries.edges)
