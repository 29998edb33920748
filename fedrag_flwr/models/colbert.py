"""ColBERT checkpoints: a BERT whose token vectors a linear projection shortens (Khattab and Zaharia 2020)."""

from __future__ import annotations

import json
import os
import string
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError, ModelMissingError
from fedrag_flwr.models.encoder import unit_rows, weights_id
from fedrag_flwr.models.files import files_sha256

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_BATCH = 32  # texts in one forward pass
_PROJECTION = "linear.weight"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_METADATA = ("artifact.metadata", "config_sentence_transformers.json")  # ColBERT's own, PyLate's


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a checkpoint wants its texts: markers, lengths in tokens, and which tokens of a passage do not count."""

    question_marker: str = "[unused0]"
    passage_marker: str = "[unused1]"
    question_length: int = 32
    passage_length: int = 300
    skipped: tuple[str, ...] = tuple(string.punctuation)
    attend_to_masks: bool = False

    @classmethod
    def of(cls, folder: Path) -> _Manner:
        """Read the checkpoint's metadata."""
        own, other = (folder / name for name in _METADATA)
        plain = cls()
        if own.is_file():
            told = _json(own)
            return cls(
                str(told.get("query_token_id", plain.question_marker)),
                str(told.get("doc_token_id", plain.passage_marker)),
                _length(told, "query_maxlen", plain.question_length, own),
                _length(told, "doc_maxlen", plain.passage_length, own),
                plain.skipped if told.get("mask_punctuation", True) else (),
                bool(told.get("attend_to_mask_tokens", False)),
            )
        told = _json(other) if other.is_file() else {}
        skipped = told.get("skiplist_words", plain.skipped)
        return cls(
            str(told.get("query_prefix", plain.question_marker)).strip(),
            str(told.get("document_prefix", plain.passage_marker)).strip(),
            _length(told, "query_length", plain.question_length, other),
            _length(told, "document_length", plain.passage_length, other),
            tuple(map(str, skipped)) if isinstance(skipped, list | tuple) else plain.skipped,
            bool(told.get("attend_to_expansion_tokens", False)),
        )


