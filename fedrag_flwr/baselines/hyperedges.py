"""Sentences as relations among all entities that they name, found from both sides (HyperGraphRAG's idea).

Luo et al. 2025, "HyperGraphRAG: retrieval-augmented generation via hypergraph-structured knowledge representation".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fedrag_flwr.baselines.entities import entities, named
from fedrag_flwr.baselines.reading import Construction, Meter, Reading, evidence_words
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval import RankedPassage, Ranking, fuse
from fedrag_flwr.retrieval.base import within

_ENTITIES = 5  # nearest to each of the question's
_FIRST = 3  # nearest hyperedges whose own entities lead on
_HYPEREDGES = 12
_DEPTH = 60
_SHARE = 0.5  # of the evidence budget that passages may take; the rest is hyperedges


class Hyperedges:
    """Ranks hyperedges by their own cosine and by the entities that they share with the question or with the nearest.

    Parameters
    ----------
    substrate
        The device's documents.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self._members: dict[str, list[str]] = {}
        self._incident: defaultdict[str, list[int]] = defaultdict(list)
        for passage in substrate.passages:
            for sentence in passage.sentences:
                self._members[sentence.id] = [fact.anchor for fact in entities(passage, sentence)]
                for name in self._members[sentence.id]:
                    self._incident[name].append(substrate.places[sentence.id])
        self._names = sorted(self._incident)
        self._vectors = substrate.encode_kept(self._names)
        self.construction = Construction(
            counts=(f"entities={len(self._names)}", f"hyperedges={len(substrate.sentences)}")
        )

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the best hyperedges' sentences, then the passages around them and near the question, fused by rank.

        What the passages hold is not read twice: the next hyperedges take its place.
        """
        substrate = self._substrate
        scores = substrate.sentence_scores(question)
        near = self._ranking({row: float(scores[row]) for row in range(len(scores))})
        linked = self._ranking(
            {
                row: reached * max(float(scores[row]), 0.0)
                for row, reached in joined(self._reached(question, near[:_FIRST]), self._incident).items()
            }
        )
        edges = [found.passage_id for found in fuse([near, linked], [1.0, 1.0], _DEPTH)]
        around = tuple(
            RankedPassage(name, 0.0)
            for name in dict.fromkeys(
                substrate.sentences[substrate.places[edge]].passage_id for edge in edges[:_HYPEREDGES]
            )
        )
        fused = fuse([around, substrate.dense.rank(question, _DEPTH)], [1.0, 1.0], substrate.limits.passages)
        words = substrate.limits.words
        passages = within(substrate.passage_units(question, [found.passage_id for found in fused]), int(_SHARE * words))
        held = " ".join(_spaced(passage.text) for passage in passages)
        others = [one for one in substrate.sentence_units(question, edges) if _spaced(one.text) not in held]
        return [*within(others[:_HYPEREDGES], words - evidence_words(passages)), *passages]

    def _reached(self, question: str, first: Ranking) -> dict[str, float]:
        """The entities nearest to those that the question names, and those of some hyperedges, with their cosines."""
        found: dict[str, float] = {}
        for edge in first:
            for name in self._members[edge.passage_id]:
                found[name] = max(found.get(name, 0.0), edge.score)
        facts = named(self._substrate.pipeline.question(question).facts)
        if not facts or not self._names:
            return found
        for row in self._substrate.encode([fact.anchor for fact in facts]) @ self._vectors.T:
            for place in np.argsort(-row, kind="stable")[:_ENTITIES].tolist():
                name = self._names[place]
                found[name] = max(found.get(name, 0.0), float(row[place]))
        return found

    def _ranking(self, scores: dict[int, float]) -> Ranking:
        best = sorted(scores, key=lambda row: (-scores[row], row))[:_DEPTH]
        return tuple(RankedPassage(self._substrate.sentences[row].id, scores[row]) for row in best)


def _spaced(text: str) -> str:
    """A text whose words one space parts, as they are where a passage is cut."""
    return " ".join(text.split())


def joined(reached: Mapping[str, float], incident: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """The hyperedges among some entities, each with the cosine of the best of its own."""
    found: dict[int, float] = {}
    for name, cosine in reached.items():
        for row in incident[name]:
            found[row] = max(found.get(row, 0.0), cosine)
    return found


def hyperedges(substrate: Substrate) -> Reading:
    """Hyperedges near a question or among its entities, with passages."""
    return Reading(substrate, Hyperedges(substrate))
