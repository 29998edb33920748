"""What goes into a store in one step, and the short accounts that it gives of itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import NotFoundError, StoreError, StoreMismatchError
from fedrag_flwr.records import Document, Hyperedge, MemoryItem, Passage, Vector


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document with its passages and the vectors of its units.

    `paragraph_vectors` is (p, dimension), one row a passage; `sentence_vectors` is (s, dimension), one row a sentence
    over all passages, both in reading order.
    """

    document: Document
    passages: tuple[Passage, ...]
    paragraph_vectors: NDArray[np.float32]
    sentence_vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A question and answer that are no memory, since something that the device holds speaks against them.

    The fields are those of a memory; `support` names its units.
    """

    id: str
    question: str
    answer: str
    kind: str
    answer_type: str
    support: tuple[str, ...]
    embedding: Vector


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a store, taken whole or not at all."""

    removed: tuple[str, ...] = ()  # ids of documents that go; an id that is not there is passed over
    documents: tuple[NewDocument, ...] = ()  # documents that come; one with a known id replaces the old one
    # All hyperedges from now on; None keeps those there, without the units that go.
    hyperedges: tuple[Hyperedge, ...] | None = None
    items: tuple[MemoryItem, ...] = ()  # own memories that come; one with a known id replaces the old one
    remembered: tuple[str, ...] = ()  # ids of documents whose memories are made
    by_model: tuple[str, ...] = ()  # ids of those memories that the model wrote
    # Sentences about which the model has written questions, with the tokens that this took.
    asked: Mapping[str, int] = field(default_factory=dict)
    held: tuple[Rejected, ...] = ()  # questions and answers that are rejected from now on
    withdrawn: tuple[str, ...] = ()  # ids of own memories, and of rejected ones, that go though their documents stay
    judged: bool = False  # whether memories were judged by the documents as they are after this change
    meta: Mapping[str, str] = field(default_factory=dict)  # values to keep beside the memory


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a store holds; `items` are its own, `imported` those of other origins."""

    documents: int
    passages: int
    sentences: int
    hyperedges: int
    items: int
    imported: int


@dataclass(frozen=True, slots=True)
class Contribution:
    """The ids of what one document brought: its units, the hyperedges they are in, the own items they support."""

    passages: tuple[str, ...]
    sentences: tuple[str, ...]
    hyperedges: tuple[str, ...]
    items: tuple[str, ...]


def content_id(*parts: str) -> str:
    """The id of a memory: first 32 hex digits of the SHA-256 over what makes it what it is."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def shared_id(origin: str, item_id: str) -> str:
    """The id of a device's memory at the server and at other devices; no other device's comes to it."""
    return content_id("shared", origin, item_id)


def fused_id(*parts: str) -> str:
    """The id of a memory that the server merged of others; no memory of a device comes to such an id."""
    # a beginning that they share would put them all in one place of their order
    return f"{content_id('merged', *parts)}-merged-fused"


def missing(kind: str, ids: Sequence[str]) -> NotFoundError:
    """Make the error for ids that are not in the store."""
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return NotFoundError(f"no such {kind} in the store{more}", where=ids[0], fix="it may have been removed since")


def check_place(passage: Passage, document_id: str) -> None:
    """See that a passage and its sentences name the parents that they stand in."""
    if passage.document_id != document_id or any(inner.passage_id != passage.id for inner in passage.sentences):
        raise StoreError("a passage or sentence names another parent", where=document_id, fix="parse it again")


def check_vectors(dimension: int, vectors: NDArray[np.float32], rows: int, where: str) -> None:
    """See that vectors are finite and of shape (rows, dimension)."""
    if vectors.shape != (rows, dimension) and (rows or vectors.size):
        raise StoreMismatchError(
            f"vectors of shape {vectors.shape} came, ({rows}, {dimension}) belong here",
            where=where,
            fix="encode with the recorded encoder",
        )
    if not np.isfinite(vectors).all():
        raise StoreError("a vector is not finite", where=where, fix="check the encoder")


def check_units(units: Iterable[str], numbers: Mapping[str, int], where: str) -> None:
    """See that units are among those that the store holds."""
    absent = [unit for unit in units if unit not in numbers]
    if absent:
        error = missing("unit", absent)
        raise type(error)(f"{where} names a unit that is not in the store", where=absent[0], fix=error.fix)
