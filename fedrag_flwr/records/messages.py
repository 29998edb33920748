"""The messages that all strategies share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fedrag_flwr.records.answers import Answer, Cost, EvidenceUnit, MemoryItem, Question
from fedrag_flwr.records.base import (
    AnswerMode,
    Bound,
    Count,
    HiddenVector,
    Key,
    Line,
    Name,
    RetrieveBy,
    Seconds,
    Vector,
)
from fedrag_flwr.records.walking import Topics


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place in a delta: after so many retractions, and after the memory in one row of one version of a store."""

    retracted: Count = 0
    version: Count = 0
    row: Count = 0


START = Cursor()


@dataclass(frozen=True, slots=True)
class Pending:
    """A delta of which some pages have come: of which generation, between which versions, and where the rest begins."""

    generation: Name = ""
    since: Count = 0
    version: Count = 0
    after: Cursor = START

    def place(self, generation: str, since: int, version: int) -> Cursor:
        """Where the delta between these versions goes on: its start, if this is a part of another."""
        same = (self.generation, self.since, self.version) == (generation, since, version)
        return self.after if same else START


NOTHING_PENDING = Pending()


@dataclass(frozen=True, slots=True)
class DescribeRequest:
    """Asks a device who it is."""


@dataclass(frozen=True, slots=True)
class DeviceCard:
    """A device's name, models and counts."""

    name: Name
    sources: Annotated[tuple[Name, ...], Bound(items=32)]
    encoder_id: Name
    dimension: Annotated[int, Bound(low=1, high=8192)]
    generator_id: Name
    documents: Count
    items: Count
    version: Count
    shared_memory: Name  # id of the one that this device has taken in, "" before the first
    shared_memory_version: Count
    pending: Pending = NOTHING_PENDING  # the part of the shared memory's next delta that it has
    key: Key = b""  # for whom messages to this device are sealed


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Asks a device to bring its memory up to date with its documents."""

    memories: bool  # False: units and their vectors only, as a device without memories needs
    graph: bool = False  # whether the knowledge graph, its communities and their summaries are needed


NO_MEMORY = "no memory"  # what a report says of a document that is searched, and on which no memory rests
NOT_ENGLISH = f"{NO_MEMORY}, as it is not in English"


def has_no_memory(told: str) -> bool:
    """Whether a line on a document says that it is read, and that no memory rests on it."""
    return told.rpartition(": ")[2] in (NO_MEMORY, NOT_ENGLISH)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did and what it cost; failed documents are named by opaque id, never by text.

    `files` counts the files that were read, `skip_counts` those that are not to be, by reason; `skipped` names these
    ("name: reason") and stays on the device.
    """

    device: Name
    version: Count
    documents: Count
    added: Count
    changed: Count
    removed: Count
    passages: Count
    sentences: Count
    hyperedges: Count
    orphans: Count
    items: Count
    corpus_tokens: Count
    failed: Annotated[tuple[Line, ...], Bound(items=10_000)]
    rejects: Annotated[tuple[Name, ...], Bound(items=64)]  # "reason=count"
    cost: Cost
    peak_rss_mb: Seconds
    state: Name = ""  # see `DocumentState`
    graph: Annotated[
        tuple[Name, ...], Bound(items=8)
    ] = ()  # "communities=count", "modularity=share", where there is one
    files: Count = 0
    skip_counts: Annotated[tuple[Name, ...], Bound(items=32)] = ()  # "reason=count"
    skipped: Annotated[tuple[Line, ...], Bound(items=0)] = ()


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """Asks a device for memories that it shares and has changed since a version of a generation of its store."""

    since: Count
    generation: Name = ""
    pending: Pending = NOTHING_PENDING  # the part of the delta that the asking side has


