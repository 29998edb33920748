"""Late interaction: each token of a question looks for its best match among a passage's tokens (ColBERT's MaxSim)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.files import read_arrays, write_arrays
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.base import Ranking, Retriever, ranked, searchable_text
from fedrag_flwr.retrieval.dense import QuestionVectors

_AT_ONCE = 256  # passages encoded together, so that only so many are held in full precision
_CHUNK = 64  # passages matched together
_LEVELS = 127


class TokenTable:
    """The token vectors of n passages, one after another, in eight bits a number; raises StoreMismatchError where the
    parts do not fit, or a passage has no token.

    Parameters
    ----------
    ids
        The passages' ids, length n.
    codes
        (tokens, width) int8.
    scales
        What a token's codes are multiplied by, shape (tokens,) float32.
    bounds
        Passage i has the rows from bounds[i] to bounds[i + 1]; shape (n + 1,).
    """

    def __init__(
        self, ids: Sequence[str], codes: NDArray[np.int8], scales: NDArray[np.float32], bounds: NDArray[np.int64]
    ) -> None:
        if len(bounds) != len(ids) + 1 or not bounds[-1] == len(codes) == len(scales):
            raise StoreMismatchError("the bounds do not fit the token vectors", where="late interaction")
        if (np.diff(bounds) < 1).any():
            raise StoreMismatchError("a passage has no token", where="late interaction")
        self.ids = tuple(ids)
        self.codes = codes
        self.scales = scales
        self.bounds = bounds
        self._place = {name: row for row, name in enumerate(ids)}

    @classmethod
    def of(cls, passages: Sequence[Passage], questions: QuestionVectors) -> TokenTable:
        """Encode the tokens of passages."""
        texts = [searchable_text(passage) for passage in passages]
        blocks = (texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE))
        tokens = (rows for block in blocks for rows in questions.encoder.token_embeddings(block))
        return cls.of_tokens([passage.id for passage in passages], tokens)

    @classmethod
    def of_tokens(cls, ids: Sequence[str], tokens: Iterable[NDArray[np.float32]]) -> TokenTable:
        """Tabulate the token vectors of each passage, (tokens, width) with unit rows."""
        codes, scales, lengths = [], [], [0]
        for rows in tokens:
            scale = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-12)) / np.float32(_LEVELS)
            codes.append(np.rint(rows / scale[:, None]).astype(np.int8))
            scales.append(scale)
            lengths.append(len(rows))
        if not codes:
            return cls([], np.zeros((0, 0), dtype=np.int8), np.zeros(0, dtype=np.float32), np.zeros(1, dtype=np.int64))
        return cls(ids, np.concatenate(codes), np.concatenate(scales), np.cumsum(lengths, dtype=np.int64))

    def save(self, path: Path, key: str) -> None:
        """Write the vectors, at once or not at all, under a key that names passages and encoder."""
        write_arrays(path, key, codes=self.codes, scales=self.scales, bounds=self.bounds)

    @classmethod
    def load(cls, path: Path, ids: Sequence[str], key: str) -> TokenTable:
        """Read what `save` wrote under this key for these passages; raises StoreMismatchError where there is no such
        file, it is torn, or it was written under another key.
        """
        kept = read_arrays(path, key)
        try:
            return cls(ids, kept["codes"], kept["scales"], kept["bounds"])
        except (KeyError, IndexError) as error:
            raise StoreMismatchError("there are no token vectors", where=path.name) from error

    def rows(self, ids: Sequence[str]) -> list[int]:
        """The places of passages in the table; raises StoreMismatchError where one is not in it."""
        if not self._place.keys() >= set(ids):
            raise StoreMismatchError("a passage has no token vectors", where="late interaction")
        return [self._place[name] for name in ids]

    def best_matches(self, asked: NDArray[np.float32], rows: Sequence[int]) -> NDArray[np.float32]:
        """The highest cosine of each asked token, (t, width), with a token of each passage: shape (t, len(rows))."""
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        parts = [self._matches(asked, chunk) for chunk in chunks]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(asked), 0), dtype=np.float32)

    def _matches(self, asked: NDArray[np.float32], rows: Sequence[int]) -> NDArray[np.float32]:
        places = [slice(self.bounds[row], self.bounds[row + 1]) for row in rows]
        codes = np.concatenate([self.codes[place] for place in places]).astype(np.float32)
        scales = np.concatenate([self.scales[place] for place in places])
        starts = np.cumsum([0, *(place.stop - place.start for place in places[:-1])])
        similar = (asked @ codes.T) * scales
        return np.asarray(np.maximum.reduceat(similar, starts, axis=1), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class LateInteractionRetriever:
    """Scores a passage by the mean over the question's tokens of their best match in it, in [-1, 1]."""

    tokens: TokenTable  # the corpus
    questions: QuestionVectors  # encodes questions by the encoder that made `tokens`
    candidates: Retriever | None = None  # a first stage over the same passages; only what it ranks is scored
    depth: int = 100  # candidates that are taken

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        ids = self.tokens.ids
        if self.candidates is not None:
            first = self.candidates.rank(question, max(k, self.depth))
            ids = tuple(found.passage_id for found in first)
        return ranked(ids, self.scores(question, self.tokens.rows(ids)), k)

    def scores(self, question: str, rows: Sequence[int]) -> NDArray[np.float32]:
        """Score some passages by their places in the table, shape (len(rows),)."""
        matches = self.tokens.best_matches(self.questions.tokens(question), rows)
        return np.asarray(matches.mean(axis=0), dtype=np.float32)
