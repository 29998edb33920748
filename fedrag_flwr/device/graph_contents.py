"""The sentences that stand for a community where its vector is to lead questions to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.privacy.contents import Content
from fedrag_flwr.text.segment import under_title

MOST = 16  # sentences of a community, those nearest to the mean of all


def contents_of(
    store: MemoryStore, graph: KnowledgeGraph, communities: Mapping[str, Sequence[str]]
) -> dict[str, Content]:
    """Of each community, given by its entities, the sentences that state its relations, the most central ones.

    Parameters
    ----------
    store
        Holds the sentences with their vectors.
    graph
        The whole graph.
    communities
        Entities by the community's id.
    """
    stating = {
        name: {
            graph.statements[row].sentence_id
            for one in members
            if one in graph.entities
            for row in graph.entities[one].statements
        }
        for name, members in communities.items()
    }
    if not any(stating.values()):
        return {}
    units = store.units("sentence")
    rows = {unit_id: row for row, unit_id in enumerate(units.ids)}
    chosen: dict[str, list[int]] = {}
    for name, sentences in stating.items():
        held = np.array(sorted(rows[one] for one in sentences if one in rows), dtype=np.intp)
        if len(held):
            nearness = units.vectors[held] @ units.vectors[held].mean(axis=0)
            chosen[name] = held[np.argsort(-nearness, kind="stable")[:MOST]].tolist()
    wanted = sorted({row for found in chosen.values() for row in found})
    told = store.sentences([units.ids[row] for row in wanted])
    titles = {passage.id: passage.title for passage in store.passages()}
    texts = {row: under_title(titles[one.passage_id], one.text) for row, one in zip(wanted, told, strict=True)}
    return {name: Content(tuple(texts[row] for row in found), units.vectors[found]) for name, found in chosen.items()}
