"""The prompts by which a model answers questions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedrag_flwr.models.base import Prompt
from fedrag_flwr.records import EvidenceUnit

UNKNOWN = "unknown"

_PLAIN = "Answer the question from the passages. If they do not hold the answer, say that you do not know."
_CLOSED_BOOK = "Answer the question from what you know, as briefly as you can. If you do not know, say so."

_OF_WHAT = r"(?:the )?(?:passages?|provided|given|text|information|question|answer|context)"
_NOT = r"\b(?:do|does|is|are)(?:n['’]t| not)\b"
_SAID = (
    "hold|mention|contain|state|say|specif|provid|include|give|answer|know|have|indicate|tell|list|address|clear|discuss"
    "|describe"
)
_DECLINES = re.compile(
    r"\s*(?:answer:\s*)?[\"'(]*(?:"
    r"unknown\b(?!(?-i: [A-Z]))"
    r"|(?:i|we) (?:do not|don['’]t|cannot|can['’]t|am (?:sorry|unable|not (?:sure|able))|have no)"
    r"|i['’]m (?:sorry|unable|not (?:sure|able))"
    r"|(?:sorry|unfortunately)\b"
    r"|(?:it|that) is (?:unknown|unclear|not (?:known|clear|stated|specified|mentioned|possible))"
    r"|no information\b|not (?:known|stated|mentioned|specified|given|provided)\b"
    r"|there is no (?:information|mention|answer|specific)"
    rf"|{_OF_WHAT}\b[^.]{{0,80}}?{_NOT}[^.]{{0,60}}?\b(?:{_SAID})"
    r")",
    re.IGNORECASE,
)


def reading_prompt(question: str, units: Sequence[EvidenceUnit]) -> Prompt:
    """Ask a question over passages in the model's own chat template, under one short instruction."""
    return Prompt(_PLAIN, _asked(question, units))


def closed_book_prompt(question: str) -> Prompt:
    """Ask a question of the model alone."""
    return Prompt(_CLOSED_BOOK, f"Question: {question}")


def declines(text: str) -> bool:
    """Whether a model says that it does not know."""
    return not text.strip() or _DECLINES.match(text) is not None


def _asked(question: str, units: Sequence[EvidenceUnit]) -> str:
    passages = "\n\n".join(f"{unit.title}\n{unit.text}" if unit.title else unit.text for unit in units)
    return f"{passages}\n\nQuestion: {question}"