@dataclass(frozen=True, slots=True)
class Delta:
    """New and retracted memories of one origin (upload) or of the shared memory (download).

    `origin` is a device's name or the shared memory's id. With `since` 0 it is a whole snapshot: what it lacks is gone.
    Versions count within one `generation`: a store made anew, or a filter that lets something else pass,
    begins another.
    What is too large for one message comes in pages: each holds what follows `after`, and the next one begins at
    `next`, which is `START` in the last; only then is the delta taken.
    """

    origin: Name
    since: Count
    version: Count
    items: Annotated[tuple[MemoryItem, ...], Bound(items=1_000_000)]
    retracted: Annotated[tuple[Name, ...], Bound(items=1_000_000)]
    generation: Name = ""
    after: Cursor = START
    next: Cursor = START


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What a device took from a delta; `next` is where the page that it waits for begins, `START` with the last."""

    device: Name
    accepted: Count
    retracted: Count
    refused: Annotated[tuple[Name, ...], Bound(items=64)]  # "reason=count"
    version: Count
    next: Cursor = START


@dataclass(frozen=True, slots=True)
class DocumentState:
    """A name for a device's documents as they are: another as soon as any of them changes. It says nothing else."""

    device: Name
    state: Name


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Questions for a device to answer in one mode."""

    mode: AnswerMode
    questions: Annotated[tuple[Question, ...], Bound(items=10_000)]
    states: Annotated[tuple[DocumentState, ...], Bound(items=100_000)] = ()  # as the devices of this run told them


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """Asks a device for questions that its people have put and that home could not answer well."""

    texts: bool  # whether the strategy needs what they say; else they come without
    most: Annotated[int, Bound(low=1, high=10_000)]
    enclave: bool = False  # whether their texts will be sealed for an enclave


@dataclass(frozen=True, slots=True)
class WaitingBatch:
    """Questions that wait at a device; those whose text stays there come with an empty one."""

    device: Name
    questions: Annotated[tuple[Question, ...], Bound(items=10_000)]


@dataclass(frozen=True, slots=True)
class Want:
    """Hyperedges of one owner whose evidence an open question needs."""

    question_id: Name
    owner: Name
    hyperedges: Annotated[tuple[Name, ...], Bound(items=64)]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that home cannot close: its needs, the vector that stands for it abroad, and the seconds so far.

    `seconds` are those that no draft's cost holds.
    """

    question_id: Name
    vector: HiddenVector
    wants: Annotated[tuple[Want, ...], Bound(items=64)]
    seconds: Seconds = 0.0
    drafts: Annotated[tuple[Answer, ...], Bound(items=1)] = ()  # what home would answer if nobody can help
    topics: Topics = ()


@dataclass(frozen=True, slots=True)
class AnswerBatch:
    """Answers, and the questions still open."""

    device: Name
    answers: Annotated[tuple[Answer, ...], Bound(items=10_000)]
    open: Annotated[tuple[OpenQuestion, ...], Bound(items=10_000)]
    peak_rss_mb: Seconds


@dataclass(frozen=True, slots=True)
class EvidenceRequest:
    """One question's vector, the hyperedges asked about, and how many units may come back."""

    question_id: Name
    vector: Vector
    hyperedges: Annotated[tuple[Name, ...], Bound(items=64)]
    budget: Annotated[int, Bound(low=1, high=64)]


@dataclass(frozen=True, slots=True)
class RetrieveRequest:
    """Evidence requests of one round for one owner: from the hyperedges that they name, or by its knowledge graph."""

    requests: Annotated[tuple[EvidenceRequest, ...], Bound(items=10_000)]
    by: RetrieveBy = "hyperedges"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of one question, through the owner's export filter."""

    question_id: Name
    units: Annotated[tuple[EvidenceUnit, ...], Bound(items=256)]


@dataclass(frozen=True, slots=True)
class EvidenceBatch:
    """An owner's evidence for one round."""

    device: Name
    evidence: Annotated[tuple[Evidence, ...], Bound(items=10_000)]
    seconds: Seconds


@dataclass(frozen=True, slots=True)
class FinishRequest:
    """Open questions with the evidence that other devices gave."""

    questions: Annotated[tuple[Question, ...], Bound(items=10_000)]
    evidence: Annotated[tuple[Evidence, ...], Bound(items=10_000)]
    mode: AnswerMode = "memory"  # that left them open
