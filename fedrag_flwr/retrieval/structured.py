"""Retrieval over evidence tuples: a question seeds a key space, and the key space scores passages."""

from __future__ import annotations

import numpy as np

from fedrag_flwr.hypergraph import KeySpace, VertexSeeds
from fedrag_flwr.retrieval.base import Ranking, Retriever, ranked


class KeySpaceRetriever:
    """Ranks passages by a key space (HKVM-RAG); a passage without any score is not ranked.

    Parameters
    ----------
    space
        The keys, over the passages.
    seeds
        Finds the vertices that a question mentions, among the space's.
    otherwise
        Ranks where a question mentions none.
    """

    def __init__(self, space: KeySpace, seeds: VertexSeeds, otherwise: Retriever) -> None:
        self.id = f"{space.id} else {otherwise.id}"
        self._space = space
        self._seeds = seeds
        self._otherwise = otherwise

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        seeds = self._seeds.seeds(question)
        if not np.any(seeds):
            return self._otherwise.rank(question, k)
        return ranked(self._space.table.passages, self._space.scores(seeds), k, above=0.0)
