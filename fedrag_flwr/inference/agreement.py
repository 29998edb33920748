"""Whom to believe where memories of several devices contradict each other: each owner has one voice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fedrag_flwr.memory.fusing import answer_words, owners
from fedrag_flwr.records import Match

SAME_QUESTION = 0.95  # cosine from which two memories were asked the same


@dataclass(slots=True)
class _Voice:
    """One answer, the best match that gives it, and the devices that stand behind it."""

    match: Match
    words: frozenset[str]
    owners: set[str] = field(default_factory=set)


def agreed(matches: Sequence[Match], home: str) -> Match | None:
    """The best match, unless more devices answer the same question otherwise; None where as many do.

    However often one device says a thing, it counts once. Where voices are equal, the device where the question is
    asked believes its own documents. Answers of which one holds the other's words do not contradict each other, nor do
    several answers of one device.

    Parameters
    ----------
    matches
        Matches that fit a question, best first.
    home
        The device where it is asked.
    """
    if not matches:
        return None
    best = matches[0]
    voices: list[_Voice] = []
    for match in matches:
        if float(best.item.embedding @ match.item.embedding) < SAME_QUESTION:
            continue
        words = answer_words(match.item.answer)
        voice = next((voice for voice in voices if words <= voice.words or voice.words <= words), None)
        if voice is None:
            voices.append(voice := _Voice(match, words))
        voice.owners |= owners(match.item)
    first = voices[0]
    against = [voice for voice in voices[1:] if voice.owners - first.owners]
    if not against:
        return first.match

    def weight(voice: _Voice) -> tuple[int, bool]:
        return len(voice.owners), home in voice.owners

    ranked = sorted([first, *against], key=weight, reverse=True)
    return ranked[0].match if weight(ranked[0]) > weight(ranked[1]) else None
