"""What a retriever takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.records import Passage

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage by its id, and a score in the unit of the retriever that gave it: higher is better."""

    passage_id: str
    score: float


Ranking = tuple[RankedPassage, ...]


class Retriever(Protocol):
    """Ranks the passages of one corpus for questions."""

    @property
    def id(self) -> str:
        """Name, settings and models."""
        ...

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
