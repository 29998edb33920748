"""Why a passage was chosen: the answer path that leads from a question to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.diffusion import HyperedgeKeys
from fedrag_flwr.hypergraph.seeding import VertexSeeds
from fedrag_flwr.records import ChosenPath, EvidenceTuple, PathStep


class PathExplainer:
    """Finds the answer-path hyperedge that gives a passage most of its score, and the tuples that make the path.

    Parameters
    ----------
    keys
        Answer paths over the tuples.
    seeds
        Finds the vertices that a question mentions, among the keys'.
    tuples
        Those that the keys were made of.
    """

    def __init__(self, keys: HyperedgeKeys, seeds: VertexSeeds, tuples: Sequence[EvidenceTuple]) -> None:
        self._keys = keys
        self._seeds = seeds
        self._of_passage = keys.edges.passages.tocsc()
        self._place = {name: row for row, name in enumerate(keys.table.passages)}
        self._vertex = {name: row for row, name in enumerate(keys.table.vertices)}
        self._at: dict[str, list[EvidenceTuple]] = defaultdict(list)
        for one in tuples:
            for bridge in {one.head.lower(), one.tail.lower()}:
                self._at[bridge].append(one)

    def explain(self, question: str, passages: Sequence[str]) -> list[ChosenPath | None]:
        """For each passage the strongest path to it; None where the question reaches it by none."""
        seeds = self._seeds.seeds(question)
        scores = self._keys.edge_scores(seeds)
        return [self._explain(name, seeds, scores) for name in passages]

    def _explain(self, passage: str, seeds: NDArray[np.float64], scores: NDArray[np.float64]) -> ChosenPath | None:
        if passage not in self._place:
            return None
        place = self._place[passage]
        bounds = self._of_passage.indptr
        edges = np.sort(self._of_passage.indices[bounds[place] : bounds[place + 1]])
        if not len(edges) or float(scores[edges].max()) <= 0.0:
            return None
        edge = int(edges[np.argmax(scores[edges])])
        bridge = self._keys.edges.names[edge]

        def near(one: EvidenceTuple) -> tuple[float, float]:
            others = [float(seeds[self._vertex[end]]) for end in (one.head, one.tail) if end.lower() != bridge]
            return max(others, default=0.0), one.factual * one.confidence

        own = max((one for one in self._at[bridge] if one.passage_id == passage), key=near)
        others = [one for one in self._at[bridge] if one.passage_id != passage]
        first = max(others, key=near, default=None)
        chain = [one for one in (first, own) if one is not None]
        steps = tuple(PathStep(one.head, one.relation, one.tail, one.passage_id) for one in chain)
        ends = dict.fromkeys(end for one in chain for end in (one.head, one.tail))
        asked = tuple(end for end in ends if seeds[self._vertex[end]] > 0.0)
        return ChosenPath(passage, bridge, float(self._keys.edges.weights[edge]), float(scores[edge]), asked, steps)
