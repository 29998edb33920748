"""Evidence as a set: passages chosen one by one so that together they cover the question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.retrieval.base import RankedPassage, Ranking, Retriever
from fedrag_flwr.retrieval.late import TokenTable
from fedrag_flwr.retrieval.vectors import QuestionVectors


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
        self.id = f"coverage({first.id}, {self._settings})"
        self._first = first
        self._tokens = tokens
        self._questions = questions

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages in the order of choice; a score is what the choice was made by, and falls."""
        found = self._first.rank(question, max(k, self._settings.candidates))
        if not found:
            return ()
        if found[-1].score <= 0.0:
            raise SettingError("coverage needs scores above zero", where=self._first.id[:80])
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
