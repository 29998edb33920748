"""Dual-level retrieval: entities and relations near a question, their neighbours, and the chunks that state them.

DGRAG 3.3 step 4, after LightRAG (Guo et al. 2024). It works from a question's vector alone, so that a device can serve
another's question without reading it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph
from fedrag_flwr.records import EvidenceUnit, Passage, Vector

Floats = NDArray[np.float32]
Level = Literal["entity", "relation", "chunk"]
LEVELS: frozenset[Level] = frozenset({"entity", "relation", "chunk"})
NEAREST = 10  # entities, relations and chunks that are taken
NEIGHBOURS = 3  # heaviest neighbours of each entity, whose passages are led to as well
PASSAGES = 8  # passages whose sentences compete
NEIGHBOUR = 0.5  # what a neighbour with all of an entity's edge weight counts beside that entity
RANK_OFFSET = 60.0  # of reciprocal rank fusion (Cormack et al. 2009)


@dataclass(frozen=True)
class VectorTable:
    """Vectors by id: one of the device's vector indexes."""

    ids: Sequence[str]  # length n
    vectors: Floats  # shape (n, dimension), unit rows

    @classmethod
    def of(cls, vectors: Mapping[str, Floats]) -> VectorTable:
        """Tabulate vectors."""
        return cls(tuple(vectors), np.stack(list(vectors.values())) if vectors else np.zeros((0, 0), np.float32))

    def nearest(self, vector: Vector, count: int) -> list[tuple[str, float]]:
        """The ids nearest to a vector of shape (dimension,) with their cosines, best first."""
        if not len(self.ids) or count < 1:
            return []
        scores = self.vectors @ vector
        rows = np.argpartition(-scores, min(count, len(scores)) - 1)[:count]
        return sorted(((self.ids[row], float(scores[row])) for row in rows), key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True, slots=True)
class GraphIndex:
    """The graph with its vector indexes over entities, relations, chunks and sentences."""

    graph: KnowledgeGraph
    entities: VectorTable
    relations: VectorTable
    chunks: VectorTable
    sentences: VectorTable


class GraphRetriever:
    """Finds a device's sentences for a question.

    Raises NotFoundError where the index leads to a passage that is not there, or to a sentence that it lacks.

    With ``chunk`` as the only level the graph is not looked at.
    """

    def __init__(
        self, device: str, index: GraphIndex, passages: Iterable[Passage], levels: frozenset[Level] = LEVELS
    ) -> None:
        self._device = device
        self._index = index
        self._passages = {passage.id: passage for passage in passages}
        self._levels = levels
        self._rows = {name: row for row, name in enumerate(index.sentences.ids)}
        self._check()

    def at(self, levels: frozenset[Level]) -> GraphRetriever:
        """The same over the same index with other levels."""
        return GraphRetriever(self._device, self._index, self._passages.values(), levels)

    def passages(self, vector: Vector) -> list[tuple[Passage, float]]:
        """The passages that the levels agree on, with their fused scores, best first."""
        scores: dict[str, float] = {}
        for level in sorted(self._levels):
            for rank, name in enumerate(self._led_to(level, vector), 1):
                scores[name] = scores.get(name, 0.0) + 1.0 / (RANK_OFFSET + rank)
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:PASSAGES]
        return [(self._passages[name], score) for name, score in best]

    def retrieve(self, vector: Vector, budget: int) -> list[EvidenceUnit]:
        """At most so many sentences of these passages, those nearest to a vector of shape (dimension,) first."""
        held = [(passage, sentence) for passage, _ in self.passages(vector) for sentence in passage.sentences]
        if not held:
            return []
        rows = [self._rows[sentence.id] for _, sentence in held]
        scores = np.clip(self._index.sentences.vectors[rows] @ vector, -1.0, 1.0)
        order = sorted(range(len(held)), key=lambda place: (-float(scores[place]), held[place][1].id))[:budget]
        return [
            EvidenceUnit(held[i][1].id, held[i][1].text, self._device, float(scores[i]), held[i][0].title)
            for i in order
        ]

    def _check(self) -> None:
        """See that all that a question may be led to is there."""
        led_to = {*self._index.chunks.ids, *(one.passage_id for one in self._index.graph.statements)}
        told = {sentence.id for passage in self._passages.values() for sentence in passage.sentences}
        if absent := (led_to - self._passages.keys()) | (told - self._rows.keys()):
            raise NotFoundError(
                "the index and the passages are of different documents", where=min(absent), fix="read them again"
            )

    # --- the levels -------------------------------------------------------------------------------

    def _led_to(self, level: Level, vector: Vector) -> list[str]:
        """Passages in the order in which a level leads to them."""
        index = self._index
        if level == "entity":
            return self._by_entities(index.entities.nearest(vector, NEAREST))
        if level == "relation":
            return self._told_in(
                row
                for name, _ in index.relations.nearest(vector, NEAREST)
                if name in index.graph.relations
                for row in index.graph.relations[name].statements
            )
        return [name for name, _ in index.chunks.nearest(vector, NEAREST)]

    def _by_entities(self, near: Sequence[tuple[str, float]]) -> list[str]:
        """Passages of near entities and of their heaviest neighbours, by the sum of what leads there.

        An entity leads with its cosine, a neighbour with its share of the entity's edge weight of that.
        """
        graph = self._index.graph
        weights: dict[str, float] = {}
        for name, cosine in near:
            if name not in graph.entities:
                continue
            edges = graph.neighbours.get(name, {})
            beside = sorted(edges.items(), key=lambda pair: (-pair[1], pair[0]))[:NEIGHBOURS]
            whole = sum(edges.values())
            for one, part in [(name, 1.0), *((other, NEIGHBOUR * weight / whole) for other, weight in beside)]:
                for passage in self._told_in(graph.entities[one].statements):
                    weights[passage] = weights.get(passage, 0.0) + part * cosine
        return sorted(weights, key=lambda passage: (-weights[passage], passage))

    def _told_in(self, rows: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(self._index.graph.statements[row].passage_id for row in rows))
