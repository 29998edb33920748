"""A small token classifier for personal data: how likely each character is of a name or of a personal number.

The weights are *Rampart* of National Design Studio (CC BY 4.0), 15 MB in ONNX. They read words without their case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.registry import PERSONAL_DATA, PERSONAL_DATA_TOKENS

if TYPE_CHECKING:
    from tokenizers import Encoding

_NAME = slice(1, 5)  # the labels of given names and surnames
_PHONE = slice(7, 9)
_NUMBER = slice(11, 23)  # tax, bank, routing, government, passport and licence numbers
_WINDOW, _OVERLAP = 480, 64  # characters; in longer windows it finds fewer numbers
_MOST_TOKENS = 512  # that the model reads at once
_KEPT = 4_096
_SPACE = re.compile(r"\s")

Chances = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Marks:
    """The chance of each character of a text, shape (length,), to be of a person's name, a phone number, a number."""

    name: Chances
    phone: Chances
    number: Chances


@lru_cache(maxsize=_KEPT)
def marks(text: str) -> Marks:
    """Read a text; raises ModelMissingError where the weights are not here and cannot be fetched."""
    found = np.zeros((3, len(text)), dtype=np.float32)
    for start, encoding in _read(text):
        chances = _classified(encoding)
        for (first, last), of_token in zip(encoding.offsets, chances, strict=True):
            place = slice(start + first, start + last)
            told = [of_token[labels].sum() for labels in (_NAME, _PHONE, _NUMBER)]
            found[:, place] = np.maximum(found[:, place], np.array(told, dtype=np.float32)[:, None])
    return Marks(*found)


def _read(text: str) -> Iterator[tuple[int, Encoding]]:
    """The tokens of parts of a text that overlap, each from the beginning of a word, and where the parts begin."""
    start = 0
    while start + _WINDOW < len(text):
        yield from _tokens(text, start, start + _WINDOW)
        space = _SPACE.search(text, start + _WINDOW - _OVERLAP, start + _WINDOW)
        start = space.end() if space else start + _WINDOW - _OVERLAP
    yield from _tokens(text, start, len(text))


def _tokens(text: str, start: int, end: int) -> Iterator[tuple[int, Encoding]]:
    """The tokens of a part; in scripts of which a character is several tokens, of its halves."""
    encoding = _model()[1].encode(text[start:end])
    if len(encoding.ids) <= _MOST_TOKENS:
        yield start, encoding
        return
    middle, overlap = (start + end) // 2, min(_OVERLAP, (end - start) // 4)
    yield from _tokens(text, start, middle + overlap // 2)
    yield from _tokens(text, middle - overlap // 2, end)


def _classified(encoding: Encoding) -> Chances:
    """The chances of each label for each token, shape (tokens, labels)."""
    session, _ = _model()
    fed = {
        "input_ids": encoding.ids,
        "attention_mask": encoding.attention_mask,
        "token_type_ids": encoding.type_ids,
    }
    names = {one.name for one in session.get_inputs()}
    [logits] = session.run(None, {name: np.array([ids]) for name, ids in fed.items() if name in names})
    weights = np.exp(logits[0] - logits[0].max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@cache
def _model() -> tuple[Any, Any]:
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(resolve(PERSONAL_DATA)), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(resolve(PERSONAL_DATA_TOKENS)))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return session, tokenizer
