"""What leaves, as bundles of texts that are rewritten together: evidence, answers, memories; and why one may not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import PERSON
from fedrag_flwr.privacy.replacement import PLACEHOLDER
from fedrag_flwr.privacy.word_lists import STOP_WORDS
from fedrag_flwr.records import MOST_LINE, Answer, Decision, EvidenceUnit, Fact, MemoryItem, Vector, declined

TEXT_EMPTY = "text-empty"
MOST_PARAGRAPH = 20_000  # characters
MASKED_FOR_ONE = 3  # near sentences for each that leaves: which ones do is chosen by what they say when masked


def evidence_bundle(unit: EvidenceUnit, question: str) -> Bundle:
    """Its title and text, beside the question that it is to answer."""
    return Bundle((clean(unit.title), clean(unit.text)), question=clean(question))


def is_too_long(bundle: Bundle) -> bool:
    """Whether title or text of evidence is longer than may leave."""
    title, text = bundle.prose
    return len(text) > MOST_PARAGRAPH or len(title) > MOST_LINE


def evidence_refusal(bundle: Bundle) -> str:
    """Say why evidence may not leave with these texts; empty where it may."""
    return bundle.refusal or (TOO_LONG if is_too_long(bundle) else text_refusal(bundle.prose[1], MOST_PARAGRAPH))


def text_refusal(text: str, most: int) -> str:
    """Say whether a text is longer than `most` characters, or nothing is left of it; empty where it may leave."""
    return TOO_LONG if len(text) > most else "" if words(text) else TEXT_EMPTY


_MOST_SOURCES = 64
_MEASURE = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


def answer_bundle(answer: Answer, known: tuple[Fact, ...], beside: Sequence[str]) -> Bundle:
    """What it says and what its decisions say.

    `known` is what the question alone tells of it, `beside` are the texts here that it was taken from: they are read
    and do not leave.
    """
    prose = (clean(answer.text), *(clean(one.said) for one in answer.decisions))
    return Bundle(prose, known=known, beside=tuple(map(clean, beside)))


def shown_answer(answer: Answer, bundle: Bundle, source: Callable[[str], str], *, measured: bool) -> Answer:
    """An answer as others see it: rewritten texts, opaque sources, and nothing that stays on the device, nor a report.

    A refused one is an abstention that names the reason.

    Parameters
    ----------
    answer
        What home reads.
    bundle
        Its texts, rewritten.
    source
        How others know a source; empty where they may not.
    measured
        Whether scores leave, and figures in what decisions say.
    """
    score = answer.score if measured else 0.0
    if bundle.refusal:
        return replace(declined(answer.question_id, f"withheld: {bundle.refusal}"), score=score, cost=answer.cost)
    text, *said = bundle.prose
    return replace(
        answer,
        text=text[:MOST_LINE],
        score=score,
        decisions=tuple(_decision(one, now, measured) for one, now in zip(answer.decisions, said, strict=True)),
        sources=tuple(filter(None, map(source, answer.sources[:_MOST_SOURCES]))),
        evidence=(),
        paths=(),
        report="",
        citations=(),
        recalled="",
    )


def _decision(one: Decision, said: str, measured: bool) -> Decision:
    if measured:
        return Decision(one.step, said[:MOST_LINE], round(one.score, 2), round(one.threshold, 2))
    return Decision(one.step, _MEASURE.sub("…", said)[:MOST_LINE])


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
