"""Questions as vectors, encoded once however many retrievers ask."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.models.reranker import TokenEncoder

Floats = NDArray[np.float32]


class TextEncoder(Encoder, TokenEncoder, Protocol):
    """An encoder of texts that gives the vectors of their tokens too."""


class QuestionVectors:
    """Encodes questions and keeps the latest in memory, for this process only.

    Parameters
    ----------
    encoder
        The model.
    most
        Questions to keep, of each kind.
    tokens
        The model for vectors of tokens, such as a ColBERT checkpoint; None: the same.
    """

    def __init__(self, encoder: TextEncoder, most: int = 256, tokens: TokenEncoder | None = None) -> None:
        self.encoder = encoder
        self.token_encoder = tokens or encoder
        self._most = most
        self._lock = threading.Lock()
        self._whole: OrderedDict[str, Floats] = OrderedDict()
        self._tokens: OrderedDict[str, Floats] = OrderedDict()

    def whole(self, question: str) -> Floats:
        """The question's vector, shape (dimension,), unit norm."""
        return self._kept(self._whole, question, lambda: self.encoder.encode([question])[0])

    def tokens(self, question: str) -> Floats:
        """The vectors of the question's tokens, shape (tokens, width), unit rows."""
        return self._kept(self._tokens, question, lambda: self._asked(question))

    def forget(self) -> None:
        """Keep nothing of the questions so far."""
        with self._lock:
            self._whole.clear()
            self._tokens.clear()

    def _asked(self, question: str) -> Floats:
        return self.token_encoder.token_embeddings([question], asked=True)[0]

    def _kept(self, kept: OrderedDict[str, Floats], question: str, encode: Callable[[], Floats]) -> Floats:
        with self._lock:
            if question in kept:
                kept.move_to_end(question)
                return kept[question]
        made = encode()  # outside the lock: whoever else asks now encodes too, and gets the same
        with self._lock:
            kept[question] = made
            while len(kept) > self._most:
                kept.popitem(last=False)
        return made
