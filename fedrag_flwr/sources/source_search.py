"""What searchable sources share: the models, the question in bounds, and the entities that it names."""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.base import TextEncoder
from fedrag_flwr.models.encoder import LateInteractionReranker
from fedrag_flwr.records import Document
from fedrag_flwr.retrieval.sparse import words
from fedrag_flwr.sources.base import Reading, mapped_documents
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.words import normalise_anchor, normalise_line

T = TypeVar("T")
MOST_CHARS = 2_000  # of a question; the text pipeline reads no more either
MOST_ENTITIES = 12
_MOST_VECTORS = 20_000  # of texts, that are kept
_STATED = re.compile(r"\d{4}-\d{2}-\d{2}|\w+(?:[-/.]\w+)*\d\w*(?:[-/.]\w+)*")
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class SearchTools:
    """The models that searching needs; without a `reranker` the encoder's cosine stands in for it."""

    encoder: TextEncoder
    pipeline: Pipeline
    reranker: LateInteractionReranker | None = None

    def relevance(self, question: str, texts: list[str]) -> NDArray[np.float64]:
        """Score texts for a question by the reranker, in [0, 1], shape (n,)."""
        if not texts:
            return np.zeros(0)
        if self.reranker is not None:
            return unit_interval(self.reranker.score(question, texts))
        vectors = self.encoder.encode([question, *texts])
        return unit_interval(vectors[1:] @ vectors[0])


class Kept(Generic[T]):
    """One value, made anew when what it was made of has changed; safe under threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: tuple[T] | None = None
        self._stamp = ""
        self._made_at = 0.0

    def get(self, stamp: str, most_age: float, make: Callable[[], T]) -> T:
        """Give the value.

        Parameters
        ----------
        stamp
            What the source tells while nothing changes, asked before; "" where it tells nothing.
        most_age
            Without a stamp, how many seconds the value holds.
        make
            Makes it.
        """
        with self._lock:
            age = time.monotonic() - self._made_at
            if self._value is None or (stamp != self._stamp if stamp else age >= most_age):
                self._value = (make(),)
                self._stamp, self._made_at = stamp, time.monotonic()
            return self._value[0]


class Closeable(Protocol):
    """A connection."""

    def stamp(self) -> str:
        """Give what stays the same while nothing changes; "" where nothing tells."""
        ...

    def close(self) -> None:
        """Give it up."""
        ...


@dataclass(frozen=True, slots=True)
class Contents(Generic[T]):
    """What one reading of a mapped source gave: its parts, the documents that they become, and a digest of these."""

    parts: tuple[T, ...]
    reading: Reading
    version: str


class MappedSource(ABC, Generic[T]):
    """What a database and a graph share that are read through a mapping."""

    kind: ClassVar[str]  # the first part of its id
    missing: ClassVar[str]  # what is said where the mapping makes no document

    def __init__(self, name: str, store: Closeable) -> None:
        self._name = name
        self._opened = store
        self._contents: Kept[Contents[T]] = Kept()

    @property
    def id(self) -> str:
        """Kind and name."""
        return f"{self.kind}:{self._name}"

    def close(self) -> None:
        """Give up the connections."""
        self._opened.close()

    def read(self) -> Reading:
        """Read all documents; raises EmptySourceError where there is none, and SourceError where the source fails or
        takes longer than its limit.
        """
        return mapped_documents(self._read(0.0).reading, self.missing, self._name)

    def version(self) -> str:
        """Give a digest over all documents."""
        return self._read(0.0).version

    def _read(self, most_age: float) -> Contents[T]:
        """The contents, as they are now or, where the source tells nothing of changes, were within so many seconds."""
        return self._contents.get(self._opened.stamp(), most_age, self._read_all)

    @abstractmethod
    def _read_all(self) -> Contents[T]: ...


@dataclass(frozen=True, slots=True)
class Pool(Generic[T]):
    """What was found for one question: how well its words match, and its relevance by the reranker, shape (n,)."""

    found: tuple[T, ...]
    matched: NDArray[np.float64]
    semantic: NDArray[np.float64]


class TextVectors:
    """Encodes texts, many at once, and keeps the latest."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give the vectors of at least one text, (n, dimension), unit rows."""
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        found.update(zip(new, self._encoder.encode(new), strict=True))
        with self._lock:
            for text in texts:
                self._kept[text] = found[text]
                self._kept.move_to_end(text)
            while len(self._kept) > _MOST_VECTORS:
                self._kept.popitem(last=False)
        return np.stack([found[text] for text in texts])


@dataclass(frozen=True, slots=True)
class Entity:
    """What a question names: its words, and its normal form."""

    text: str
    anchor: str


def bounded(question: str) -> str:
    """Bring a question to one line of at most `MOST_CHARS` characters."""
    return normalise_line(question[: 4 * MOST_CHARS])[:MOST_CHARS]


def entities_of(question: str, pipeline: Pipeline) -> tuple[Entity, ...]:
    """Give the entities of a bounded question (HyFedRAG 3.3), each once, in reading order.

    To what the text pipeline finds come dates, codes and amounts as tables state them, which a model for prose misses.
    A question without any entity is searched by its words.
    """
    analysis = pipeline.question(question)
    named = [fact.text for fact in analysis.facts if fact.type != "ORDINAL"]
    stated = [found for found in _STATED.findall(question) if not any(found in text for text in named)]
    found = {anchor: Entity(text, anchor) for text in (*named, *stated) if (anchor := normalise_anchor(text))}
    if not found:
        found = {word: Entity(word, word) for word in map(normalise_anchor, _WORD.findall(question)) if word}
    return tuple(found.values())[:MOST_ENTITIES]


def word_shares(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Score n texts by the words of a question that they hold, in [0, 1], shape (n,).

    A word weighs the more the fewer of the texts hold it; words that none holds do not count.
    """
    asked = set(words(question))
    held = [asked.intersection(words(text)) for text in texts]
    counts = Counter(word for found in held for word in found)
    weights = {word: math.log1p(len(texts) / count) for word, count in counts.items()}
    total = sum(weights.values()) or 1.0
    return np.array([sum(weights[word] for word in sorted(found)) / total for found in held])


def unit_interval(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Clip scores to [0, 1]."""
    return np.clip(np.asarray(scores, dtype=np.float64), 0.0, 1.0)


def content_version(documents: Iterable[Document]) -> str:
    """Give a digest that changes whenever a document is added, changed or removed."""
    digest = hashlib.sha256()
    for line in sorted(f"{document.id}\x1f{document.digest}\n" for document in documents):
        digest.update(line.encode())
    return digest.hexdigest()[:32]
