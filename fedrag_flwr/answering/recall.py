"""Recall: a memory answers where it *knows* (FD-RAG 4.2, the Memorizer; eq. 11 to 14).

Near in wording is not enough. Every name and number of the question stands in the memory or in the sentence behind it,
the relation that is asked is the one that is told, and the answer is of the kind that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fedrag_flwr.answering.quote import is_open
from fedrag_flwr.memory.fusion.merge import is_as_worded
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Match, MemoryItem, Vector
from fedrag_flwr.text.asking import ASKS, question_anchors
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.lexicon import FUNCTION_WORDS, GENERIC
from fedrag_flwr.text.negation import content, misses
from fedrag_flwr.text.support import forms
from fedrag_flwr.text.words import number_of, told_words

RECALLED = 15  # memories that are looked at
_SAME = 0.6  # cosine from which two words mean the same: "town" and "city" do, "destroyed" and "restored" do not
_MOST_KEPT = 8_192
_ARTICLES = frozenset({"the", "a", "an", "i"})  # with a capital in a title, or always

# Kinds of answers that no other kind can stand for.
_KINDS = {
    "PERSON": "person",
    "DATE": "time",
    "YEAR": "time",
    "TIME": "time",
    "CARDINAL": "number",
    "QUANTITY": "number",
    "PERCENT": "number",
    "MONEY": "money",
    "YESNO": "yes or no",
}


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that answers a question."""

    match: Match  # the memory with its score
    relation: float  # share of the words that the question asks by which the memory tells, in [0, 1]


@dataclass(slots=True)
class Recall:
    """The memories of a device at work."""

    matcher: Matcher  # exact matching over them
    encoder: Encoder  # tells how near two words are
    # Score from which a memory answers (eq. 13).
    least: float
    told: float  # share of the question's words that a memory must tell by
    quorum: Quorum  # whom to believe where devices contradict each other
    # The sentences from which a memory was made, each under its title; none for another device's.
    support: Callable[[MemoryItem], Iterable[str]]
    _words: dict[str, Vector] = field(default_factory=dict)
    _true: dict[str, bool] = field(default_factory=dict)

    def top(self, vector: Vector, analysis: QuestionAnalysis, k: int) -> list[Match]:
        """The k best memories for a question with a vector of shape (dimension,), best first (eq. 14)."""
        return self.matcher.top(vector, question_anchors(analysis), k)

    def known(self, question: str, vector: Vector, analysis: QuestionAnalysis) -> Recalled | None:
        """The memory that answers a question; None where none knows, or where devices do not agree."""
        knowing = self.knowing(question, vector, analysis)
        agreed = self.quorum.agreed([one.match for one in knowing])
        return next((one for one in knowing if one.match is agreed), None)

    def knowing(self, question: str, vector: Vector, analysis: QuestionAnalysis) -> list[Recalled]:
        """All memories that each know the answer, best first; open questions are read, not recalled."""
        if is_open(question) or not len(self.matcher):
            return []
        found = self.quorum.heard(lambda k: self.top(vector, analysis, k), self.least, RECALLED)
        return [one for match in found if (one := self._knowing(question, analysis, match)) is not None]

    def why_not(self, question: str, analysis: QuestionAnalysis, item: MemoryItem) -> str:
        """Why a memory does not know the answer to a question, or ""."""
        if (untold := self._untold_names(question, item)) is not None:
            return f"it does not tell of {untold}"
        if missed := misses(question, item.question):
            return missed
        return _other_kind(question, analysis, item) or self._other_thing(analysis, item)

    def relation(self, question: str, item: MemoryItem) -> float:
        """Share of the question's words, names aside, that a memory tells by, in these words or in near ones."""
        asked = content(question)  # of an answer the names count, too: "Iron Medal" tells of a medal
        return self._share_near(asked, content(f"{item.question} {item.answer.lower()}")) if asked else 1.0

    def _knowing(self, question: str, analysis: QuestionAnalysis, match: Match) -> Recalled | None:
        if match.score < self.least or self.why_not(question, analysis, match.item):
            return None
        relation = self.relation(question, match.item)
        if relation < self.told or not (match.item.origin == self.quorum.home or self._is_true(match.item)):
            return None
        return Recalled(match, relation)

    def _untold_names(self, question: str, item: MemoryItem) -> str | None:
        """A name or a number of the question that neither the memory nor the sentence behind it tells."""
        asked = names_of(question)
        told = set(forms(f"{item.question} {item.answer}"))
        if asked <= told:
            return None
        told.update(*(forms(text) for text in self.support(item)))
        return min(asked - told, default=None)

    def _other_thing(self, analysis: QuestionAnalysis, item: MemoryItem) -> str:
        """Whether a question asks for another kind of thing than a memory tells ("which island", "how many"), or ""."""
        asked = analysis.asks
        if not asked or asked in GENERIC:
            return ""
        counted = content(item.answer.lower())
        if analysis.answer_type == "CARDINAL" and counted and not self._share_near({asked}, counted):
            return f"it does not count {asked}"
        if asked in told_words(f"{item.question} {item.answer}"):
            return ""
        told = next((anchor.removeprefix(ASKS) for anchor in item.anchors if anchor.startswith(ASKS)), "")
        words = {told} if told else content(f"{item.question} {item.answer}")
        return "" if self._share_near({asked}, words) else f"it tells of no {asked}"

    def _is_true(self, item: MemoryItem) -> bool:
        """Whether another device's embedding is that of its own words, as far as half precision tells."""
        if item.id not in self._true:
            [vector] = self.encoder.encode([item.question])
            if len(self._true) >= _MOST_KEPT:
                self._true.clear()
            self._true[item.id] = is_as_worded(item, vector)
        return self._true[item.id]

    def _share_near(self, asked: Collection[str], told: Collection[str]) -> float:
        """Share of words that are among others, or near to one of them."""
        left = [word for word in asked if word not in told]
        if not left or not told:
            return 1.0 - len(left) / max(len(asked), 1)
        near = self._vectors(left) @ self._vectors(sorted(told)).T
        return 1.0 - float((near.max(axis=1) < _SAME).sum()) / len(asked)

    def _vectors(self, words: Sequence[str]) -> Vector:
        """Vectors of words, shape (len(words), dimension); those not seen before are encoded together."""
        if len(self._words) + len(words) > _MOST_KEPT:
            self._words = {}
        new = sorted({word for word in words if word not in self._words})
        if new:
            self._words.update(zip(new, self.encoder.encode(new), strict=True))
        return np.stack([self._words[word] for word in words])