class ColbertEncoder:
    """Token vectors of a ColBERT checkpoint, loaded on first use and never from the network.

    A question gets its marker and is filled up with ``[MASK]`` tokens, whose vectors count too; of a passage the
    vectors of punctuation do not.

    Parameters
    ----------
    path
        The checkpoint's folder: ColBERT's own form (``config.json``, a tokenizer, weights with ``linear.weight`` beside
        BERT's, ``artifact.metadata``), or PyLate's (the projection in ``1_Dense``).
    threads
        Threads of torch, for the whole process; None: left as they are.

    Raises
    ------
    ModelMissingError
        There is no such folder.
    """

    def __init__(self, path: str | Path, *, threads: int | None = None) -> None:
        self._path = Path(path).expanduser()
        if not self._path.is_dir():
            raise ModelMissingError("no such model directory", where=str(path), fix="give the folder of a checkpoint")
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._id = ""

    @property
    def id(self) -> str:
        """Name and the first 12 hex digits of the weights' SHA-256, and of one with the projection and the metadata.

        Raises
        ------
        ModelMissingError
            The folder holds no weights.
        """
        if not self._id:
            beside = [file for name in _METADATA if (file := self._path / name).is_file()]
            self._id = f"{weights_id(self._path)}+{files_sha256([*_weights(self._path), *beside])[:12]}"
        return self._id

    def token_embeddings(self, texts: Sequence[str], *, asked: bool = False) -> list[NDArray[np.float32]]:
        """Encode the tokens of texts: for each an array of shape (tokens, width) with unit rows.

        Parameters
        ----------
        texts
            Passages, or with `asked` questions.
        asked
            Whether they are questions.

        Raises
        ------
        ModelError
            The folder is no ColBERT checkpoint, or cannot be loaded.
        """
        with self._lock:  # a tokenizer serves one thread at a time
            self._loaded = self._loaded or _load(self._path, self._threads)
            starts = range(0, len(texts), _BATCH)
            return [rows for at in starts for rows in self._loaded.encode(texts[at : at + _BATCH], asked=asked)]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A checkpoint in memory; `projection` has the shape (width, hidden)."""

    tokenizer: PreTrainedTokenizerBase
    model: PreTrainedModel
    projection: Tensor
    manner: _Manner
    markers: tuple[int, int]  # of questions, of passages
    skipped: frozenset[int]

    def encode(self, texts: Sequence[str], *, asked: bool) -> list[NDArray[np.float32]]:
        import torch

        length = self.manner.question_length if asked else self.manner.passage_length
        marker = self.markers[0] if asked else self.markers[1]
        begin, end = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        plain = self.tokenizer(
            list(texts), add_special_tokens=False, truncation=True, max_length=length - 3, verbose=False
        )["input_ids"]
        rows = [[begin, marker, *own, end] for own in plain]
        width = length if asked else max(map(len, rows))
        fill = self.tokenizer.mask_token_id if asked else self.tokenizer.pad_token_id
        ids = torch.tensor([row + [fill] * (width - len(row)) for row in rows])
        everywhere = asked and self.manner.attend_to_masks
        seen = torch.tensor([[1] * len(row) + [int(everywhere)] * (width - len(row)) for row in rows])
        with torch.inference_mode():
            hidden = self.model(input_ids=ids, attention_mask=seen).last_hidden_state
            vectors = (hidden @ self.projection.T).float().numpy()
        if asked:
            return [unit_rows(own) for own in vectors]
        counted = [[place for place, one in enumerate(row) if one not in self.skipped] for row in rows]
        return [unit_rows(own[places]) for own, places in zip(vectors, counted, strict=True)]


def _load(folder: Path, threads: int | None) -> _Loaded:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import torch
    from transformers import AutoModel, AutoTokenizer

    if threads is not None:
        torch.set_num_threads(threads)
    projection = _projection(folder)
    manner = _Manner.of(folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(  # type: ignore[no-untyped-call, unused-ignore]
            str(folder), local_files_only=True
        )
        model = AutoModel.from_pretrained(str(folder), local_files_only=True).eval()
    except Exception as error:  # whatever the libraries below make of a broken file
        raise ModelError(
            f"the checkpoint cannot be loaded ({type(error).__name__})", where=folder.name, fix="verify its files"
        ) from error
    if projection.ndim != 2 or projection.shape[1] != model.config.hidden_size:
        raise ModelError("the projection does not fit the model's vectors", where=folder.name, fix="verify its files")
    markers = [tokenizer.convert_tokens_to_ids(name) for name in (manner.question_marker, manner.passage_marker)]
    if tokenizer.unk_token_id in markers or None in markers or tokenizer.mask_token_id is None:
        raise ModelError("the tokenizer lacks the checkpoint's markers", where=folder.name, fix="verify its files")
    skipped = frozenset(tokenizer.convert_tokens_to_ids(list(manner.skipped))) - {tokenizer.unk_token_id}
    return _Loaded(tokenizer, model, projection, manner, (markers[0], markers[1]), skipped)


def _weights(folder: Path) -> list[Path]:
    """Where the projection may lie: the checkpoint's own weights, and those of the module after them."""
    return [file for place in (folder, folder / "1_Dense") for name in _WEIGHTS if (file := place / name).is_file()]


def _projection(folder: Path) -> Tensor:
    for file in _weights(folder):
        if (found := _tensor(file)) is not None:
            return found.float()
    raise ModelError(
        "this is no ColBERT checkpoint: it has no projection of token vectors",
        where=folder.name,
        fix=f"give a folder whose weights hold {_PROJECTION}",
    )


def _tensor(file: Path) -> Tensor | None:
    from pickle import UnpicklingError

    import torch
    from safetensors import SafetensorError, safe_open

    try:
        if file.suffix == ".safetensors":
            with safe_open(str(file), framework="pt") as weights:
                return weights.get_tensor(_PROJECTION) if _PROJECTION in weights.keys() else None  # noqa: SIM118
        found: Tensor | None = torch.load(file, map_location="cpu", weights_only=True).get(_PROJECTION)
        return found
    except (SafetensorError, OSError, EOFError, RuntimeError, ValueError, AttributeError, UnpicklingError) as error:
        raise ModelError("the weights cannot be read", where=file.name, fix="verify the file") from error


def _json(file: Path) -> Mapping[str, object]:
    try:
        told = json.loads(file.read_bytes())
    except (OSError, ValueError):
        told = None
    if not isinstance(told, dict):
        raise ModelError("the checkpoint's settings cannot be read", where=file.name, fix="verify the file")
    return told


def _length(told: Mapping[str, object], key: str, otherwise: int, file: Path) -> int:
    length = told.get(key, otherwise)
    if not isinstance(length, int) or not 4 <= length <= 8_192:
        raise ModelError(f"{key} is not a number of tokens", where=file.name, fix="verify the file")
    return length
