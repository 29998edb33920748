"""Personalised PageRank over a graph (HKVM-RAG), and over that of vertices and passages (HippoRAG 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.neighbours import nearest
from fedrag_flwr.hypergraph.rows import row_products
from fedrag_flwr.hypergraph.tuples import TupleTable, incidence

if TYPE_CHECKING:
    from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PageRankSettings:
    """When a walk restarts and when the iteration stops (HKVM-RAG section IV-E).

    Parameters
    ----------
    restart_probability
        In (0, 1].
    iterations
        At most so many.
    tolerance
        Stop when an iteration moves less mass than this (L1).
    """

    restart_probability: float = 0.5
    iterations: int = 40
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        if not 0.0 < self.restart_probability <= 1.0 or self.iterations < 1 or self.tolerance < 0.0:
            raise SettingError("PageRank settings are out of range", where="key space")


class PageRank:
    """Personalised PageRank over one graph; what its columns hold is normalised once.

    Parameters
    ----------
    adjacency
        Sparse weights from 0, shape (v, v): entry (i, j) is the weight of the step from j to i. A vertex without any
        step loses its mass.
    settings
        Restart and stopping.
    """

    def __init__(self, adjacency: csr_array, settings: PageRankSettings | None = None) -> None:
        from scipy.sparse import diags_array

        totals = np.asarray(adjacency.sum(axis=0), dtype=np.float64).reshape(-1)
        inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0.0)
        self._transition = (adjacency @ diags_array(inverse)).tocsr()
        self._settings = settings or PageRankSettings()

    def scores(self, seeds: Floats) -> Floats:
        """Mass of each vertex when walks restart at seeds in proportion to their weights.

        Parameters
        ----------
        seeds
            Weights from 0, shape (v,); all zero gives zeros.
        """
        total = float(seeds.sum())
        if total <= 0.0:
            return np.zeros_like(seeds, dtype=np.float64)
        start = seeds / total
        restart, mass = self._settings.restart_probability * start, start
        for _ in range(self._settings.iterations):
            moved = restart + (1.0 - self._settings.restart_probability) * (self._transition @ mass)
            change = float(np.abs(moved - mass).sum())
            mass = moved
            if change < self._settings.tolerance:
                break
        return np.asarray(mass, dtype=np.float64)


_SHORTEST_SYNONYM = 3  # letters and digits


@dataclass(frozen=True, slots=True)
class PassageGraphSettings:
    """How the edges of the graph weigh.

    The defaults are HippoRAG 2's, but for `synonyms`: its code enters a relation and a pair of synonyms in both
    directions and a membership in one, and then reads its graph as undirected, so that a membership weighs half.

    Parameters
    ----------
    membership_weight
        Of the edge between a passage and each vertex of its tuples; a relation weighs its tuples' confidences, a pair
        of synonyms its cosine.
    synonym_cosine
        Vertices whose names come at least this near are synonyms.
    synonyms
        Most synonyms that one vertex looks for; 2,047 in HippoRAG 2.
    pagerank
        Restart and stopping.
    """

    membership_weight: float = 0.5
    synonym_cosine: float = 0.8
    synonyms: int = 32
    pagerank: PageRankSettings = field(default_factory=PageRankSettings)

    def __post_init__(self) -> None:
        if self.membership_weight < 0.0 or not -1.0 <= self.synonym_cosine <= 1.0 or self.synonyms < 0:
            raise SettingError("graph settings are out of range", where="passage graph")


class PassageGraph:
    """PageRank over vertices and passages, joined by relations, synonymy and membership.

    Parameters
    ----------
    table
        The tuples.
    vectors
        Of the vertices' names, (v, dimension) with unit rows.
    settings
        Weights of edges.
    """

    def __init__(
        self, table: TupleTable, vectors: NDArray[np.float32], settings: PassageGraphSettings | None = None
    ) -> None:
        self.table = table
        self.settings = settings or PassageGraphSettings()
        self.members: csr_array = table.endpoints().astype(bool).astype(np.float64)
        self._count = len(table.vertices)
        self._pagerank = PageRank(self._adjacency(vectors), self.settings.pagerank)

    def scores(self, vertex_seeds: Floats, passage_seeds: Floats) -> Floats:
        """Mass of each passage, shape (p,), when walks restart at vertices, shape (v,), and passages, shape (p,)."""
        mass = self._pagerank.scores(np.concatenate([vertex_seeds, passage_seeds]))
        return mass[self._count :]

    def _adjacency(self, vectors: NDArray[np.float32]) -> csr_array:
        held = self.members.tocoo()
        first, second, cosines = synonyms(self.table.vertices, vectors, self.settings)
        apart = self.table.heads != self.table.tails
        size = self._count + len(self.table.passages)
        one_way = incidence(
            np.concatenate([self.table.heads[apart], held.coords[1], first]),
            np.concatenate([self.table.tails[apart], held.coords[0] + self._count, second]),
            np.concatenate([self.table.confidence[apart], np.full(held.nnz, self.settings.membership_weight), cosines]),
            (size, size),
        )
        return (one_way + one_way.T).tocsr()


def synonyms(
    names: tuple[str, ...], vectors: NDArray[np.float32], settings: PassageGraphSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Pairs of vertices whose names mean the same, each once: two rows and their cosine."""
    spelt = np.array([sum(char.isalnum() for char in name) >= _SHORTEST_SYNONYM for name in names], dtype=bool)
    rows = np.flatnonzero(spelt)
    if not len(rows) or not settings.synonyms:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    chosen = vectors[rows]
    found = nearest(chosen, chosen, settings.synonyms + 1)  # a vertex is among its own nearest
    pairs = np.stack([np.repeat(np.arange(len(rows)), found.shape[1]), found.reshape(-1)], axis=1)
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    cosines = row_products(chosen, chosen, pairs[:, 0], pairs[:, 1])
    near = cosines >= settings.synonym_cosine
    return rows[pairs[near, 0]], rows[pairs[near, 1]], cosines[near]
