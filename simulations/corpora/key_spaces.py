"""Key spaces that HKVM-RAG compares answer paths with: pairs, co-occurrence, and the heaviest edges alone."""

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.answer_paths import FEWEST_VERTICES, ConfidenceWeighting, KeyEdges
from fedrag_flwr.hypergraph.tuples import TupleTable, incidence
from simulations.corpora.page_rank import PageRank

Floats = NDArray[np.float64]

REPOSITORY_PAIRS = ConfidenceWeighting(factual=0.25, salience=0.55, bridge=0.2, boost=2.0)
"""What the paper's published code weighs pairwise edges with."""


class PairwiseKeys:
    """A tuple is an edge between its head and its tail, and PageRank from the seeds scores vertices (section IV-E).

    A passage gets the scores of its tuples' ends, each as often as it occurs.

    `weighting`: weighs edges by their tuples' confidences; None: all alike.
    """

    def __init__(self, table: TupleTable, weighting: ConfidenceWeighting | None = None) -> None:
        self.table = table
        self.id = "pairwise-pagerank" if weighting is None else f"weighted-pairwise-pagerank({weighting})"
        weights = table.confidence
        if weighting is not None:
            weights = weights * weighting.weights(table.factual, table.salience, table.bridge)
        ends = np.concatenate([table.heads, table.tails])
        others = np.concatenate([table.tails, table.heads])
        count = len(table.vertices)
        self._pagerank = PageRank(incidence(ends, others, np.tile(weights, 2), (count, count)))
        self._endpoints = table.endpoints()

    def scores(self, seeds: Floats) -> Floats:
        """Score the passages, shape (p,), from weights of seed vertices, shape (v,)."""
        return np.asarray(self._endpoints @ self._pagerank.scores(seeds), dtype=np.float64)


def co_occurrences(table: TupleTable) -> KeyEdges:
    """Gather the vertices of each passage into one hyperedge, if there are three or more (Co-occurrence-HG)."""
    vertices = table.endpoints().astype(bool).astype(np.float64)
    kept = np.flatnonzero(np.asarray(vertices.sum(axis=1)).reshape(-1) >= FEWEST_VERTICES)
    count = len(table.passages)
    own = incidence(np.arange(count), np.arange(count), np.ones(count), (count, count))
    return KeyEdges(table.passages, vertices, own, np.ones(count)).only(kept)


def pruned(edges: KeyEdges, share: float) -> KeyEdges:
    """Keep the heaviest share of the edges, in (0, 1]; of equal ones those whose name comes first (section VII-B).

    Raises SettingError: the share is out of range.
    """
    if not 0.0 < share <= 1.0:
        raise SettingError("the share of edges to keep lies outside (0, 1]", where="key space")
    order = sorted(range(len(edges.names)), key=lambda edge: (-edges.weights[edge], edges.names[edge]))
    return edges.only(np.sort(np.array(order[: round(share * len(order))], dtype=np.int64)))
