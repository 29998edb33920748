"""Key spaces: from a question's seed vertices to scores of passages (HKVM-RAG)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.answer_paths import ConfidenceWeighting
from fedrag_flwr.hypergraph.pagerank import PageRank, PageRankSettings
from fedrag_flwr.hypergraph.tuples import TupleTable, incidence

Floats = NDArray[np.float64]


class KeySpace(Protocol):
    """Keys over the tuples of a corpus; its passages are the values."""

    @property
    def id(self) -> str:
        """Name and settings."""
        ...

    @property
    def table(self) -> TupleTable:
        """The tuples that the keys were made of."""
        ...

    def scores(self, seeds: Floats) -> Floats:
        """Score the passages, shape (p,), from weights of seed vertices, shape (v,)."""
        ...


class PairwiseKeys:
    """A tuple is an edge between its head and its tail, and PageRank from the seeds scores vertices (section IV-E).

    A passage gets the scores of its tuples' ends, each as often as it occurs.

    Parameters
    ----------
    table
        The tuples.
    weighting
        Weighs edges by their tuples' confidences; None: all alike.
    settings
        PageRank's.
    """

    def __init__(
        self,
        table: TupleTable,
        weighting: ConfidenceWeighting | None = None,
        settings: PageRankSettings | None = None,
    ) -> None:
        self.table = table
        self.id = "pairwise-pagerank" if weighting is None else f"weighted-pairwise-pagerank({weighting})"
        weights = table.confidence
        if weighting is not None:
            weights = weights * weighting.weights(table.factual, table.salience, table.bridge)
        ends = np.concatenate([table.heads, table.tails])
        others = np.concatenate([table.tails, table.heads])
        count = len(table.vertices)
        self._pagerank = PageRank(incidence(ends, others, np.tile(weights, 2), (count, count)), settings)
        self._endpoints = table.endpoints()

    def scores(self, seeds: Floats) -> Floats:
        """Score the passages, shape (p,), from weights of seed vertices, shape (v,)."""
        return np.asarray(self._endpoints @ self._pagerank.scores(seeds), dtype=np.float64)
