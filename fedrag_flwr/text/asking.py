"""The anchor sets of questions, asked or stored: the same function for both."""

from __future__ import annotations

from dataclasses import replace

from fedrag_flwr.text.base import QuestionAnalysis

ASKS = "asks:"
MOST_ANCHORS = 64

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
    return (*analysis.anchors[: MOST_ANCHORS - 2], *type_anchor(analysis.answer_type), *asks)


def item_anchors(analysis: QuestionAnalysis, answer_type: str) -> tuple[str, ...]:
    """The anchor set of a memory: that of its question, with the type of the answer that it holds."""
    return question_anchors(replace(analysis, answer_type=answer_type or analysis.answer_type))
