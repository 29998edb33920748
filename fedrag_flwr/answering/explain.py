"""Explaining: which passage bears an answer, and what a person is told of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from fedrag_flwr.answering.sentences import content_words
from fedrag_flwr.records import Decision, EvidenceUnit
from fedrag_flwr.text.lexicon import ABBREVIATIONS, words
from fedrag_flwr.text.segment import under_title
from fedrag_flwr.text.words import told_words

LONG = 12  # words of an answer from which it is made of sentences, each with a citation
_BORNE = 0.6  # share of a sentence's words that the passage which bears it tells
_FEW = 3  # words from which a sentence of an answer is looked for in other words
_TELLS = 0.5  # share of them that a sentence of that passage tells which is marked
_CUT_SHORT = ABBREVIATIONS - {"no"}
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”)]*\s+(?=[\"'“(]*[A-Z0-9])")
SURE, LIKELY = 0.75, 0.5  # confidence from which an answer is told as such
NOTHING_READ, NO_BEARER = "there is nothing to read", "no passage bears it"  # decisions on evidence
UNTOLD, NO_PERSON = "no passage tells it", "no passage tells of the person who is asked about"
MASKED = "what answers it is masked by its device"
_MASK = re.compile(r"\[[A-Z][A-Z_ -]*\]")
_NAMED = re.compile(r"\b[A-Z]\w+|\w*\d\w*")  # what may be a name or a number
# of a German date, whose day ends as a sentence does
_MONTHS = words("Januar Februar März April Mai Juni Juli August September Oktober November Dezember")
_DAY = re.compile(r"\b\d{1,2}\.$")
_SHORTENED = 3  # letters of the shortest word that is short for another


class Text(Protocol):
    """A text under a title."""

    @property
    def title(self) -> str: ...

    @property
    def text(self) -> str: ...


AnyText = TypeVar("AnyText", bound=Text)


@dataclass(frozen=True, slots=True)
class Told:
    """Where an answer comes from, as people are told."""

    lead: str  # the words: "From memory:", "Read in"
    name: str = ""  # what they name: the memory's question, or a document with its heading; "" where they name nothing
    sure: str = ""  # the confidence in words; "" where nobody judged the answer

    def __str__(self) -> str:
        return " ".join(filter(None, (self.lead, self.name, f"({self.sure})" if self.sure else "")))


@dataclass(frozen=True, slots=True)
class Borne:
    """A sentence of an answer, and the unit that bears it."""

    text: str
    unit: EvidenceUnit


def in_words(confidence: float) -> str:
    """A confidence as people are told it: sure, likely or unsure."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"


def sentences_of(text: str) -> list[str]:
    """The sentences of an answer; none ends with "Dr.", or with the day of "21. Mai"."""
    found: list[str] = []
    for part in filter(None, map(str.strip, _SENTENCE.split(text))):
        last = found[-1].rsplit(maxsplit=1)[-1] if found else ""
        in_date = _DAY.fullmatch(last) and part.split(maxsplit=1)[0].rstrip(".,") in _MONTHS
        if in_date or last.rstrip(".").casefold() in _CUT_SHORT:
            found[-1] += f" {part}"
        else:
            found.append(part)
    return found


def borne(text: str, units: Sequence[EvidenceUnit]) -> list[Borne]:
    """The sentences of an answer that a unit bears, each with the unit that tells most of it; others are left out."""
    found = []
    for sentence in sentences_of(text):
        words = content_words(sentence)
        if not words or not units:
            continue
        unit = max(units, key=lambda one: len(words & _told(one)))
        if len(words & _told(unit)) >= _BORNE * len(words):
            found.append(Borne(sentence, unit))
    return found


def bearing_first(question: str, answer: str, units: Sequence[AnyText]) -> list[AnyText]:
    """Units in the order in which they bear a short answer: most of what it adds to the question, then its words as
    they stand, then most of the question's.
    """
    said = f" {' '.join(told_words(answer))} "
    asked = content_words(question)
    added = content_words(answer) - asked

    def weight(unit: AnyText) -> tuple[int, bool, int]:
        words = f" {' '.join(told_words(under_title(unit.title, unit.text)))} "
        return len(added & _told(unit)), said.strip() != "" and said in words, len(asked & _told(unit))

    return sorted(units, key=weight, reverse=True)


