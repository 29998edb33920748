"""Retrieval by what passages say of each other: evidence tuples that share an entity, and titles that are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.hypergraph.tuples import KeySpace, VertexSeeds
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.base import Ranking, Retriever, ranked, scaled, searchable_text
from fedrag_flwr.retrieval.sparse import words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

SEEDS = 5  # passages of the first stage that lead on
WEIGHT = 1.0  # of the best lead to a passage, against its own score
DEPTH = 100  # places of the first stage that count; beyond them only passages that a seed leads to are ranked

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KeySpaceRetriever:
    """Ranks passages by a key space (HKVM-RAG); a passage without any score is not ranked."""

    space: KeySpace  # the keys, over the passages
    seeds: VertexSeeds  # finds the vertices that a question mentions, among the space's
    otherwise: Retriever  # ranks where a question mentions none

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        seeds = self.seeds.seeds(question)
        if not np.any(seeds):
            return self.otherwise.rank(question, k)
        return ranked(self.space.table.passages, self.space.scores(seeds), k, above=0.0)


class SecondHopRetriever:
    """Adds to a first stage's scores what its best passages lead to by naming it.

    A two-hop question describes one passage and means another, whose title often stands in the first but not in the
    question. A seed leads to a passage by the share of the title's words, counted by their rarity among the passages
    (the inverse frequency of BM25), that the seed tells and the question does not. With the first stage's scores scaled
    to [0, 1] over its places, a passage scores ``own + WEIGHT * max over the other seeds of (seed's own * share)``. A
    passage without a title is never led to.
    """

    def __init__(self, first: Retriever, passages: Sequence[Passage]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped, unused-ignore]

        self._first = first
        self._ids = [passage.id for passage in passages]
        self._place = {name: row for row, name in enumerate(self._ids)}
        of_titles = {word for passage in passages for word in words(passage.title)}
        vocabulary = ["", *sorted(of_titles)]  # a vocabulary may not be empty; no text holds the word ""
        self._counter = CountVectorizer(analyzer=words, vocabulary=vocabulary, binary=True, dtype=np.float64)
        self._told: csr_matrix = self._counter.transform([searchable_text(passage) for passage in passages])
        holders = np.asarray(self._told.sum(axis=0)).ravel()
        rarity = np.log1p((len(self._ids) - holders + 0.5) / (holders + 0.5))
        titles = self._counter.transform([passage.title for passage in passages]).multiply(rarity)
        whole = np.asarray(titles.sum(axis=1))
        self._shares: csr_matrix = titles.multiply(1.0 / np.where(whole > 0.0, whole, 1.0)).T.tocsr()

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids; raises StoreMismatchError where
        the first stage ranks a passage that is not among the passages.

        Ranked is what the first stage ranks among its first `DEPTH` places or a seed leads to: there may be fewer
        than k.
        """
        found = self._first.rank(question, DEPTH)
        if not found:
            return ()
        if any(one.passage_id not in self._place for one in found):
            raise StoreMismatchError("the first stage ranks other passages", where="second hop")
        rows = [self._place[one.passage_id] for one in found]
        own = np.zeros(len(self._ids))
        own[rows] = scaled(np.array([one.score for one in found]))
        leads = self._leads(question, rows[:SEEDS], own)
        reached = leads > 0.0
        reached[rows] = True
        return ranked(self._ids, np.where(reached, own + WEIGHT * leads, -np.inf), k)

    def _leads(self, question: str, seeds: list[int], own: Floats) -> Floats:
        """The best lead from another seed to each passage, shape (n,)."""
        told = self._told[seeds]
        new = told - told.multiply(self._counter.transform([question]))
        shares = (new @ self._shares).toarray()
        shares[np.arange(len(seeds)), seeds] = 0.0
        return np.asarray((own[seeds, None] * shares).max(axis=0), dtype=np.float64)