def names_of(question: str) -> frozenset[str]:
    """The names and numbers of a question, word by word, in the form in which words compare.

    The first word has its capital anyway: it belongs to a name where the next one has one, too. A function word with
    a capital belongs to a name as well ("Will", "IT"), but for the article of "The Hague".
    """
    words = [word.strip("\"'“”‘’()[]?!.,;:") for word in question.split()]
    found = {word for word in told_words(question) if number_of(word)}
    for place, word in enumerate(words):
        opens = place == 0 and not (len(words) > 1 and words[1][:1].isupper())
        if any(char.isdigit() for char in word) or (word[:1].isupper() and not opens):
            found.update(forms(word) if word.lower() not in (_ARTICLES if place else FUNCTION_WORDS) else ())
    return frozenset(found) - GENERIC


def _other_kind(question: str, analysis: QuestionAnalysis, item: MemoryItem) -> str:
    """Why an answer is of another kind than the question asks for, or ""."""
    expected, given = _KINDS.get(analysis.answer_type, ""), _KINDS.get(item.answer_type, "")
    closed = item.answer.casefold() in {"yes", "no"}
    if (expected == "yes or no") != closed:
        return "yes or no is asked for" if expected == "yes or no" else "it answers with yes or no"
    if expected and expected != given:
        return f"a {expected} is asked for"
    if not expected and (analysis.answer_type or analysis.asks) and given in {"time", "number", "money"}:
        return f"a {analysis.asks or 'name'} is asked for"
    held = set(forms(item.answer)) <= set(forms(question))
    return "the question holds the answer itself" if held and " or " not in question else ""
