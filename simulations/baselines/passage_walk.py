"""Walks over a graph of vertices and passages, from the facts and passages that are near a question (HippoRAG 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError, StoreMismatchError
from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.records import EvidenceTuple
from fedrag_flwr.retrieval.base import RankedPassage, Ranking, Retriever, ranked, scaled
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.late import TokenTable
from fedrag_flwr.retrieval.sparse import words
from simulations.baselines.page_rank import PassageGraph


@dataclass(frozen=True, slots=True)
class CoverageSettings:
    """How passages are chosen.

    Parameters
    ----------
    weight
        Of the mean gain in cosine over the question's tokens, against the logarithm of a passage's own score.
    candidates
        How many passages to choose among.
    """

    weight: float = 20.0
    candidates: int = 50

    def __post_init__(self) -> None:
        if self.weight < 0.0 or self.candidates < 1:
            raise SettingError("coverage settings are out of range", where="retrieval")


class CoverageRetriever:
    """Reorders the best candidates of a first stage: each next passage is near, and says what those before do not.

    A multi-hop question needs passages that each match another part of it, and passages about its first part often
    match it best. A token of the question is covered by a set of passages as far as its best match among their tokens
    (MaxSim) exceeds its mean best match over the candidates. The next passage is the one with the highest
    ``log(score) + weight * gain``, the gain being the mean growth of the tokens' cover.

    Parameters
    ----------
    first
        The first stage; its scores must be above zero (masses of a walk, sums of reciprocal ranks).
    tokens
        Token vectors of its passages.
    questions
        Encodes questions by the encoder that made `tokens`.
    settings
        Weight and number of candidates.
    """

    def __init__(
        self,
        first: Retriever,
        tokens: TokenTable,
        questions: QuestionVectors,
        settings: CoverageSettings | None = None,
    ) -> None:
        self._settings = settings or CoverageSettings()
        self._first = first
        self._tokens = tokens
        self._questions = questions

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages in the order of choice; a score is what the choice was made by, and falls."""
        found = self._first.rank(question, max(k, self._settings.candidates))
        if not found:
            return ()
        if found[-1].score <= 0.0:
            raise SettingError("coverage needs scores above zero", where="coverage")
        matches = self._tokens.best_matches(
            self._questions.tokens(question), self._tokens.rows([one.passage_id for one in found])
        )
        own = np.log([one.score for one in found])
        order, scores = _choose(own, matches - matches.mean(axis=1, keepdims=True), self._settings.weight, k)
        return tuple(RankedPassage(found[row].passage_id, score) for row, score in zip(order, scores, strict=True))


def _choose(
    own: NDArray[np.float64], matches: NDArray[np.float32], weight: float, k: int
) -> tuple[list[int], list[float]]:
    """Choose k columns of matches, (tokens, n), greedily; cover starts at zero and its gains only shrink."""
    covered = np.zeros((len(matches), 1))
    left = np.ones(len(own), dtype=bool)
    order: list[int] = []
    scores: list[float] = []
    for _ in range(min(k, len(own))):
        gains = np.maximum(matches - covered, 0.0).mean(axis=0)
        total = np.where(left, own + weight * gains, -np.inf)
        best = int(np.argmax(total))
        order.append(best)
        scores.append(float(total[best]))
        left[best] = False
        covered = np.maximum(covered, matches[:, best : best + 1])
    return order, scores


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
    """What tuples state, each statement once: f texts with the vertices that they join.

    Parameters
    ----------
    texts
        Head, relation and tail as one line; length f.
    heads, tails
        Rows of the tuple table's vertices, shape (f,).
    """

    texts: tuple[str, ...]
    heads: NDArray[np.int64]
    tails: NDArray[np.int64]

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

    Parameters
    ----------
    graph
        Vertices and passages.
    facts, vectors
        The statements and their vectors, (f, dimension) with unit rows.
    dense
        Scores the graph's passages, in the graph's order.
    questions
        Encodes questions by the encoder that made `vectors`.

    Raises
    ------
    StoreMismatchError
        There is not one vector for each fact, or `dense` holds other passages.
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
