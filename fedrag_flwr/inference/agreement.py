"""Whom to believe where memories of several devices contradict each other: each owner has one voice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fedrag_flwr.inference.senses import denials
from fedrag_flwr.memory.fusion.fusing import owners
from fedrag_flwr.memory.fusion.statements import holds
from fedrag_flwr.records import Match
from fedrag_flwr.text.numbers import told_words


@dataclass(slots=True)
class _Voice:
    """One answer, the match that speaks for it, and the devices that stand behind it."""

    match: Match
    owners: set[str] = field(default_factory=set)

    def joined(self, match: Match, new: frozenset[str], home: str) -> None:
        """Take in a match that agrees: home speaks for itself, else whoever says least, which all others say, too."""
        self.owners |= new
        fits = match.item.origin == home or _length(match) < _length(self.match)
        if new and fits and self.match.item.origin != home:
            self.match = match


def agreed(matches: Sequence[Match], home: str, least: int = 0) -> Match | None:
    """The match for the answer that most devices give; None where as many give another, or too few give this.

    A device's voice is its best match: however often it says a thing, and whatever else it says, it counts once. Where
    voices are equal, the device where the question is asked believes its own documents. Answers of which one holds the
    other's words in their order are the same where both deny or neither does: then home's is given, or else the one
    that the others hold, so that nobody lends weight to more than it has said. What was composed of several memories
    has no voice of its own.

    Parameters
    ----------
    matches
        Matches that answer a question, best first.
    home
        The device where it is asked.
    least
        How many devices must give what home does not; 0: none.
    """
    voices: list[_Voice] = []
    heard: set[str] = set()
    for match in matches:
        new = owners(match.item) - heard
        said = match.item.answer
        voice = next((voice for voice in voices if _agree(said, voice.match.item.answer)), None)
        if voice is not None:
            voice.joined(match, new, home)
        elif new or not voices:
            voices.append(_Voice(match, set(new)))
        heard |= new

    def weight(voice: _Voice) -> tuple[int, bool]:
        return len(voice.owners), home in voice.owners

    ranked = sorted(voices, key=weight, reverse=True)
    if len(ranked) > 1 and weight(ranked[0]) == weight(ranked[1]):
        return None
    if not ranked or (home not in ranked[0].owners and len(ranked[0].owners) < least):
        return None
    return ranked[0].match


def _agree(one: str, other: str) -> bool:
    """Whether both say something, and one says what the other does and does not deny it."""
    here, there = told_words(one), told_words(other)
    if not (here and there) or denials(here) != denials(there):
        return False
    return holds(one, other) or holds(other, one)


def _length(match: Match) -> int:
    return len(set(told_words(match.item.answer)))
