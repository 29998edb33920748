"""What a source gives: documents, and what could not be read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from fedrag_flwr.errors import DocumentError, EmptySourceError
from fedrag_flwr.records import Document
from fedrag_flwr.text.words import normalise_line, normalise_text

_MOST_TITLE = 300  # characters


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be read: its file name (with line or id) and the reason, never its text.

    `document_id` is the one that it would have, where that is known: what was remembered of it stays meanwhile. If it
    is `guessed` the document may have had another: where none of this id is remembered, none is taken for removed.
    """

    name: str
    reason: str
    document_id: str = ""
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not to be read: its name, which stays on the device, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pass over a source gave.

    `skipped` has the files that are not to be read, and `files` counts those that were; `empty` names sources that hold
    nothing and may.
    """

    documents: tuple[Document, ...]
    failures: tuple[Failure, ...]
    skipped: tuple[Skipped, ...] = ()
    empty: tuple[str, ...] = ()
    files: int = 0


MEANT_EMPTY = "or, if it is meant to hold nothing, build once with --empty"


def mapped_documents(reading: Reading, missing: str, mapping: str) -> Reading:
    """Give what a mapping made of a source; raises EmptySourceError where it made no document, of which `missing` says
    what.
    """
    if reading.documents:
        return reading
    fix = f"check the mapping, {MEANT_EMPTY}"
    raise EmptySourceError(missing, where=mapping, fix=fix, bare=not reading.failures)


class Source(Protocol):
    """A device's documents."""

    @property
    def id(self) -> str:
        """Kind and place of the source; stays on the device."""
        ...

    def read(self) -> Reading:
        """Read all documents."""
        ...


@dataclass(frozen=True, slots=True)
class SourceHit:
    """A record that a source found for a question; it stays on the device.

    `document_id` is that of the document which the same source's `read` makes of the record, and `score` grows with
    relevance within one search.
    """

    document_id: str
    title: str
    text: str
    score: float


class SearchableSource(Source, Protocol):
    """A source that can also be asked (HyFedRAG 3.2)."""

    def search(self, question: str, k: int) -> tuple[SourceHit, ...]:
        """Find at most `k` records, best first; raises SourceError where the source cannot be reached, or took longer
        than its limit.
        """
        ...

    def version(self) -> str:
        """Give what changes whenever a record changes: what was made from another version is void."""
        ...


def make_document(document_id: str, title: str, text: str) -> Document:
    """Make a document in normal form with its digest; of a very long title the start counts; raises DocumentError where
    the text holds no letter and no digit, or the id is empty.
    """
    document_id, title, text = normalise_line(document_id), normalise_line(title), normalise_text(text)
    title = title[:_MOST_TITLE].strip()  # it stands before every sentence
    if not document_id:
        raise DocumentError("the document has an empty id", fix="give it an id or leave the field out")
    if not any(char.isalnum() for char in text):
        raise DocumentError("the document holds no text", where=document_id, fix="add text or remove the file")
    return Document(document_id, title, text, digest_of(title, text))


def digest_of(title: str, text: str) -> str:
    """Give the SHA-256 over a normalised title and text."""
    return hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()
