"""The sentences that stand for a community where its vector is to lead questions to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.privacy.contents import Content
from fedrag_flwr.text.segment import under_title

MOST = 16  # sentences of a community, those nearest to the mean of all


class CommunityContents:
    """Finds the sentences that state a community's relations.

    Parameters
    ----------
    store
        Holds the sentences with their vectors.
    graph
        The whole graph.
    """

    def __init__(self, store: MemoryStore, graph: KnowledgeGraph) -> None:
        self._store = store
        self._graph = graph
        self._units = store.units("sentence")
        self._rows = {unit_id: row for row, unit_id in enumerate(self._units.ids)}
        self._titles = {passage.id: passage.title for passage in store.passages()}

    def of(self, communities: Mapping[str, Sequence[str]]) -> dict[str, Content]:
        """The most central sentences of each community, which is given by its entities; each has one at least."""
        chosen = {name: rows for name, members in communities.items() if (rows := self._central(members))}
        wanted = sorted({row for rows in chosen.values() for row in rows})
        told = self._store.sentences([self._units.ids[row] for row in wanted])
        texts = {
            row: under_title(self._titles[one.passage_id], one.text) for row, one in zip(wanted, told, strict=True)
        }
        return {
            name: Content(tuple(texts[row] for row in rows), self._units.vectors[rows]) for name, rows in chosen.items()
        }

    def _central(self, members: Sequence[str]) -> list[int]:
        graph = self._graph
        stated = {row for one in members if one in graph.entities for row in graph.entities[one].statements}
        names = {graph.statements[row].sentence_id for row in stated}
        rows = np.array(sorted(self._rows[name] for name in names if name in self._rows), dtype=np.intp)
        if not len(rows):
            return []
        nearness = self._units.vectors[rows] @ self._units.vectors[rows].mean(axis=0)
        central: list[int] = rows[np.argsort(-nearness, kind="stable")[:MOST]].tolist()
        return central
