"""Checks that a draft must pass before it is stored: first alone, then by asking it back."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.synthesis.grounding import NUMBERS, STOP, grounded, normalise
from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.models.base import Generator, Prompt
from fedrag_flwr.records import Cost, Sentence

MAX_QUESTION_WORDS = 40
MAX_ANSWER_WORDS = 12
AT_ONCE = 1 << 23  # cosines that are held at once
MARGIN = 0.08  # of cosines: a sentence that is not further from a question than its support by half of it is as near
_DANGLING = re.compile(
    r"\b(?:[Tt]his|[Tt]hese|[Tt]hose)\b(?! (?:is|was|day)\b)|\b(?:we|you|my|our|your)\b|"
    r"\bthe (?:former|latter|above|following|text|passage|article|document|sentence|paragraph)\b"
)
_PRONOUNS = re.compile(r"\b(?:it|he|she|they|him|them|its|his|her|their)\b", re.IGNORECASE)
_FITS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (
        re.compile(r"^(?:in|since|until|by|from|during) (?:what|which) year\b", re.IGNORECASE),
        frozenset(("YEAR", "DATE")),
    ),
    (
        re.compile(
            r"^(?:since |until |by |from )?when\b|^(?:on|in) (?:what|which) (?:date|day|decade|month|century)\b",
            re.IGNORECASE,
        ),
        frozenset(("YEAR", "DATE", "TIME")),
    ),
    (
        re.compile(r"^(?:in |on |to |by |for |with |from |at )?how many\b", re.IGNORECASE),
        frozenset(("CARDINAL", "QUANTITY", "PERCENT", "MONEY", "DATE", "TIME")),
    ),
    (
        re.compile(
            r"^how (?:much|tall|far|long|wide|heavy|fast|old|deep|high|large|hot|often|thick|big|close)\b",
            re.IGNORECASE,
        ),
        frozenset(("CARDINAL", "QUANTITY", "MONEY", "PERCENT", "DATE", "TIME")),
    ),
    (re.compile(r"^(?:who|whom)\b", re.IGNORECASE), frozenset(("PERSON", "ORG", "NAME", "GPE", "NORP"))),
    (re.compile(r"^(?:from )?where\b", re.IGNORECASE), frozenset(("GPE", "LOC", "FAC", "NAME", "ORG"))),
)


def verify(draft: Draft, texts: Sequence[str]) -> str | None:
    """Check a draft by itself and against its support; None when it may be kept, else the reason.

    Parameters
    ----------
    draft
        The draft.
    texts
        The texts of its support, each with its document's title in front.

    Returns
    -------
    str or None
        One of ``empty``, ``length``, ``no-question``, ``stop-words``, ``dangling``, ``unspecific``, ``gives-away``,
        ``no-alternative``, ``one-hop``, ``type-mismatch``, ``not-in-evidence``.
    """
    if reason := unsound(draft):
        return reason
    if draft.kind == "multi-hop" and len(texts) < 2:
        return "one-hop"
    return None if grounded(draft, texts) else "not-in-evidence"


def unsound(draft: Draft) -> str | None:
    """Check a draft by itself alone, without its support; as :func:`verify`."""
    question, answer = normalise(draft.question), normalise(draft.answer)
    if not question or not answer:
        return "empty"
    words = question.split()
    if not 3 <= len(words) <= MAX_QUESTION_WORDS or len(answer.split()) > MAX_ANSWER_WORDS:
        return "length"
    if not draft.question.rstrip().endswith("?"):
        return "no-question"
    if all(word in STOP for word in answer.split()) and answer not in NUMBERS and answer not in ("yes", "no"):
        return "stop-words"
    content = [word for word in words if word not in STOP]
    if not content:
        return "stop-words"
    if _DANGLING.search(draft.question):
        return "dangling"
    named = re.search(r"(?<!^)\b[A-Z0-9]", draft.question[1:]) is not None
    if not named and (_PRONOUNS.search(draft.question) or len(content) < 3):
        return "unspecific"
    if len(content) < 2:
        return "unspecific"
    if reason := _told_wrongly(draft, says(draft.question, draft.answer)):
        return reason
    return None if fits(draft.question, draft.answer_type) else "type-mismatch"


def says(question: str, name: str) -> bool:
    """Whether a question holds the words of a name, together."""
    return f" {normalise(name)} " in f" {normalise(question)} "


def _told_wrongly(draft: Draft, given: bool) -> str | None:
    """Why a question gives its answer away, or does not name it: only a choice between two must."""
    chooses = draft.kind == "comparison" and " or " in draft.question
    if normalise(draft.answer) not in ("yes", "no") and given != chooses:
        return "gives-away" if given else "no-alternative"
    return None


def fits(question: str, answer_type: str) -> bool:
    """Whether an answer's type is one that the question's wh-phrase asks for; an open type fits all but amounts."""
    for pattern, types in _FITS:
        if pattern.search(question):
            return answer_type in types or (not answer_type and "CARDINAL" not in types and "YEAR" not in types)
    return True


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Which drafts came back with their answer, why the others did not, and what asking cost."""

    kept: tuple[int, ...]
    reasons: Mapping[int, str]  # by the draft's index
    cost: Cost

    @property
    def rejects(self) -> Counter[str]:
        """How many drafts did not come back for which reason."""
        return Counter(self.reasons.values())


