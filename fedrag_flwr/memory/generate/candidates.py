"""Candidates: question-answer pairs that become memories where nothing speaks against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.store.change import content_id
from fedrag_flwr.records import MemoryItem, Passage, Vector
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import QuestionAnalysis


def _no_vectors() -> NDArray[np.float32]:
    return np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question-answer pair that is not verified yet."""

    # question, answer: the pair; the answer is a span of the support, or of a set its spans.
    question: str
    answer: str
    kind: str  # "single" or "set"
    answer_type: str  # as in :class:`fedrag_flwr.text.base.QuestionAnalysis`, NAME for other names, "" when open
    support: tuple[str, ...]  # ids of the units that the answer rests on


def memory_id(device: str, candidate: Candidate, *, by_model: bool = False) -> str:
    """The id of the memory that a candidate becomes at a device; no model's is one of the templates'."""
    said = (candidate.kind, candidate.question, candidate.answer, *candidate.support)
    return content_id(device, *said, *(["by model"] if by_model else []))


def memory_of(
    device: str, candidate: Candidate, vector: Vector, analysis: QuestionAnalysis, *, by_model: bool = False
) -> MemoryItem:
    """The memory that a candidate becomes, with its question's vector, shape (dimension,), and analysis."""
    return MemoryItem(
        id=memory_id(device, candidate, by_model=by_model),
        question=candidate.question,
        answer=candidate.answer,
        kind=candidate.kind,
        answer_type=candidate.answer_type,
        hyperedges=(),
        anchors=item_anchors(analysis, candidate.answer_type),
        embedding=vector,
        origin=device,
        support=candidate.support,
    )


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates that are sound by themselves, with their questions' vectors, (n, dimension).

    `kept`, shape (n,), tells those that passed the round-trip filter: the memories. The others stay at hand, since
    what spoke against them may go.
    """

    items: tuple[Candidate, ...] = ()
    vectors: NDArray[np.float32] = field(default_factory=_no_vectors)
    kept: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.items)

    def at(self, rows: Sequence[int] | NDArray[np.intp]) -> Candidates:
        """Some of them, by row."""
        chosen = np.asarray(rows, dtype=np.intp)
        return Candidates(tuple(self.items[row] for row in chosen), self.vectors[chosen], self.kept[chosen])

    def where(self, holds: Callable[[Candidate], bool]) -> Candidates:
        """Those for which something holds."""
        return self.at([row for row, candidate in enumerate(self.items) if holds(candidate)])

    def __add__(self, other: Candidates) -> Candidates:
        if not (len(self) and len(other)):
            return self if len(self) else other
        return Candidates(
            self.items + other.items,
            np.concatenate([self.vectors, other.vectors]),
            np.concatenate([self.kept, other.kept]),
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """What a device holds of documents that did not change, and what went with those that did."""

    passages: Sequence[Passage] = ()  # of the documents that did not change
    candidates: Candidates = field(default_factory=Candidates)  # what the templates made of these
    # Vectors of sentences that went, shape (n, dimension).
    gone: NDArray[np.float32] = field(default_factory=_no_vectors)
    gone_questions: Sequence[str] = ()  # questions that went with them
    stale: bool = False  # whether sentences came or went before without the candidates having been filtered by it
