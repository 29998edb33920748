"""Whether a memory's answer is of the kind that a question asks for: near in wording is not enough."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import InitVar, dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.inference.senses import content, misses, untold_events
from fedrag_flwr.inference.support import is_choice, tokens
from fedrag_flwr.memory.fusion.fusing import is_as_worded, owners
from fedrag_flwr.memory.synthesis.lexicon import words_of
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.stop_words import STOP_WORDS
from fedrag_flwr.records import MemoryItem, Vector
from fedrag_flwr.text.asking import ASKS
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.lexicon import GENERIC, HEAD_ANSWERS, is_person
from fedrag_flwr.text.numbers import numbers_in

LEAST_NOUN_SIMILARITY = 0.5  # "town" and "city", "die" and "killed" are nearer, "rocket" and "observatory" are not
LEAST_COVERAGE = 0.3  # of a question's words that a memory must hold: less is about something else
_MOST_KEPT = 4_096
_SURE = ""  # tells it: home, or several devices

# Answer types that can only be answered by their own kind; the others name things, and recognisers mix them up.
_KINDS = {
    "PERSON": "person",
    "DATE": "time",
    "YEAR": "time",
    "TIME": "time",
    "CARDINAL": "number",
    "QUANTITY": "number",
    "PERCENT": "number",
    "MONEY": "money",
    "YESNO": "yesno",
}
_PLACES = frozenset({"GPE", "LOC", "FAC"})

# Kinds of memory whose answer turns on every name and number of the question: a near one may have another answer.
_EXACT = frozenset({"comparison", "post-processing", "false-premise"})
_NAMED = re.compile(r"(?<=\s)[\"'(]*([A-Z0-9][\w-]*)")
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_COMPARED = words_of(
    "first last before after earlier later earliest latest older younger oldest youngest more less fewer most least "
    "not longer shorter larger smaller higher lower taller bigger same different both"
)


def _nothing(_item: MemoryItem) -> tuple[str, ...]:
    return ()


@dataclass(slots=True)
class Fitting:
    """Says why a memory does not fit a question; keeps the vectors of nouns that it compared, and what it checked.

    Parameters
    ----------
    encoder
        Tells how near two words are.
    items
        All memories: the nouns that their questions ask for say what their answers are called.
    supported_by
        The sentences from which a memory was made, each with its title; none for another device's.
    home
        The device where questions are asked.
    called, types
        By the words of an answer: the nouns and the types that it is known by, and which device alone says so.
    """

    encoder: Encoder
    items: InitVar[Iterable[MemoryItem]] = ()
    supported_by: Callable[[MemoryItem], Iterable[str]] = _nothing
    home: str = ""
    called: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    types: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    nouns: dict[str, Vector] = field(default_factory=dict)
    true: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self, items: Iterable[MemoryItem]) -> None:
        for item in items:
            name, devices = _key(item.answer), owners(item)
            by = _SURE if len(devices) > 1 or self.home in devices else next(iter(devices), None)
            if by is None:  # it was composed of memories that say it themselves
                continue
            _note(self.types[name], item.answer_type, by)
            if noun := _asked_by(item):
                _note(self.called[name], noun, by)

    def is_called(self, name: str, noun: str) -> bool | None:
        """Whether memories call a name such a thing ("Voyager 2" a "probe"); None where they do not say.

        That it is something else counts where home says so, or two devices do: one alone would hide what a name is.
        """
        types, nouns = self.types.get(_key(name), {}), self.called.get(_key(name), {})
        if is_person(noun):
            return "PERSON" in types or (False if _is_sure(types) else None)
        if types.keys() == {"PERSON"}:
            return False if noun in HEAD_ANSWERS and _is_sure(types) else None  # "which hero" may be a person
        return self._near({noun}, nouns) or (False if _is_sure(nouns) else None)

    def is_true(self, item: MemoryItem) -> bool:
        """Whether an item's embedding is that of its question, as far as half precision tells."""
        if item.id not in self.true:
            [vector] = self.encoder.encode([item.question])
            if len(self.true) >= _MOST_KEPT:
                self.true.clear()
            self.true[item.id] = is_as_worded(item, vector)
        return self.true[item.id]

    def misfit(self, question: str, analysis: QuestionAnalysis, item: MemoryItem) -> str:
        """Why an item cannot answer a question, or "" where it can.

        Parameters
        ----------
        question, analysis
            The question's text and analysis.
        item
            The memory; the noun that its question asks for is among its anchors.
        """
        if missed := misses(question, item.question):
            return missed
        if event := self._unknown_event(question, item):
            return f"it tells nothing of {event}"
        if untold := self._untold(question, item):
            return f"it tells nothing of {untold}"
        return self.leads_astray(question, analysis, item)

    def leads_astray(self, question: str, analysis: QuestionAnalysis, item: MemoryItem) -> str:
        """As `misfit`, of a memory that need not tell all that the question says, as that of a second hop."""
        if item.kind in _EXACT and _turns_on(question) != _turns_on(item.question):
            return "other names, numbers or comparisons are asked about"
        expected, given = analysis.answer_type, item.answer_type
        if expected == "YESNO":
            return "" if item.answer.casefold() in {"yes", "no"} else "yes or no is asked for"
        if expected in _KINDS and _KINDS.get(given) != _KINDS[expected]:
            return f"{expected} is asked for"
        if expected not in _KINDS and (expected or analysis.asks) and given in _KINDS and given != "PERSON":
            return f"{expected or analysis.asks} is asked for"
        if expected in _PLACES and given == "PERSON" and item.question.startswith("Who"):
            return f"{expected} is asked for"
        held = _within(item.answer, question)
        if is_choice(question) and expected not in _KINDS:
            return "" if held else "one of the alternatives is asked for"
        if held:
            return "the question holds the answer itself"
        return self._noun_misfit(analysis, item)

    def _unknown_event(self, question: str, item: MemoryItem) -> str:
        """A beginning or an end of which the question asks and the memory does not tell in any words, or "".

        Whatever else is known of a patient comes as near to "When did Mr Jones die?" as the day of his death.
        """
        told = content(item.question)
        untold = (event for event in untold_events(question, item.question) if not self._near(event, told))
        return min(next(untold, ()), default="")

    def _untold(self, question: str, item: MemoryItem) -> str:
        """A number of the question of which neither the memory nor the one sentence behind it tells, or "".

        Where that sentence tells of several years, it does not say of which of them the memory is.
        """
        untold = set(numbers_in(question)).difference(numbers_in(item.question), numbers_in(item.answer))
        if not untold:
            return ""
        told = {number for text in self.supported_by(item) for number in numbers_in(text)}
        years = set(filter(_YEAR.fullmatch, told))
        return min(untold - (told - years if len(years) > 1 else told), default="")

    def _noun_misfit(self, analysis: QuestionAnalysis, item: MemoryItem) -> str:
        asked = analysis.asks
        offered = _asked_by(item)
        if asked != offered and any(offered == description.noun for description in analysis.descriptions):
            return f"it tells the {offered} that the question describes"
        if not asked or asked in GENERIC or asked == offered or asked in tokens(item.answer):
            return ""
        if analysis.answer_type == "CARDINAL" and not offered:
            return "" if asked in tokens(item.question) else f"it does not count {asked}"
        called = self.called.get(_key(item.answer), {})
        nouns = {offered} if offered else set(called) if _is_sure(called, owners(item)) else set()
        if not nouns or self._near({asked}, nouns):
            return ""
        return f"it tells a {min(nouns)}, a {asked} is asked for"

    def _near(self, first: Collection[str], second: Collection[str]) -> bool:
        """Whether a word of one kind is near to one of the other."""
        if not first or not second:
            return False
        return bool((self._vectors(first) @ self._vectors(second).T).max() >= LEAST_NOUN_SIMILARITY)

    def _vectors(self, nouns: Collection[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(nouns), dimension); those not seen before are encoded together."""
        kept = self.nouns
        if len(kept) + len(nouns) > _MOST_KEPT:
            kept = self.nouns = {}  # another question may be read with those that were kept
        new = sorted(noun for noun in nouns if noun not in kept)
        if new:
            kept.update(zip(new, self.encoder.encode(new), strict=True))
        return np.stack([kept[noun] for noun in nouns])


def _key(name: str) -> str:
    return " ".join(tokens(name))


def _note(told: dict[str, str], what: str, by: str) -> None:
    told[what] = by if told.get(what, by) == by else _SURE


def _is_sure(told: Mapping[str, str], own: Collection[str] = ()) -> bool:
    """Whether home, several devices or one of a memory's own tell what a name is."""
    devices = set(told.values())
    return _SURE in devices or len(devices) > 1 or not devices.isdisjoint(own)


def _asked_by(item: MemoryItem) -> str:
    return next((anchor.removeprefix(ASKS) for anchor in item.anchors if anchor.startswith(ASKS)), "")


def is_about(question: str, analysis: QuestionAnalysis, item: MemoryItem) -> bool:
    """Whether a memory holds enough of a question's content words to answer it by itself.

    A memory that holds only what the question describes, and nothing of what it asks about that, does not.
    """
    asked = set(tokens(question)) - STOP_WORDS
    told = set(tokens(f"{item.question} {item.answer}"))
    around = [set(tokens(f"{part.before} {part.after}")) - STOP_WORDS for part in analysis.descriptions]
    around = [words for words in around if words]
    enough = len(asked & told) >= LEAST_COVERAGE * len(asked)
    return enough and (not around or not min(around, key=len).isdisjoint(told))


def _within(part: str, whole: str) -> bool:
    return set(tokens(part)) <= set(tokens(whole))


def _turns_on(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names and numbers of a question, in lower case, and the words by which it compares."""
    named = frozenset(name.lower() for name in _NAMED.findall(question))
    return named, frozenset(tokens(question)) & _COMPARED


Misfit = Callable[[str, QuestionAnalysis, MemoryItem], str]