def round_trip(
    drafts: Sequence[Draft],
    question_vectors: NDArray[np.float32],
    sentences: Sequence[Sentence],
    sentence_vectors: NDArray[np.float32],
    remembered: Iterable[tuple[str, str]] = (),
    *,
    margin: float = MARGIN,
) -> RoundTrip:
    """Ask rule drafts back without a model: the support must be the evidence that the question leads to.

    A draft is rejected as ``elsewhere`` when another sentence is nearer to the question by more than `margin` and
    covers its words better, as ``ambiguous`` when another sentence is as near, covers as many of its words and offers
    another answer of the same type, and as ``conflict`` when the same question was made, or is remembered, with another
    answer. Which drafts are asked together makes no difference, as long as the others are among the remembered.

    Parameters
    ----------
    drafts
        Drafts with sentences as support.
    question_vectors
        Their questions' vectors, shape (drafts, dimension), unit rows.
    sentences, sentence_vectors
        The sentences of the device, and their vectors, shape (sentences, dimension), unit rows.
    remembered
        Questions and answers of drafts that are not asked now.
    margin
        Difference in cosine by which another sentence must be nearer to be ``elsewhere``; half of it still counts as
        equally near.
    """
    place = {sentence.id: index for index, sentence in enumerate(sentences)}

    @cache
    def said(index: int) -> str:
        return f" {normalise(sentences[index].text)} "

    @cache
    def bag(index: int) -> frozenset[str]:
        return frozenset(said(index).split())

    answers: dict[str, set[str]] = defaultdict(set)
    for question, answer in (*((draft.question, draft.answer) for draft in drafts), *remembered):
        answers[normalise(question)].add(normalise(answer))
    reasons: dict[int, str] = {}
    kept: list[int] = []
    at_once = max(1, AT_ONCE // max(len(sentences), 1))
    for start in range(0, len(drafts), at_once):
        similarity = question_vectors[start : start + at_once] @ sentence_vectors.T
        for offset, row in enumerate(similarity):
            index = start + offset
            draft = drafts[index]
            support = [place[unit] for unit in draft.support if unit in place]
            reason = None
            if _conflicting(answers[normalise(draft.question)]):
                reason = "conflict"
            elif support:
                reason = _elsewhere(draft, support, row, sentences, said, bag, margin)
            if reason is None:
                kept.append(index)
            else:
                reasons[index] = reason
    return RoundTrip(tuple(kept), reasons, Cost())


def _conflicting(answers: set[str]) -> bool:
    """Whether answers to one question contradict: none of them contains all the others."""
    if len(answers) < 2:
        return False
    return not any(all(f" {other} " in f" {answer} " for other in answers) for answer in answers)


def _elsewhere(
    draft: Draft,
    support: Sequence[int],
    row: NDArray[np.float32],
    sentences: Sequence[Sentence],
    said: Callable[[int], str],
    bag: Callable[[int], frozenset[str]],
    margin: float,
) -> str | None:
    own = max(float(row[index]) for index in support)
    words = frozenset(normalise(draft.question).split()) - STOP
    covered = max(len(words & bag(index)) for index in support)
    answer = normalise(draft.answer)
    for index in np.flatnonzero(row >= own - margin / 2).tolist():
        others = len(words & bag(index))
        if others < covered or index in support or f" {answer} " in said(index):
            continue
        if row[index] > own + margin and others > covered:
            return "elsewhere"
        same_type = any(fact.type == draft.answer_type and fact.anchor != answer for fact in sentences[index].facts)
        if draft.answer_type and same_type and others >= len(words):
            return "ambiguous"
    return None


_ASKED_TOKENS, _FEWEST_ASKED = 24, 4  # of an answer
_ASK = Prompt(
    "Answer the question from the text with a few words of the text. If it does not say, answer: unknown.", ""
)


def round_trip_model(
    drafts: Sequence[Draft], texts: Sequence[Sequence[str]], generator: Generator, *, token_budget: int, seed: int = 0
) -> RoundTrip:
    """Ask model drafts back with the generator; what the budget does not reach is rejected as ``unasked``.

    Parameters
    ----------
    drafts
        Drafts that passed :func:`verify`.
    texts
        For each draft, its support's texts.
    generator
        The local model.
    token_budget
        Most output tokens to spend on asking.
    seed
        Handed to the generator.
    """
    reasons: dict[int, str] = {}
    kept: list[int] = []
    cost = Cost()
    for index, (draft, evidence) in enumerate(zip(drafts, texts, strict=True)):
        limit = min(_ASKED_TOKENS, token_budget - cost.tokens_out)
        if limit < _FEWEST_ASKED:
            reasons[index] = "unasked"
            continue
        tail = f"Text: {' '.join(evidence)}\nQuestion: {draft.question}\nAnswer:"
        completion = generator.complete(Prompt(_ASK.system, tail), max_tokens=limit, seed=seed)[0]
        cost += Cost(completion.seconds, 1, completion.tokens_in, completion.tokens_out, completion.cached)
        if agrees(completion.text, draft.answer):
            kept.append(index)
        else:
            reasons[index] = "round-trip"
    return RoundTrip(tuple(kept), reasons, cost)


def agrees(given: str, expected: str) -> bool:
    """Whether two answers say the same: one contains the other, or their words overlap by more than half (F1)."""
    first, second = normalise(given).split(), normalise(expected).split()
    if not first or not second:
        return False
    if f" {' '.join(second)} " in f" {' '.join(first)} ":
        return len(first) <= len(second) + 12
    common = sum((Counter(first) & Counter(second)).values())
    return 2 * common / (len(first) + len(second)) > 0.5
