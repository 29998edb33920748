"""What a device reads and learns; it never leaves the device."""

from __future__ import annotations

from dataclasses import dataclass

from fedrag_flwr.records.base import Granularity, Vector


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a device's source, as read."""

    id: str
    title: str
    text: str
    digest: str  # SHA-256 over title and text


@dataclass(frozen=True, slots=True)
class Fact:
    """A typed span of text (FD-RAG eq. 9); `anchor` is its normal form, equal for equal things."""

    text: str
    type: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence unit; `facts` were found in it by the text pipeline."""

    id: str
    passage_id: str
    text: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph unit with its document's title and its sentences, in reading order."""

    id: str
    document_id: str
    title: str
    text: str
    sentences: tuple[Sentence, ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of all its sentences, in reading order."""
        return tuple(fact for sentence in self.sentences for fact in sentence.facts)


@dataclass(frozen=True, slots=True)
class Hyperedge:
    """A learnt group of units of one granularity (FD-RAG eq. 4-5).

    `members` are unit ids, `weights` their memberships in (0, 1], `prototype` the weighted mean of their embeddings.
    """

    id: str
    granularity: Granularity
    members: tuple[str, ...]
    weights: tuple[float, ...]
    prototype: Vector


@dataclass(frozen=True, slots=True)
class EvidenceTuple:
    """A relation that a passage states, with the extractor's confidences in [0, 1] (HKVM-RAG eq. 1).

    `factual` says how plainly the passage states it, `salience` how much the passage is about it, and `bridge` how
    likely an end of it leads on to another passage; the defaults stand for an extractor that does not say. `confidence`
    scales what the tuple adds to a score, whatever the weighting.
    """

    head: str
    relation: str
    tail: str
    passage_id: str
    factual: float = 1.0
    salience: float = 0.5
    bridge: float = 0.0
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class PathStep:
    """One tuple of an answer path, and the passage that states it."""

    head: str
    relation: str
    tail: str
    passage_id: str


@dataclass(frozen=True, slots=True)
class ChosenPath:
    """The answer path that speaks most for a passage: how a question leads to it (HKVM-RAG eq. 2 to 6)."""

    passage_id: str  # the passage
    bridge: str  # the vertex, in lower case, that all of the path's tuples share
    # weight, score: the hyperedge's own weight, and its score for the question after diffusion.
    weight: float
    score: float
    asked: tuple[str, ...]  # vertices of the steps that the question mentions
    # The tuple of another passage whose other end the question mentions most, if there is one, and then the passage's
    # own.
    steps: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class ChosenPassage:
    """A passage that a controller put among the first, with its log-odds; `path` is None where none leads to it."""

    passage_id: str
    title: str
    score: float
    path: ChosenPath | None
