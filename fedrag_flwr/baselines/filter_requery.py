"""Retrieval in rounds without a model: useful sentences' names make the next query (EfficientRAG's idea).

Zhuang et al. 2024, "EfficientRAG: efficient retriever for multi-hop question answering".
"""

from __future__ import annotations

from collections.abc import Iterable

from fedrag_flwr.baselines.entities import entities
from fedrag_flwr.baselines.reading import Construction, Meter, Reading
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.records import EvidenceUnit

_USEFUL = 3  # sentences of each round


class FilterRequery:
    """Asks again with the names in the sentences that come nearest to the query among what was retrieved.

    The original trains a labeller of words and a writer of queries; here the encoder chooses whole sentences.

    Parameters
    ----------
    substrate
        The device's documents.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self.construction = Construction()

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the passages of useful sentences, round by round, then the others that were retrieved."""
        query = question
        useful: list[int] = []
        hits: list[str] = []
        for _ in range(self._substrate.limits.rounds):
            found = self._substrate.nearest(query)
            hits += found
            fresh = self._useful(query, found, useful)
            useful += fresh
            names = [name for name in self._names(fresh) if name.casefold() not in query.casefold()]
            if not names:
                break
            query = f"{question} {' '.join(names)}"
        passages = [self._substrate.sentences[row].passage_id for row in useful]
        return self._substrate.passage_units(question, [*passages, *hits])

    def _useful(self, query: str, found: Iterable[str], known: Iterable[int]) -> list[int]:
        """The places of the sentences in some passages that come nearest to a query, those known already left out."""
        scores = self._substrate.sentence_scores(query)
        rows = {self._substrate.places[one.id] for name in found for one in self._substrate.by_id[name].sentences}
        return sorted(rows - set(known), key=lambda row: (-float(scores[row]), row))[:_USEFUL]

    def _names(self, rows: Iterable[int]) -> list[str]:
        sentences = [self._substrate.sentences[row] for row in rows]
        named = (fact for one in sentences for fact in entities(self._substrate.by_id[one.passage_id], one))
        return list({fact.anchor: fact.text for fact in named}.values())


def filter_requery(substrate: Substrate) -> Reading:
    """What rounds of retrieval gather, read once."""
    return Reading(substrate, FilterRequery(substrate))
