"""Rerankers: late interaction over an encoder's own tokens, or a cross-encoder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError, ModelMissingError
from fedrag_flwr.models.encoder import weights_id

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class TokenEncoder(Protocol):
    """An encoder that gives the vectors of single tokens."""

    @property
    def id(self) -> str:
        """Name and content hash."""
        ...

    def token_embeddings(self, texts: Sequence[str], *, asked: bool = False) -> list[NDArray[np.float32]]:
        """Encode the tokens of passages, or with `asked` of questions, unit rows."""
        ...


class LateInteractionReranker:
    """Scores a text by the mean over the query's tokens of their best match in it (MaxSim), in [-1, 1]."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

    @property
    def id(self) -> str:
        """The encoder's id and the manner of scoring."""
        return f"maxsim({self._encoder.id})"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Relevance of each text, shape (n,)."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        [asked] = self._encoder.token_embeddings([query], asked=True)
        tokens = self._encoder.token_embeddings(texts)
        starts = np.cumsum([0] + [len(rows) for rows in tokens[:-1]])
        best = np.maximum.reduceat(asked @ np.concatenate(tokens).T, starts, axis=1)
        return np.asarray(best.mean(axis=0), dtype=np.float32)


class CrossEncoderReranker:
    """A sentence-transformers cross-encoder, loaded on first use and never from the network.

    Parameters
    ----------
    path
        The model's directory.
    batch_size
        Pairs in one forward pass.

    Raises
    ------
    ModelMissingError
        There is no model at the path.
    """

    def __init__(self, path: str | Path, *, batch_size: int = 16) -> None:
        self._path = Path(path).expanduser()
        if not self._path.is_dir():
            raise ModelMissingError("no such model directory", where=str(path), fix="give the directory of a model")
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._model: CrossEncoder | None = None
        self._id = ""

    @property
    def id(self) -> str:
        """Name and the first 12 hex digits of the weights' SHA-256."""
        self._id = self._id or weights_id(self._path)
        return self._id

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Relevance of each text, shape (n,).

        Raises
        ------
        ModelError
            The model cannot be loaded, or does not give one score for each pair.
        """
        if not texts:
            return np.zeros(0, dtype=np.float32)
        pairs = [(query, text) for text in texts]
        model = self._loaded()
        with self._lock:  # a tokenizer serves one thread at a time
            raw = model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False)
        scores = np.asarray(raw, dtype=np.float32)
        if scores.shape != (len(texts),):
            raise ModelError("the cross-encoder gives more than one score for a pair", where=self._path.name)
        return scores

    def _loaded(self) -> CrossEncoder:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> CrossEncoder:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise ModelError(
                "sentence-transformers is not installed", fix="pip install sentence-transformers"
            ) from error
        try:
            model: CrossEncoder = CrossEncoder(str(self._path), local_files_only=True)
        except Exception as error:  # whatever the libraries below make of a broken file
            raise ModelError(
                f"the cross-encoder cannot be loaded ({type(error).__name__})",
                where=self._path.name,
                fix="verify its files",
            ) from error
        return model
