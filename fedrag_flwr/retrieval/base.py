"""Rankings of passages, and evidence units as they are read: each statement once, within room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.records import EvidenceUnit, Passage
from fedrag_flwr.text.segment import document_title
from fedrag_flwr.text.words import normalise_line, told_words

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage by its id, and a score in the unit of the retriever that gave it: higher is better."""

    passage_id: str
    score: float


Ranking = tuple[RankedPassage, ...]


class Retriever(Protocol):
    """Ranks the passages of one corpus for questions."""

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        ...


def searchable_text(passage: Passage) -> str:
    """A passage as retrievers read it: its title, where it has one, and its text."""
    return f"{passage.title}\n{passage.text}".strip()


def ranked(ids: Sequence[str], scores: NDArray[np.floating], k: int, *, above: float = -np.inf) -> Ranking:
    """Rank ids by their scores.

    Parameters
    ----------
    ids
        Length n.
    scores
        Shape (n,).
    k
        Give at most so many.
    above
        Leave out scores that are not above it.

    Returns
    -------
    Ranking
        By falling score, equal ones by id. Scores that agree to 12 digits are equal: the order in which a sum was
        taken, which differs between machines, must not decide.
    """
    candidates = np.flatnonzero(scores > above)
    if k < 1 or not len(candidates):
        return ()
    if len(candidates) > k:
        bar = np.partition(scores[candidates], len(candidates) - k)[len(candidates) - k]
        candidates = candidates[scores[candidates] >= bar - abs(bar) * 10.0**-_DIGITS * 2]
    found = [(-float(f"{scores[row]:.{_DIGITS}g}"), ids[row], float(scores[row])) for row in candidates.tolist()]
    return tuple(RankedPassage(name, score) for _, name, score in sorted(found)[:k])


def scaled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale scores, shape (n,), to [0, 1]; all ones where they are all equal to 12 digits."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    differ = high - low > max(abs(low), abs(high)) * 10.0**-_DIGITS
    return (scores - low) / (high - low) if differ else np.ones_like(scores)


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
