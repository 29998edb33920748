"""Why a passage was chosen: the answer path that leads from a question to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.growth import GrowingPaths
from fedrag_flwr.records import ChosenPath, EvidenceTuple, PathStep


@dataclass(frozen=True, slots=True)
class PathExplainer:
    """Finds the answer-path hyperedge that gives a passage most of its score, and the tuples that make the path.

    Parameters
    ----------
    keys
        Answer paths over the tuples.
    tuples
        Those that the keys were made of, by passage.
    """

    keys: GrowingPaths
    tuples: Mapping[str, Sequence[EvidenceTuple]]

    def explain(self, question: str, passages: Sequence[str]) -> list[ChosenPath | None]:
        """For each passage the strongest path to it; None where the question reaches it by none.

        Also None where the keys have changed since and know another text of it.
        """
        with self.keys.lock:
            seeds = self.keys.seeded(question)
            scores = self.keys.edge_scores(seeds)
            return [self._explain(name, seeds, scores) for name in passages]

    def _explain(self, passage: str, seeds: NDArray[np.float64], scores: NDArray[np.float64]) -> ChosenPath | None:
        edges = self.keys.edges_of(passage)
        if not len(edges) or float(scores[edges].max()) <= 0.0:
            return None
        edge = int(edges[np.argmax(scores[edges])])
        bridge = self.keys.bridges[edge]

        def near(one: EvidenceTuple) -> tuple[float, float]:
            others = [float(seeds[self.keys.vertex(end)]) for end in (one.head, one.tail) if end.lower() != bridge]
            return max(others, default=0.0), one.factual * one.confidence

        own = max(self._at(bridge, passage), key=near, default=None)
        if own is None:
            return None
        elsewhere = (name for name in self.keys.passages_of(edge) if name != passage)
        mentioned = (one for name in elsewhere for one in self._at(bridge, name) if near(one)[0] > 0.0)
        first = max(mentioned, key=near, default=None)
        chain = [own] if first is None else [first, own]
        steps = tuple(PathStep(one.head, one.relation, one.tail, one.passage_id) for one in chain)
        ends = dict.fromkeys(end for one in chain for end in (one.head, one.tail))
        asked = tuple(end for end in ends if seeds[self.keys.vertex(end)] > 0.0)
        return ChosenPath(passage, bridge, float(self.keys.weights[edge]), float(scores[edge]), asked, steps)

    def _at(self, bridge: str, passage: str) -> list[EvidenceTuple]:
        """The tuples of a passage that share the bridge."""
        return [one for one in self.tuples.get(passage, ()) if bridge in (one.head.lower(), one.tail.lower())]
