"""Dense retrieval: the cosine of a question's and a passage's vector."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.memory.store.index import VectorIndex
from fedrag_flwr.models.base import TextEncoder
from fedrag_flwr.retrieval.base import RankedPassage, Ranking

Floats = NDArray[np.float32]


class QuestionVectors:
    """Encodes questions and keeps the latest `most` of each kind in memory, for this process only."""

    def __init__(self, encoder: TextEncoder, most: int = 256) -> None:
        self.encoder = encoder
        self._whole = lru_cache(most)(lambda question: self.encoder.encode([question])[0])
        self._tokens = lru_cache(most)(lambda question: self.encoder.token_embeddings([question], asked=True)[0])

    def whole(self, question: str) -> Floats:
        """The question's vector, shape (dimension,), unit norm."""
        found: Floats = self._whole(question)
        return found

    def tokens(self, question: str) -> Floats:
        """The vectors of the question's tokens, shape (tokens, width), unit rows."""
        found: Floats = self._tokens(question)
        return found

    def forget(self) -> None:
        """Keep nothing of the questions so far."""
        self._whole.cache_clear()
        self._tokens.cache_clear()


class DenseRetriever:
    """Exact search by inner product (FAISS); raises StoreMismatchError where there is not one vector for each id.

    Parameters
    ----------
    ids
        The passages' ids, length n.
    vectors
        Their vectors, (n, dimension) float32 with unit rows, by the encoder of `questions`.
    questions
        Encodes questions.
    """

    def __init__(self, ids: Sequence[str], vectors: NDArray[np.float32], questions: QuestionVectors) -> None:
        if vectors.ndim != 2 or len(vectors) != len(ids):
            raise StoreMismatchError("there is not one vector for each passage", where="dense retrieval")
        self.ids = tuple(ids)
        self.vectors = vectors
        self._index = VectorIndex(ids, vectors)
        self._questions = questions

    def scores(self, question: str) -> NDArray[np.float32]:
        """Score every passage, shape (n,)."""
        return np.asarray(self.vectors @ self._questions.whole(question), dtype=np.float32)

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        scores, ids = self._index.search(self._questions.whole(question), k)
        found = sorted(zip((-scores[0]).tolist(), ids[0], strict=True))
        return tuple(RankedPassage(name, -score) for score, name in found)
