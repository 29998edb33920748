"""Personalised PageRank over a graph (HKVM-RAG), and over that of vertices and passages (HippoRAG 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.neighbours import nearest
from fedrag_flwr.hypergraph.rows import row_products
from fedrag_flwr.hypergraph.tuples import TupleTable, incidence

if TYPE_CHECKING:
    from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]


Floats = NDArray[np.float64]


RESTART = 0.5  # probability that a walk restarts (HKVM-RAG section IV-E)
ITERATIONS = 40  # at most
TOLERANCE = 1e-7  # an iteration that moves less mass than this (L1) is the last

# HippoRAG 2's weights of edges, but for SYNONYMS, of which it looks for 2,047: its code enters a relation and a pair of
# synonyms in both directions and a membership in one, and then reads its graph as undirected, so that a membership
# weighs half; a relation weighs its tuples' confidences, a pair of synonyms its cosine
MEMBERSHIP_WEIGHT = 0.5  # of the edge between a passage and each vertex of its tuples
SYNONYM_COSINE = 0.8  # vertices whose names come at least this near are synonyms
SYNONYMS = 32  # most that one vertex looks for
_SHORTEST_SYNONYM = 3  # letters and digits


class PageRank:
    """Personalised PageRank over one graph; what its columns hold is normalised once.

    `adjacency`: sparse weights from 0, shape (v, v): entry (i, j) is the weight of the step from j to i. A vertex
    without any step loses its mass.
    """

    def __init__(self, adjacency: csr_array) -> None:
        from scipy.sparse import diags_array

        totals = np.asarray(adjacency.sum(axis=0), dtype=np.float64).reshape(-1)
        inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0.0)
        self._transition = (adjacency @ diags_array(inverse)).tocsr()

    def scores(self, seeds: Floats) -> Floats:
        """Mass of each vertex when walks restart in proportion to weights from 0, shape (v,); all zero gives zeros."""
        total = float(seeds.sum())
        if total <= 0.0:
            return np.zeros_like(seeds, dtype=np.float64)
        start = seeds / total
        restart, mass = RESTART * start, start
        for _ in range(ITERATIONS):
            moved = restart + (1.0 - RESTART) * (self._transition @ mass)
            change = float(np.abs(moved - mass).sum())
            mass = moved
            if change < TOLERANCE:
                break
        return np.asarray(mass, dtype=np.float64)


class PassageGraph:
    """PageRank over vertices and passages, joined by relations, synonymy and membership.

    `vectors`: of the vertices' names, (v, dimension) with unit rows.
    """

    def __init__(self, table: TupleTable, vectors: NDArray[np.float32]) -> None:
        self.table = table
        self.members: csr_array = table.endpoints().astype(bool).astype(np.float64)
        self._count = len(table.vertices)
        self._pagerank = PageRank(self._adjacency(vectors))

    def scores(self, vertex_seeds: Floats, passage_seeds: Floats) -> Floats:
        """Mass of each passage, shape (p,), when walks restart at vertices, shape (v,), and passages, shape (p,)."""
        mass = self._pagerank.scores(np.concatenate([vertex_seeds, passage_seeds]))
        return mass[self._count :]

    def _adjacency(self, vectors: NDArray[np.float32]) -> csr_array:
        held = self.members.tocoo()
        first, second, cosines = synonyms(self.table.vertices, vectors)
        apart = self.table.heads != self.table.tails
        size = self._count + len(self.table.passages)
        one_way = incidence(
            np.concatenate([self.table.heads[apart], held.coords[1], first]),
            np.concatenate([self.table.tails[apart], held.coords[0] + self._count, second]),
            np.concatenate([self.table.confidence[apart], np.full(held.nnz, MEMBERSHIP_WEIGHT), cosines]),
            (size, size),
        )
        return (one_way + one_way.T).tocsr()


def synonyms(
    names: tuple[str, ...], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Pairs of vertices whose names mean the same, each once: two rows and their cosine."""
    spelt = np.array([sum(char.isalnum() for char in name) >= _SHORTEST_SYNONYM for name in names], dtype=bool)
    rows = np.flatnonzero(spelt)
    if not len(rows):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    chosen = vectors[rows]
    found = nearest(chosen, chosen, SYNONYMS + 1)  # a vertex is among its own nearest
    pairs = np.stack([np.repeat(np.arange(len(rows)), found.shape[1]), found.reshape(-1)], axis=1)
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    cosines = row_products(chosen, chosen, pairs[:, 0], pairs[:, 1])
    near = cosines >= SYNONYM_COSINE
    return rows[pairs[near, 0]], rows[pairs[near, 1]], cosines[near]
