"""Names and numbers that the token classifier shows, as whole words, where they are also written like some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fedrag_flwr.privacy.identifiers import is_quantity
from fedrag_flwr.privacy.rules import Span
from fedrag_flwr.privacy.token_classifier import Chances, marks
from fedrag_flwr.privacy.word_lists import GIVEN_NAMES, PARTICLES, STOP_WORDS, THINGS, THINGS_OR_SURNAMES, is_clinical

RULE, SURE = "classifier", "classifier-sure"
_LEAST_SURE = 0.8  # chance of each word of a name that is also looked for elsewhere
_LEAST, _LEAST_ALONE = 0.2, 0.5  # chance of the likeliest word of a name, and of a name of one word
_LEAST_AGREED = 0.02  # of each word of a name that the parser finds, too
_LEAST_FIRST = 0.8  # of a name of one word where any word has a capital
_LEAST_BESIDE, _LEAST_UNCASED = 0.15, 0.6  # of a word beside the likeliest; where no capital tells it from others
_LEAST_CAPITALS = 0.9  # of a name in capitals within a text that is not: most words in capitals are abbreviations
_LEAST_NUMBER = 0.6
_FEWEST_UNCASED = 4  # words; fewer, such as a short answer, tell too little
_FEWEST_DIGITS, _MOST_DIGITS = 6, 19

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BESIDE = re.compile(r"(?:(?<=\b\w)\.)?[^\S\n]{1,2}")  # a full stop behind an initial alone
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_INNER_CAPITAL = re.compile(r"[a-z](?<!\bMc)(?<!\bMac)(?<!\bDe)(?<!\bLe)(?<!\bVan)[A-Z]|[A-Z]{2}[a-z]")  # "GitLab"
_FIRST = re.compile(r"(?:\A|[\n.!?:*#>\[(•|-])\W{0,3}\Z")
_FOLLOWING = re.compile(r"(?:[^\S\n][A-ZÀ-ÖØ-Þ][\w-]*){1,4}")
_NUMBERED = re.compile(r"-\d")  # "Soyuz-2"
_THE = re.compile(r"\bthe\s\Z", re.IGNORECASE)
_HUMAN = re.compile(
    r"(?:['’]s)?\s(?:famil(?:y|ies)|brothers?|sisters?|twins|couple|household|estate|case|file|account|residence|house|"
    r"girls?|boys?|child(?:ren)?|baby|trial|novel|affair|wedding|funeral|will)\b"
)
_NUMBER = re.compile(r"(?<![\w.,$€£/-])\+?\(?\d(?:[ .()/-]{0,3}\d){5,18}(?!\w|[.,]\d|\s?%)")
_NO_NUMBER = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|(?:1[5-9]|20)\d\d\s?[-/]\s?(?:1[5-9]|20)\d\d|\d+\.\d+")


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    text: str
    chance: float


def find_names(text: str) -> list[Span]:
    """Find the names of persons in a text."""
    cased = not (text.islower() or text.isupper())
    words, found = _words(text, marks(text).name), []
    if not cased and len(words) < _FEWEST_UNCASED and GIVEN_NAMES.isdisjoint(word.text.casefold() for word in words):
        return []
    at = 0
    while at < len(words):
        name = [words[at]] if _may_be(words[at], cased) else []
        while name and (more := _next(text, words, at + len(name), cased)):
            name += more
        if name and _is_name(text, name, cased) and not names_something_else(text, name[0].start, name[-1].end):
            sure = min(word.chance for word in name) >= _LEAST_SURE
            found.append(Span(_beginning(text, words, at), name[-1].end, "PERSON", SURE if sure else RULE))
        at += max(1, len(name))
    return found


def find_numbers(text: str, types: frozenset[str]) -> Iterator[Span]:
    """Find telephone numbers, and other numbers of persons, of the wanted types in a probed text."""
    if not _NUMBER.search(text):
        return
    read = marks(text)
    for match in _NUMBER.finditer(text):
        digits = [at for at in range(*match.span()) if text[at].isdigit()]
        if not _FEWEST_DIGITS <= len(digits) <= _MOST_DIGITS or _NO_NUMBER.fullmatch(match[0]):
            continue
        if is_quantity(text, *match.span()):
            continue
        phone, number = float(read.phone[digits].mean()), float(read.number[digits].mean())
        kind = "PHONE" if phone >= number else "ID"
        if phone + number >= _LEAST_NUMBER and kind in types:
            yield Span(*match.span(), kind, RULE)


def is_agreed(text: str, name: str) -> bool:
    """Whether the classifier does not rule out any word of a name of several, which the parser takes for a person's."""
    start = text.find(name)
    if " " not in name or start < 0 or names_something_else(text, start, start + len(name)):
        return False
    words = [word for word in _words(text, marks(text).name) if start <= word.start < start + len(name)]
    return bool(words) and all(word.chance >= _LEAST_AGREED for word in words)


def names_something_else(text: str, start: int, end: int) -> bool:
    """Whether what looks like a person's name is a clinical term, or part of a thing's name."""
    if _NUMBERED.match(text, end):
        return True
    if " " not in text[start:end] and _THE.search(text, max(0, start - 5), start) and not _HUMAN.match(text, end):
        return True  # "the Kuiper belt"
    following = _FOLLOWING.match(text, end)
    first, *words = f"{text[start:end]} {following[0] if following else ''}".casefold().split()
    things = THINGS if first in GIVEN_NAMES else THINGS | THINGS_OR_SURNAMES
    return not things.isdisjoint(words) or is_clinical(text, start, end)


def _words(text: str, chances: Chances) -> list[_Word]:
    words = []
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match[0])
        end = match.start() + len(word)
        words.append(_Word(match.start(), end, word, float(chances[match.start() : end].mean())))
    return words


def _next(text: str, words: Sequence[_Word], at: int, cased: bool) -> list[_Word]:
    """What of a name follows: its next word, or a particle and the word behind it."""
    if at >= len(words) or not _BESIDE.fullmatch(text, words[at - 1].end, words[at].start):
        return []
    if _may_be(words[at], cased):
        return [words[at]]
    is_particle = words[at].text.casefold() in PARTICLES and words[at].chance >= _LEAST_BESIDE
    behind = _next(text, words, at + 1, cased) if is_particle else []
    return [words[at], *behind] if behind else []


def _beginning(text: str, words: Sequence[_Word], at: int) -> int:
    """Where a name begins with the particles before it: "van den Berg"."""
    while at and words[at - 1].text.casefold() in PARTICLES and words[at - 1].chance >= _LEAST_BESIDE:
        if not _BESIDE.fullmatch(text, words[at - 1].end, words[at].start):
            break
        at -= 1
    return words[at].start


def _may_be(word: _Word, cased: bool) -> bool:
    """Whether a word is likely enough, and is written like a name."""
    least = _LEAST_BESIDE if cased else _LEAST_UNCASED
    if word.chance < (_LEAST_CAPITALS if word.text.casefold() in STOP_WORDS else least):
        return False
    return not cased or (word.text[0].isupper() and not _INNER_CAPITAL.search(word.text))


def _is_name(text: str, words: Sequence[_Word], cased: bool) -> bool:
    top = max(word.chance for word in words)
    if cased and any(word.text.isupper() and len(word.text) > 1 for word in words):
        return len(words) > 1 and top >= _LEAST_CAPITALS
    if len(words) > 1:
        return top >= _LEAST
    start = words[0].start
    return top >= (_LEAST_FIRST if cased and _FIRST.search(text, max(0, start - 5), start) else _LEAST_ALONE)
