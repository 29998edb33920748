"""Walks over a graph of vertices and passages, from the facts and passages that are near a question (HippoRAG 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.records import EvidenceTuple
from fedrag_flwr.retrieval.base import Ranking, ranked, scaled
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.sparse import words
from simulations.corpora.page_rank import PassageGraph

Floats = NDArray[np.float64]


def normalised(tuples: Sequence[EvidenceTuple]) -> list[EvidenceTuple]:
    """Tuples whose parts are case-folded words, so that spellings of a name fall together; empty ends are dropped."""
    plain = (
        replace(
            one, head=" ".join(words(one.head)), relation=" ".join(words(one.relation)), tail=" ".join(words(one.tail))
        )
        for one in tuples
    )
    return [one for one in plain if one.head and one.tail]


@dataclass(frozen=True, slots=True)
class FactTable:
    """What tuples state, each statement once: f texts with the vertices that they join."""

    texts: tuple[str, ...]  # head, relation and tail as one line; length f
    heads: NDArray[np.int64]  # rows of the tuple table's vertices, shape (f,)
    tails: NDArray[np.int64]  # the same

    @classmethod
    def of(cls, tuples: Sequence[EvidenceTuple], table: TupleTable) -> FactTable:
        """List the distinct statements of the tuples that `table` was made of."""
        vertex = {name: row for row, name in enumerate(table.vertices)}
        facts = sorted({(one.head, one.relation, one.tail) for one in tuples})
        return cls(
            tuple(" ".join(part for part in fact if part) for fact in facts),
            np.array([vertex[head] for head, _, _ in facts], dtype=np.int64),
            np.array([vertex[tail] for _, _, tail in facts], dtype=np.int64),
        )


FACTS = 5  # nearest, whose ends are seeds, all of them; HippoRAG 2 keeps the five ends with the highest weights
PASSAGE_SHARE = 0.05  # HippoRAG 2's weight of a passage's own cosine, scaled to [0, 1], beside that of facts


class PassageWalkRetriever:
    """Ranks passages by PageRank from the nearest facts' vertices and from all passages by their cosine.

    `vectors`: of the facts, (f, dimension) with unit rows, by the encoder of `questions`; `dense`: scores the graph's
    passages, in the graph's order. Raises StoreMismatchError: there is not one vector for each fact, or `dense` holds
    other passages.
    """

    def __init__(
        self,
        graph: PassageGraph,
        facts: FactTable,
        vectors: NDArray[np.float32],
        dense: DenseRetriever,
        questions: QuestionVectors,
    ) -> None:
        if len(vectors) != len(facts.texts) or dense.ids != graph.table.passages:
            raise StoreMismatchError("facts, vectors and passages do not belong together", where="passage walk")
        self.id = f"passage-walk({questions.encoder.id})"
        self._graph = graph
        self._facts = facts
        self._vectors = vectors
        self._dense = dense
        self._questions = questions
        self._holders = np.maximum(np.asarray(graph.members.sum(axis=0), dtype=np.float64).reshape(-1), 1.0)

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        own = PASSAGE_SHARE * scaled(self._dense.scores(question).astype(np.float64))
        return ranked(self._graph.table.passages, self._graph.scores(self._seeds(question), own), k, above=0.0)

    def _seeds(self, question: str) -> Floats:
        """Weigh the ends of the nearest facts: their mean score, shared among the passages that hold the vertex."""
        total, count = np.zeros_like(self._holders), np.zeros_like(self._holders)
        if not len(self._vectors):
            return total
        scores = scaled((self._vectors @ self._questions.whole(question)).astype(np.float64))
        near = np.argsort(-scores, kind="stable")[:FACTS]
        for ends in (self._facts.heads[near], self._facts.tails[near]):
            np.add.at(total, ends, scores[near])
            np.add.at(count, ends, 1.0)
        return np.asarray(total / np.maximum(count, 1.0) / self._holders, dtype=np.float64)
