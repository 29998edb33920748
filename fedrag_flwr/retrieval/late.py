"""Late interaction: each token of a question looks for its best match among a passage's tokens (ColBERT's MaxSim)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.base import Ranking, Retriever, ranked, searchable_text
from fedrag_flwr.retrieval.vectors import QuestionVectors

_AT_ONCE = 256  # passages encoded together, so that only so many are held in full precision
_CHUNK = 64  # passages scored together


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The token vectors of n passages, one after another.

    Parameters
    ----------
    ids
        The passages' ids, length n.
    vectors
        (tokens, width) float16, unit rows.
    bounds
        Passage i has the rows from bounds[i] to bounds[i + 1]; shape (n + 1,).
    """

    ids: tuple[str, ...]
    vectors: NDArray[np.float16]
    bounds: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.bounds) != len(self.ids) + 1 or self.bounds[-1] != len(self.vectors):
            raise StoreMismatchError("the bounds do not fit the token vectors", where="late interaction")
        if (np.diff(self.bounds) < 1).any():
            raise StoreMismatchError("a passage has no token", where="late interaction")

    @classmethod
    def of(cls, passages: Sequence[Passage], questions: QuestionVectors) -> TokenTable:
        """Encode the tokens of passages."""
        parts: list[NDArray[np.float16]] = []
        for start in range(0, len(passages), _AT_ONCE):
            texts = [searchable_text(passage) for passage in passages[start : start + _AT_ONCE]]
            parts += [rows.astype(np.float16) for rows in questions.encoder.token_embeddings(texts)]
        bounds = np.cumsum([0, *(len(rows) for rows in parts)], dtype=np.int64)
        vectors = np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float16)
        return cls(tuple(passage.id for passage in passages), vectors, bounds)


class LateInteractionRetriever:
    """Scores a passage by the mean over the question's tokens of their best match in it, in [-1, 1].

    Parameters
    ----------
    tokens
        The corpus.
    questions
        Encodes questions by the encoder that made `tokens`.
    candidates
        A first stage over the same passages; only what it ranks is scored. None: every passage is.
    depth
        How many candidates to take.
    """

    def __init__(
        self,
        tokens: TokenTable,
        questions: QuestionVectors,
        candidates: Retriever | None = None,
        depth: int = 100,
    ) -> None:
        within = f", {depth} of {candidates.id}" if candidates else ""
        self.id = f"late-interaction({questions.encoder.id}{within})"
        self._tokens = tokens
        self._questions = questions
        self._candidates = candidates
        self._depth = depth
        self._place = {name: row for row, name in enumerate(tokens.ids)}

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        rows = list(range(len(self._tokens.ids)))
        if self._candidates is not None:
            first = self._candidates.rank(question, max(k, self._depth))
            rows = sorted(self._place[found.passage_id] for found in first)
        return ranked([self._tokens.ids[row] for row in rows], self.scores(question, rows), k)

    def scores(self, question: str, rows: Sequence[int]) -> NDArray[np.float32]:
        """Score some passages by their places in the table, shape (len(rows),)."""
        asked = self._questions.tokens(question)
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        return np.concatenate([self._max_sim(asked, chunk) for chunk in chunks] or [np.zeros(0, dtype=np.float32)])

    def _max_sim(self, asked: NDArray[np.float32], rows: Sequence[int]) -> NDArray[np.float32]:
        bounds = self._tokens.bounds
        parts = [self._tokens.vectors[bounds[row] : bounds[row + 1]] for row in rows]
        starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
        similar = asked @ np.concatenate(parts).astype(np.float32).T
        return np.asarray(np.maximum.reduceat(similar, starts, axis=1).mean(axis=0), dtype=np.float32)
