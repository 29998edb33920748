"""Memories, questions and answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Self

from fedrag_flwr.records.base import (
    MOST_LINE,
    MOST_SECONDS,
    AnswerPath,
    Bound,
    Cosine,
    Count,
    Line,
    Name,
    Paragraph,
    Seconds,
    Step,
    Vector,
    Weight,
)
from fedrag_flwr.records.documents import ChosenPath

MOST_DECISIONS = 16
_FAILED = "failed: "


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """A question-answer memory with its support (FD-RAG eq. 10).

    At its origin `hyperedges` and `support` are ids of the device's own hyperedges and sentences; in a shared item
    `hyperedges` are opaque ids that only the origin can resolve, and `support` is empty.
    """

    id: Name
    question: Line
    answer: Line
    kind: Name  # single, set or multi-hop
    answer_type: Name
    hyperedges: Annotated[tuple[Name, ...], Bound(items=16)]
    anchors: Annotated[tuple[Line, ...], Bound(items=64)]
    embedding: Vector  # (dimension,), unit norm
    origin: Name
    support: Annotated[tuple[Name, ...], Bound(items=16)] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A memory item with its score for a question (FD-RAG eq. 11), and its likeness alone."""

    item: MemoryItem
    score: float
    similarity: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the device at which it is asked. Gold answers never travel with it.

    Beyond its home the text is empty where the question waits in the home's outbox and nobody else needs to read it.
    """

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
            min(self.seconds + other.seconds, MOST_SECONDS),  # what others claim adds up to no more than may travel
            self.llm_calls + other.llm_calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.replayed or other.replayed,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """One step on the way to an answer: what was decided, in words, and what decided it."""

    step: Step  # what it was about
    said: Line  # the decision and its reason
    # score, threshold: what was measured, and what it was compared with; both 0 where nothing was.
    score: Weight = 0.0
    threshold: Weight = 0.0


@dataclass(frozen=True, slots=True)
class Explained:
    """What came about by decisions, the first one first; no more than `MOST_DECISIONS` are kept."""

    decisions: Annotated[tuple[Decision, ...], Bound(items=MOST_DECISIONS)] = field(default=(), kw_only=True)

    @property
    def explanation(self) -> str:
        """All decisions in one line."""
        return "; ".join(one.said for one in self.decisions if one.said)[:MOST_LINE]

    def decided(self, *later: Decision) -> Self:
        """The same after further decisions."""
        return replace(self, decisions=(*self.decisions, *later)[:MOST_DECISIONS])

    def after(self, *earlier: Decision) -> Self:
        """The same with decisions that came before."""
        return replace(self, decisions=(*earlier, *self.decisions)[:MOST_DECISIONS])


def as_line(text: str) -> str:
    """A text without space around it, cut to the length that a line may have, at a word's end where it has any."""
    text = text.strip()
    return text if len(text) <= MOST_LINE else text[: MOST_LINE + 1].rsplit(maxsplit=1)[0][:MOST_LINE]


def because(step: Step, said: str, score: float = 0.0, threshold: float = 0.0) -> Decision:
    """A decision, its words cut to the length that a line may have."""
    return Decision(step, said[:MOST_LINE], float(score), float(threshold))


@dataclass(frozen=True, slots=True)
class Citation:
    """A sentence of an answer, and the unit that bears it, as ``origin/id``."""

    sentence: Line
    source: Line


@dataclass(frozen=True, slots=True)
class Answer(Explained):
    """An answer, how it came about, and the ids by which it is traced to documents.

    `sources` holds ``origin/id`` references: memory items and units, opaque beyond the device that owns them.
    `score` is its confidence, the probability in [0, 1] that it is right. `report` holds statements with their origins,
    where one was written. `evidence`, the passage that bears it first, the answer `paths` by which its passages were
    chosen, the `citations` of its sentences and the question of the memory that was `recalled` stay on the device: the
    wire never carries them.
    """

    question_id: Name
    text: Line
    path: AnswerPath
    score: float
    sources: Annotated[tuple[Line, ...], Bound(items=64)] = ()
    cost: Cost = field(default_factory=Cost)
    evidence: tuple[EvidenceUnit, ...] = field(default=(), metadata={"local": True})
    paths: tuple[ChosenPath, ...] = field(default=(), metadata={"local": True})
    report: Line = ""
    citations: tuple[Citation, ...] = field(default=(), metadata={"local": True})
    recalled: Line = field(default="", metadata={"local": True})


def declined(question_id: str, said: str) -> Answer:
    """An abstention that says what stood in the way."""
    return Answer(question_id, "", "abstained", 0.0, decisions=(because("outcome", said),))


def failure(question_id: str, said: str) -> Answer:
    """The abstention that stands in an answer's place where an error kept it from being given."""
    return declined(question_id, f"{_FAILED}{said}")


def failed(answer: Answer) -> bool:
    """Whether an answer is the abstention that stands in an error's place."""
    return answer.path == "abstained" and any(one.said.startswith(_FAILED) for one in answer.decisions)
