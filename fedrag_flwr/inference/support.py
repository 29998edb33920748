"""Whether evidence supports an answer: the check that stands between a small model and a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from fedrag_flwr.records import EvidenceUnit, MemoryItem
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.normalise import normalise_line
from fedrag_flwr.text.segment import document_title, under_title
from fedrag_flwr.text.signs import spell_signs

_WORD = re.compile(r"\w+")
_CHOICE = re.compile(r"\b[Oo][Rr]\b|^Between .+ and .+,|\bout of \W?[A-Z].* and \W?[A-Z]")
_LEAST_WORDS = 12  # what is left of a unit below that says nothing
_LONGEST = 1_500  # characters of a unit that are read: a table without stops, or a hostile reply, may have pages
_YES_NO = {"yes", "no"}


def tokens(text: str) -> list[str]:
    """Lower-case word tokens of the normal form of a text."""
    return _WORD.findall(normalise_anchor(text))


@lru_cache(maxsize=65_536)
def _singular(word: str) -> str:
    return normalise_anchor(word)


def forms(text: str) -> list[str]:
    """Tokens in the form in which they compare: a plural is its singular wherever it stands, and signs are told."""
    return [_singular(word) for word in tokens(spell_signs(text))]


def is_supported(answer: str, texts: Iterable[str]) -> bool:
    """Whether the answer's words stand together in one of the texts; yes and no are supported by any evidence."""
    wanted = forms(answer)
    if not wanted:
        return False
    if is_yes_no(answer):
        return True
    return any(_contains(forms(text), wanted) for text in texts)


def is_choice(question: str) -> bool:
    """Whether a question offers alternatives: "the Ossel or the Marl", "between Ossel and Marl"."""
    return _CHOICE.search(question) is not None


def is_yes_no(answer: str) -> bool:
    """Whether an answer is the word yes or no."""
    words = tokens(answer)
    return len(words) == 1 and words[0] in _YES_NO


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    width = len(wanted)
    return any(list(words[i : i + width]) == list(wanted) for i in range(len(words) - width + 1))


def evidence_texts(units: Sequence[EvidenceUnit], memories: Sequence[MemoryItem] = ()) -> list[str]:
    """The texts that an answer may be taken from: units, their titles, and the answers of memories."""
    return [under_title(unit.title, unit.text) for unit in units] + [item.answer for item in memories]


def statement(unit: EvidenceUnit) -> tuple[str, str]:
    """What a unit says, in the form in which statements compare: its text, without case and odd spaces.

    A text that does not name what it stands under says something else under another title ("He was born in Lindmoor"),
    so that title belongs to it.
    """
    text, title = (normalise_line(said).casefold() for said in (unit.text, document_title(unit.title)))
    named = set(_WORD.findall(title)) <= set(_WORD.findall(text))
    return text, "" if named else title


def shortened(unit: EvidenceUnit) -> EvidenceUnit:
    """What is read of a unit: the start of a very long one, so that it leaves room in the prompt for the others."""
    return unit if len(unit.text) <= _LONGEST else replace(unit, text=unit.text[:_LONGEST])


def within(units: Sequence[EvidenceUnit], most: int) -> list[EvidenceUnit]:
    """The first units that hold at most so many words, titles included; the last is cut where the words end.

    A unit of which fewer than twelve words would be left is dropped, and with it all that follow.
    """
    kept: list[EvidenceUnit] = []
    left = most
    for unit in units:
        words = unit.text.split()
        room = left - len(unit.title.split())
        if room < min(len(words), _LEAST_WORDS):
            break
        if len(words) > room:
            return [*kept, replace(unit, text=" ".join(words[:room]))]
        kept.append(unit)
        left = room - len(words)
    return kept


def distinct(units: Iterable[EvidenceUnit], home: str = "") -> list[EvidenceUnit]:
    """One unit for each statement, at the place of the first that says it: home's where it says it too, else that one.

    Home's own documents need no second voice, and what they say came from nobody else.
    """
    kept: dict[tuple[str, str], EvidenceUnit] = {}
    for unit in units:
        first = kept.setdefault(said := statement(unit), unit)
        if unit.origin == home != first.origin:
            kept[said] = unit
    return list(kept.values())


def coverage(anchors: Sequence[str], texts: Sequence[str]) -> float:
    """Share of a question's anchors whose words all occur in the evidence; 1 where it has none."""
    if not anchors:
        return 1.0
    seen = {word for text in texts for word in forms(text)}
    return sum(all(word in seen for word in forms(anchor)) for anchor in anchors) / len(anchors)


def bare(text: str) -> str:
    """An answer without quotes around it and without its final stop."""
    return text.strip('" ').rstrip('." ')
