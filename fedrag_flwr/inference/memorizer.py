"""The fast path: the best-matching memory answers, without a language model (FD-RAG 4.2, eq. 11-13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.memory.matching import Matcher
from fedrag_flwr.records import Fact, Match, Vector
from fedrag_flwr.text.anchors import anchors_of
from fedrag_flwr.text.base import QuestionAnalysis

# Answer types that answer the same kind of question share an anchor.
_TYPE_ANCHORS = {
    "PERSON": "person",
    "DATE": "time",
    "YEAR": "time",
    "TIME": "time",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "CARDINAL": "number",
    "QUANTITY": "number",
    "MONEY": "money",
    "PERCENT": "number",
    "YESNO": "yesno",
}


def type_anchor(answer_type: str) -> tuple[str, ...]:
    """The anchor that stands for a type of answer: a typed concept of the question (FD-RAG 4.2); none where open."""
    coarse = _TYPE_ANCHORS.get(answer_type)
    return (f"answer:{coarse}",) if coarse else ()


def question_anchors(analysis: QuestionAnalysis) -> tuple[str, ...]:
    """A question's anchor set for matching: its typed spans and the type of answer it asks for."""
    return (*analysis.anchors, *type_anchor(analysis.answer_type))


def item_anchors(facts: Sequence[Fact], answer_type: str) -> tuple[str, ...]:
    """A memory's anchor set: the typed spans of its question and the type of its answer."""
    return (*anchors_of(facts), *type_anchor(answer_type))


@dataclass(frozen=True, slots=True)
class Memorizer:
    """Answers from memory where the best match is near enough.

    Parameters
    ----------
    matcher
        Exact matching over the memory bank.
    delta
        The least score at which memory answers (eq. 13).
    """

    matcher: Matcher
    delta: float

    def recall(self, vector: Vector, analysis: QuestionAnalysis, k: int) -> list[Match]:
        """The k best memories for a question with an embedding of shape (dimension,), best first."""
        return self.matcher.top(vector, question_anchors(analysis), k)

    def answers(self, matches: list[Match]) -> bool:
        """Whether the best match is near enough to answer without the model."""
        return bool(matches) and matches[0].score >= self.delta
