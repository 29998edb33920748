"""The words of the system as frozen dataclasses; wire.py moves the ones that travel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Granularity = Literal["paragraph", "sentence"]
AnswerPath = Literal["memorizer", "cognizer", "remote", "cache", "abstained"]
AnswerMode = Literal["closed-book", "passages", "controlled", "own-memory", "memory", "graph", "gated"]
RetrieveBy = Literal["hyperedges", "graph"]
Share = Literal["memories"]
ControllerStage = Literal["moments", "fit", "keep"]


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a field of a travelling record may hold.

    Parameters
    ----------
    chars
        Longest text, in characters.
    items
        Most elements of a sequence.
    low, high
        Smallest and largest number.
    """

    chars: int = 0
    items: int = 0
    low: float = 0.0
    high: float = 0.0


Name = Annotated[str, Bound(chars=200)]
Line = Annotated[str, Bound(chars=2_000)]
Paragraph = Annotated[str, Bound(chars=20_000)]
Count = Annotated[int, Bound(low=0, high=2**40)]
Cosine = Annotated[float, Bound(low=-1.001, high=1.001)]
Weight = Annotated[float, Bound(low=-1e6, high=1e6)]
Seconds = Annotated[float, Bound(low=0.0, high=1e7)]


class Progress(Protocol):
    """Told about long work as it goes on."""

    def __call__(self, phase: str, done: int, total: int) -> None: ...


def silent(phase: str, done: int, total: int) -> None:
    """Ignore progress."""


# --- what a device reads and learns (never leaves it) -------------------------------------------


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
    """The answer path that speaks most for a passage: how a question leads to it (HKVM-RAG eq. 2 to 6).

    Parameters
    ----------
    passage_id
        The passage.
    bridge
        The vertex, in lower case, that all of the path's tuples share.
    weight, score
        The hyperedge's own weight, and its score for the question after diffusion.
    asked
        Vertices of the steps that the question mentions.
    steps
        The tuple of another passage whose other end the question mentions most, if there is one, and then the
        passage's own.
    """

    passage_id: str
    bridge: str
    weight: float
    score: float
    asked: tuple[str, ...]
    steps: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class ChosenPassage:
    """A passage that a controller put among the first, with its log-odds; `path` is None where none leads to it."""

    passage_id: str
    title: str
    score: float
    path: ChosenPath | None


# --- memories -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """A question-answer memory with its support (FD-RAG eq. 10).

    At its origin `hyperedges` and `support` are ids of the device's own hyperedges and sentences; in a shared item
    `hyperedges` are opaque ids that only the origin can resolve, and `support` is empty.
    """

    id: Name
    question: Line
    answer: Line
    kind: Name  # single, set, comparison, aggregation, multi-hop, post-processing, false-premise
    answer_type: Name
    hyperedges: Annotated[tuple[Name, ...], Bound(items=16)]
    anchors: Annotated[tuple[Line, ...], Bound(items=64)]
    embedding: Vector  # (dimension,), unit norm
    origin: Name
    support: Annotated[tuple[Name, ...], Bound(items=16)] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A memory item with its score for a question (FD-RAG eq. 11) and the two signals that the score combines."""

    item: MemoryItem
    score: float
    similarity: float
    cover: float


# --- questions and answers ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the device at which it is asked. Gold answers never travel with it."""

    id: Name
    text: Line
    home: Name


@dataclass(frozen=True, slots=True)
class EvidenceUnit:
    """One sentence or passage handed to the generator, and where it came from."""

    id: Name  # the unit's id at home, an opaque id when it came from another device
    text: Paragraph
    origin: Name
    score: Cosine
    title: Line = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one answer or build cost; `replayed` seconds come from the generation cache and were not measured now."""

    seconds: Seconds = 0.0
    llm_calls: Count = 0
    tokens_in: Count = 0
    tokens_out: Count = 0
    replayed: bool = False

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.seconds + other.seconds,
            self.llm_calls + other.llm_calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.replayed or other.replayed,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, how it came about, and the ids by which it is traced to documents.

    `sources` holds ``origin/id`` references: memory items and units, opaque beyond the device that owns them.
    `evidence`, and the answer `paths` by which its passages were chosen, stay on the device: the wire never carries
    them.
    """

    question_id: Name
    text: Line
    path: AnswerPath
    score: float
    explanation: Line
    sources: Annotated[tuple[Line, ...], Bound(items=64)] = ()
    cost: Cost = field(default_factory=Cost)
    evidence: tuple[EvidenceUnit, ...] = field(default=(), metadata={"local": True})
    paths: tuple[ChosenPath, ...] = field(default=(), metadata={"local": True})


