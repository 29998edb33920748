"""A memory at the export filter: its texts as one bundle, and why a rewritten one may not leave, or how it does."""

from __future__ import annotations

import re
from collections.abc import Callable

from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import PERSON
from fedrag_flwr.privacy.rewriting import PLACEHOLDER
from fedrag_flwr.privacy.stop_words import STOP_WORDS
from fedrag_flwr.records import MOST_LINE, Fact, MemoryItem, Vector

ANSWER_MASKED = "answer-masked"
QUESTION_EMPTY = "question-empty"
TOO_LONG = "too-long"
MALFORMED = "malformed"

_LEAST_WORDS = 2  # content words that a masked question must keep to be of use
_MOST_ANCHORS = 64
_MOST_HYPEREDGES = 16
_LABEL = re.compile(r"[A-Za-z][A-Za-z_-]{0,31}|")
_WORD = re.compile(r"[^\W_]{2,}")
_ENTITY_ANSWERS = frozenset({PERSON, "ORG", "GPE", "LOC"})
_PIECES = re.compile(r"\s*(?:,|;|\band\b|&)\s*")


def item_bundle(item: MemoryItem) -> Bundle:
    """The item's texts; the answer to a question that asks for a person, organisation or place is known to be one."""
    answer = clean(item.answer)
    return Bundle((clean(item.question), answer), tuple(map(clean, item.anchors)), asked_for(item.answer_type, answer))


def asked_for(answer_type: str, answer: str) -> tuple[Fact, ...]:
    """What an answer is known to hold by the question alone, where that asks for a person, organisation or place."""
    if answer_type not in _ENTITY_ANSWERS:
        return ()
    return tuple(Fact(piece, answer_type, "") for piece in _PIECES.split(answer.strip(" .")) if piece)


def item_refusal(item: MemoryItem, bundle: Bundle) -> str:
    """Say why an item may not leave with these texts; empty where it may."""
    question, answer = bundle.prose
    if bundle.refusal:
        return bundle.refusal
    if not (_LABEL.fullmatch(item.kind) and _LABEL.fullmatch(item.answer_type)):
        return MALFORMED
    if any(change.masked and change.field == 1 for change in bundle.changes):
        return ANSWER_MASKED
    masked = any(change.masked and change.field == 0 for change in bundle.changes)
    if not question.strip() or (masked and _content_words(question) < _LEAST_WORDS):
        return QUESTION_EMPTY
    if max(len(question), len(answer)) > MOST_LINE or len(bundle.anchors) > _MOST_ANCHORS:
        return TOO_LONG
    return ""


def shown_item(item: MemoryItem, bundle: Bundle, vector: Vector, device: str, hide: Callable[[str], str]) -> MemoryItem:
    """An item as others see it: rewritten texts and their vector, opaque ids, and no support."""
    question, answer = bundle.prose
    return MemoryItem(
        id=hide(item.id),
        question=question,
        answer=answer,
        kind=item.kind,
        answer_type=item.answer_type,
        hyperedges=tuple(dict.fromkeys(map(hide, item.hyperedges[:_MOST_HYPEREDGES]))),
        anchors=tuple(sorted(bundle.anchors)),
        embedding=vector,
        origin=device,
    )


def _content_words(text: str) -> int:
    return sum(word.casefold() not in STOP_WORDS for word in set(words(text)))


def words(text: str) -> list[str]:
    """The words of a text, placeholders left out."""
    return _WORD.findall(PLACEHOLDER.sub(" ", text))
