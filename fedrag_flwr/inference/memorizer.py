"""The fast path: the best-matching memory answers, without a language model (FD-RAG 4.2, eq. 11-13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.inference.fitting import ASKS, Misfit
from fedrag_flwr.memory.matching import Matcher
from fedrag_flwr.records import Match, Vector
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
    """The anchor set of a question, asked or stored: its typed spans, and the type and the noun that it asks for."""
    asks = (f"{ASKS}{analysis.asks}",) if analysis.asks else ()
    return (*analysis.anchors, *type_anchor(analysis.answer_type), *asks)


def item_anchors(analysis: QuestionAnalysis, answer_type: str) -> tuple[str, ...]:
    """The anchor set of a memory: that of its question, with the type of the answer that it holds."""
    return question_anchors(replace(analysis, answer_type=answer_type or analysis.answer_type))


@dataclass(frozen=True, slots=True)
class Memorizer:
    """Answers from memory where the best match that fits is near enough.

    Parameters
    ----------
    matcher
        Exact matching over the memory bank.
    delta
        The least score at which memory answers (eq. 13).
    misfit
        Why an item cannot answer a question.
    """

    matcher: Matcher
    delta: float
    misfit: Misfit

    def recall(self, vector: Vector, analysis: QuestionAnalysis, k: int) -> list[Match]:
        """The k best memories for a question with an embedding of shape (dimension,), best first (eq. 14)."""
        return self.matcher.top(vector, question_anchors(analysis), k)

    def answer(self, question: str, analysis: QuestionAnalysis, matches: Sequence[Match]) -> Match | None:
        """The best of the matches that answers a question and is near enough; None where memory does not know."""
        near = (match for match in matches if match.score >= self.delta)
        return next((match for match in near if not self.misfit(question, analysis, match.item)), None)