def fills_mask(question: str, answer: str, units: Sequence[EvidenceUnit], home: str) -> bool:
    """Whether an answer puts a name or a number where a sentence of another device holds a mask.

    The sentence tells at least half of the question, and no other device tells the name. A first word is one only where
    home tells it: it has its capital anyway.
    """
    foreign = [unit for unit in units if unit.origin != home]
    asked = content_words(question)
    masked = any(
        _MASK.search(line) and len(asked & content_words(line)) >= _TELLS * len(asked)
        for unit in foreign
        for line in _lines(unit)
    )
    if not masked:
        return False
    theirs = set(told_words(" ".join([question, *(under_title(unit.title, unit.text) for unit in foreign)])))
    ours = {
        name for unit in units if unit.origin == home for name in _NAMED.findall(under_title(unit.title, unit.text))
    }
    first, _, rest = answer.partition(" ")
    names = {*_NAMED.findall(rest), *(set(_NAMED.findall(first)) & ours)}
    filled = {word for name in names for word in told_words(name)}
    return any(not any(_says(word, one) for one in theirs) for word in filled)


def says_mask(question: str, answer: str) -> bool:
    """Whether an answer adds nothing to the question but a mask, as "The treasurer is [PERSON]."."""
    unmasked = _MASK.sub(" ", answer)
    return unmasked != answer and content_words(unmasked) <= content_words(question)


def _says(word: str, other: str) -> bool:
    """Whether a word is another one, or that is short for it, as "Wed" for "Wednesday"."""
    return word == other or (len(other) >= _SHORTENED and word.startswith(other))


def told_of(path: str, score: float, recalled: str = "", place: str = "", devices: Sequence[str] = ()) -> Told:
    """Where an answer comes from, and how sure it is.

    Parameters
    ----------
    path
        By which it came.
    score
        Its confidence; 0.0 where nobody judged it.
    recalled
        The question of the memory that answered.
    place
        The document, with its heading, of the passage that bears it.
    devices
        On whose texts it rests; of a memory those of other devices alone.
    """
    sure = in_words(score) if score else ""
    if path == "memorizer":
        lead = f"From what {', '.join(dict.fromkeys(devices))} shared" if devices else "From memory"
        return Told(f"{lead}:" if recalled else lead, recalled, sure)
    if path == "cache":
        return Told("As it was answered before", "", sure)
    if path == "remote":
        return Told("From what these devices hold:", ", ".join(dict.fromkeys(devices)), sure)
    if place or devices:
        return Told("Read in", place or "the documents", sure)
    return Told("Said by the model alone", "", sure)


def why_declined(decisions: Sequence[Decision]) -> str:
    """Why there is no answer, in a sentence without numbers."""
    steps = {one.step for one in decisions}
    outcome = next((one.said for one in decisions if one.step == "outcome"), "")
    if any(one.said == MASKED for one in decisions):
        return "What answers it is masked by its device."
    if "confidence" in steps or "gate" in steps:
        return "Nothing sure enough was found."
    if any(one.said == NO_PERSON for one in decisions):
        return f"{NO_PERSON[0].upper()}{NO_PERSON[1:]}."
    if any(one.said == UNTOLD for one in decisions):
        return "None of the nearest passages tells it."
    if any(one.said == NOTHING_READ for one in decisions):
        return "Nothing in the documents is near the question."
    if "model" in steps or any(one.said == NO_BEARER for one in decisions):
        return "The passages do not bear an answer."
    if outcome:
        return f"{outcome[0].upper()}{outcome[1:].rstrip('.')}."
    return "Memory does not know it." if "memory" in steps else "No answer was found."


def marked(text: str, answer: str) -> list[str]:
    """A text cut into parts, of which every second one is to be marked.

    Marked are the answer's words, or else the sentences that tell most of it. The parts joined are the text.
    """
    spans = list(_phrases(text, answer)) or list(_telling(text, answer))
    parts, end = [], 0
    for first, last in spans:
        parts += [text[end:first], text[first:last]]
        end = last
    return [*parts, text[end:]]


def _phrases(text: str, answer: str) -> Iterator[tuple[int, int]]:
    """Where a text says an answer in its words."""
    words = re.findall(r"\w+", answer)
    if not words or answer.casefold().strip(" .") in {"yes", "no"}:
        return
    said = r"(?<!\w)" + r"\W{1,3}".join(words) + r"(?!\w)"
    yield from (found.span() for found in re.finditer(said, text, re.IGNORECASE))


def _telling(text: str, answer: str) -> Iterator[tuple[int, int]]:
    """Where the sentences stand that tell an answer in other words; one of few words is told by chance."""
    told = [words for words in map(content_words, sentences_of(answer)) if len(words) >= _FEW]
    end = 0
    for sentence in sentences_of(text):
        first = text.index(sentence, end)
        end = first + len(sentence)
        words = content_words(sentence)
        if any(len(words & one) >= _TELLS * len(one) for one in told):
            yield first, end


def _lines(unit: Text) -> list[str]:
    """The sentences of a unit, or all of it where it has none."""
    return sentences_of(unit.text) or [unit.text]


def _told(unit: Text) -> frozenset[str]:
    return content_words(under_title(unit.title, unit.text))
