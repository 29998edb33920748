"""Baselines that rank passages once, and the model without any."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval.base import Retriever, within
from simulations.baselines.page_rank import PassageGraph
from simulations.baselines.passage_walk import FactTable, PassageWalkRetriever, normalised
from simulations.baselines.reading import Construction, Finder, Meter
from simulations.baselines.substrate import Substrate

_UNIT_WORDS, _UNITS = 1_000, 2


class ClosedBook(Finder):
    """Answers from what the model knows."""

    def find(self, question: str, meter: Meter) -> None:
        """Give nothing."""


class Ranked(Finder):
    """Gives the passages that a retriever ranks first, as many as single-stage retrieval takes."""

    def __init__(self, substrate: Substrate, retriever: Retriever, construction: Construction | None = None) -> None:
        super().__init__(substrate)
        self._retriever = retriever
        self.construction = construction or Construction()

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the first passages."""
        found = self._retriever.rank(question, self._substrate.limits.passages)
        return self._substrate.passage_units(question, [one.passage_id for one in found])


def pagerank(substrate: Substrate) -> Ranked:
    """The passages that walks reach from the statements and the passages nearest to the question.

    Weights and restart are HippoRAG 2's. Its triples come from a model, these from rules over the parse; no model
    filters the nearest statements; all their ends, up to ten, are seeds, where it keeps the five best; and a name's
    synonyms are looked for among its 32 nearest names, where it looks among 2,047.
    """
    tuples = normalised(substrate.tuples)
    table = TupleTable.of(tuples, [passage.id for passage in substrate.passages])
    facts = FactTable.of(tuples, table)
    graph, told = PassageGraph(table, substrate.encode_kept(table.vertices)), substrate.encode_kept(facts.texts)
    walk = PassageWalkRetriever(graph, facts, told, substrate.dense, substrate.questions)
    counts = (f"entities={len(table.vertices)}", f"statements={len(facts.texts)}")
    return Ranked(substrate, walk, Construction(counts=counts))


class LongUnits(Finder):
    """Retrieves the long units whose best passage is nearest, and hands on their nearest passages in reading order.

    A document is never parted; similar documents fill a unit up to some 1,000 words.
    """

    def __init__(self, substrate: Substrate) -> None:
        super().__init__(substrate)
        self._units = grouped(substrate, _UNIT_WORDS)
        self.construction = Construction(counts=(f"units={len(self._units)}",))

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the passages of the best units that fit into the evidence budget, unit by unit in reading order."""
        scores = self._substrate.dense.scores(question)
        best = sorted(self._units, key=lambda unit: (-max(float(scores[row]) for row in unit), unit))[:_UNITS]
        inside = [self._substrate.passages[row].id for unit in best for row in unit]
        nearest = sorted(self._substrate.passage_units(question, inside), key=lambda one: -one.score)
        return sorted(within(nearest, self._substrate.limits.words), key=lambda one: inside.index(one.id))


def grouped(substrate: Substrate, most: int) -> list[list[int]]:
    """Group the passages' places into units of at most so many words, unless one document is longer.

    A unit begins with the first document that is in none, and takes the nearest document that fits until none does.
    """
    documents: defaultdict[str, list[int]] = defaultdict(list)
    for place, passage in enumerate(substrate.passages):
        documents[passage.document_id].append(place)
    rows = list(documents.values())
    means = np.stack([substrate.passage_vectors[own].mean(axis=0) for own in rows])
    words = np.array([sum(len(substrate.passages[row].text.split()) for row in own) for own in rows])
    free = np.ones(len(rows), dtype=bool)
    units: list[list[int]] = []
    for first in range(len(rows)):
        unit, size, taken = [], 0, first if free[first] else None
        while taken is not None:
            unit += rows[taken]
            size += int(words[taken])
            free[taken] = False
            fitting = np.flatnonzero(free & (words <= most - size))
            taken = int(fitting[np.argmax(means[fitting] @ means[first])]) if len(fitting) else None
        if unit:
            units.append(unit)
    return units
