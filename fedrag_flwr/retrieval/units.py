"""Evidence units as they are read: each statement once, none endless, as many as there is room for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.normalise import normalise_line
from fedrag_flwr.text.numbers import told_words
from fedrag_flwr.text.segment import document_title

_LEAST_WORDS = 12  # what is left of a unit below that says nothing
_LONGEST = 1_500  # characters of a unit that are read: a table without stops, or a hostile reply, may have pages


def statement(unit: EvidenceUnit) -> tuple[str, str]:
    """What a unit says, in the form in which statements compare: its text, without case and odd spaces.

    A text that does not name what it stands under says something else under another title ("He was born in Lindmoor"),
    so that title belongs to it.
    """
    text, title = (normalise_line(said).casefold() for said in (unit.text, document_title(unit.title)))
    return text, "" if set(told_words(title)) <= set(told_words(text)) else title


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

    Home's own documents need no second device, and what they say came from nobody else.
    """
    kept: dict[tuple[str, str], EvidenceUnit] = {}
    for unit in units:
        first = kept.setdefault(said := statement(unit), unit)
        if unit.origin == home != first.origin:
            kept[said] = unit
    return list(kept.values())


def nearest(units: Sequence[EvidenceUnit], home: str = "") -> list[EvidenceUnit]:
    """Units as they are read, the nearest first, each once.

    Of those that say the same the device `home`'s is taken, where it says so.
    """
    best: dict[tuple[str, str], EvidenceUnit] = {}
    for unit in sorted(units, key=lambda one: (-one.score, one.origin, one.id)):
        best.setdefault((unit.origin, unit.id), unit)
    return distinct(map(shortened, best.values()), home)