# --- messages (DESIGN section 10) ---------------------------------------------------------------


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

    settings_digest: Name


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
    bank: Name  # id of the fused bank that this device has taken in, "" before the first
    bank_version: Count
    pending: Pending = NOTHING_PENDING  # the part of the bank's next delta that it has


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Asks a device to bring its memory up to date with its documents."""

    memories: bool  # False: units and their vectors only, as a device without memories needs
    graph: bool = False  # whether the knowledge graph, its communities and their summaries are needed


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did and what it cost; failed documents are named by opaque id, never by text."""

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
    loss: Annotated[tuple[float, ...], Bound(items=4_096)]
    cost: Cost
    peak_rss_mb: Seconds


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """Asks a device for what it shares and has changed since a version of a generation of its store."""

    what: Share
    since: Count
    generation: Name = ""
    pending: Pending = NOTHING_PENDING  # the part of the delta that the asking side has


@dataclass(frozen=True, slots=True)
class Delta:
    """New and retracted memories of one origin (upload) or of the fused bank (download).

    `origin` is a device's name, or the bank's id. With `since` 0 it is a whole snapshot: what it lacks is gone.
    Versions count within one `generation`: a store made anew, or a door that lets something else pass, begins another.
    What is too large for one message comes in pages: each holds what follows `after`, and the next one begins at
    `next`, which is `START` in the last; only then is the delta taken.
    """

    origin: Name
    since: Count
    version: Count
    items: Annotated[tuple[MemoryItem, ...], Bound(items=1_000_000)]
    retracted: Annotated[tuple[Name, ...], Bound(items=1_000_000)]
    withheld: Annotated[tuple[Name, ...], Bound(items=64)] = ()  # "reason=count" of what the door kept back
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
class AnswerRequest:
    """Questions for a device to answer in one mode."""

    mode: AnswerMode
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
    vector: Vector
    wants: Annotated[tuple[Want, ...], Bound(items=64)]
    seconds: Seconds = 0.0
    drafts: Annotated[tuple[Answer, ...], Bound(items=1)] = ()  # what home would answer if nobody can help


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
    """Evidence of one question, through the owner's privacy door."""

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


@dataclass(frozen=True, slots=True)
class SubgraphSummary:
    """What a part of a device's knowledge graph is about (DGRAG 3.2); `text` is empty where the vector is enough.

    The id is opaque and stands for the content: what is about something else has another.
    """

    id: Name
    text: Line
    vector: Vector  # (dimension,), unit norm
    origin: Name


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """Asks a device for the summaries beyond those that the asking side knows by id, of one generation."""

    generation: Name
    known: Annotated[tuple[Name, ...], Bound(items=1_000_000)]


@dataclass(frozen=True, slots=True)
class SummaryBatch:
    """Summaries that are new, ids that are no longer true, and whether there are more to ask for.

    Where the generation is another than was asked for, everything that the asking side knows of the device is void.
    """

    device: Name
    generation: Name
    version: Count
    summaries: Annotated[tuple[SubgraphSummary, ...], Bound(items=100_000)]
    retracted: Annotated[tuple[Name, ...], Bound(items=1_000_000)]
    withheld: Annotated[tuple[Name, ...], Bound(items=64)] = ()  # "reason=count"
    more: bool = False


@dataclass(frozen=True, slots=True)
class SummaryOverview:
    """The vectors of all devices' summaries, without texts, by which a device sees whether others know more."""

    summaries: Annotated[tuple[SubgraphSummary, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class DocumentsRequest:
    """Asks a device for its whole documents; only the centralised reference does, and only who allows it complies."""


@dataclass(frozen=True, slots=True)
class SharedDocument:
    """A whole document under an opaque id; its text in parts, one after the other."""

    id: Name
    title: Line
    parts: Annotated[tuple[Paragraph, ...], Bound(items=10_000)]

    @property
    def text(self) -> str:
        """The parts together."""
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """A device's whole documents."""

    device: Name
    documents: Annotated[tuple[SharedDocument, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class ControllerRequest:
    """One step of training a controller together.

    `moments` asks for the moments of the features, `fit` for weights after some epochs over own questions, and `keep`
    hands out the weights that came of it. `weights` end with the bias; `features` names the features.
    """

    stage: ControllerStage
    features: Name
    round: Count = 0
    devices: Count = 0  # that train
    epochs: Annotated[int, Bound(low=1, high=10_000)] = 1
    mean: Annotated[tuple[Weight, ...], Bound(items=1_024)] = ()
    deviation: Annotated[tuple[Weight, ...], Bound(items=1_024)] = ()
    weights: Annotated[tuple[Weight, ...], Bound(items=1_024)] = ()


@dataclass(frozen=True, slots=True)
class ControllerUpdate:
    """What a device gives to a controller: numbers, and how many examples they rest on; 0 where it has none."""

    device: Name
    examples: Annotated[int, Bound(low=0, high=1_000_000)]
    values: Annotated[tuple[Weight, ...], Bound(items=1_024)]


Clock = Callable[[], float]
