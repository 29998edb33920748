"""What one peer has learnt of its neighbours: who led to good answers on which topic, and who returned junk."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypedDict, TypeVar

import numpy as np

P = TypeVar("P", bound=Hashable)
UNKNOWN = 0.01  # documents that a neighbour is taken to reach where nothing is told


@dataclass(frozen=True, slots=True)
class LearningRules:
    """How a peer learns.

    Parameters
    ----------
    half_life
        Questions seen after which what was learnt counts half.
    most
        Pairs of neighbour and topic that are kept; those that count least go first.
    discount
        Credit of a neighbour that only led on, for each hop to the peer that answered; 0: answering peers alone learn
        a good name.
    reputation
        Whether neighbours that returned junk are passed over.
    trusted
        Standing below which a neighbour is not asked at all.
    """

    half_life: float = 5_000.0
    most: int = 4_096
    discount: float = 0.5
    reputation: bool = True
    trusted: float = 0.3


class ExpertiseState(TypedDict):
    """What a peer knows: credit as (neighbour, topic, value, then), judgements as (neighbour, right, wrong, then)."""

    now: int
    credit: list[tuple[Any, int, float, int]]
    judged: list[tuple[Any, float, float, int]]


class Expertise(Generic[P]):
    """One peer's memory of its neighbours (DRAG's E, learnt by each peer for itself).

    Parameters
    ----------
    rules
        How it learns.
    """

    def __init__(self, rules: LearningRules | None = None) -> None:
        self.rules = rules or LearningRules()
        self.now = 0
        self._credit: dict[tuple[P, int], tuple[float, int]] = {}
        self._judged: dict[P, tuple[float, float, int]] = {}

    def __len__(self) -> int:
        return len(self._credit)

    def tick(self) -> None:
        """A question was seen: what was learnt before counts a little less."""
        self.now += 1

    def learn(self, neighbour: P, topics: Mapping[int, float], distance: int, *, good: bool) -> None:
        """Take in how an answer turned out that came from a neighbour, or through it.

        Parameters
        ----------
        neighbour
            Where the question went from here.
        topics
            The question's, with their weights.
        distance
            Hops from the neighbour to the peer that answered.
        good
            Whether the answer was.
        """
        share = self.rules.discount**distance if distance else 1.0
        if not share:
            return
        right, wrong = self._judgement(neighbour)
        self._judged[neighbour] = (right + share * good, wrong + share * (not good), self.now)
        for topic, weight in topics.items() if good else ():
            self._credit[neighbour, topic] = (self.credit(neighbour, topic) + share * weight, self.now)
        if len(self._credit) > self.rules.most:
            self._forget()

    def credit(self, neighbour: P, topic: int) -> float:
        """Good answers on a topic that came from or through a neighbour, faded with time."""
        value, then = self._credit.get((neighbour, topic), (0.0, 0))
        return value * self._fade(then) if value else 0.0

    def standing(self, neighbour: P) -> float:
        """The share of a neighbour's answers that were good, in (0, 1]; 1 for one that is not known."""
        right, wrong = self._judgement(neighbour)
        return (right + 1) / (right + wrong + 1)

    def scores(self, neighbours: Sequence[P], topics: Mapping[int, float], told: Sequence[float]) -> list[float]:
        """How good neighbours look for a question (RelevanceScore of Algorithm 1).

        Parameters
        ----------
        neighbours
            Candidates.
        topics
            The question's, with their weights.
        told
            What each has told of itself and of whom it reaches; zeros where nothing is told.
        """
        scores = []
        for neighbour, claim in zip(neighbours, told, strict=True):
            learnt = sum(weight * self.credit(neighbour, topic) for topic, weight in topics.items())
            value = (UNKNOWN + claim) * (1 + learnt)
            scores.append(value * self.standing(neighbour) if self.rules.reputation else value)
        return scores

    def trusts(self, neighbour: P) -> bool:
        """Whether a neighbour's standing allows to ask it at all."""
        return not self.rules.reputation or self.standing(neighbour) >= self.rules.trusted

    def ranked(
        self, neighbours: Sequence[P], topics: Mapping[int, float], told: Sequence[float], rng: np.random.Generator
    ) -> list[tuple[P, float]]:
        """The neighbours that are trusted with their `scores`, best first; equals in an order that is drawn."""
        asked = [(peer, claim) for peer, claim in zip(neighbours, told, strict=True) if self.trusts(peer)]
        scores = self.scores([peer for peer, _ in asked], topics, [claim for _, claim in asked])
        order = sorted(rng.permutation(len(asked)).tolist(), key=lambda row: -scores[row])
        return [(asked[row][0], scores[row]) for row in order]

    def state(self) -> ExpertiseState:
        """All that is known, as JSON can hold it."""
        credit = [(peer, topic, *value) for (peer, topic), value in self._credit.items()]
        judged = [(peer, *value) for peer, value in self._judged.items()]
        return {"now": self.now, "credit": credit, "judged": judged}

    @classmethod
    def restored(cls, rules: LearningRules, state: ExpertiseState) -> Self:
        """A memory from its `state`."""
        memory = cls(rules)
        memory.now = state["now"]
        memory._credit = {(peer, topic): (value, then) for peer, topic, value, then in state["credit"]}
        memory._judged = {peer: (right, wrong, then) for peer, right, wrong, then in state["judged"]}
        return memory

    def _judgement(self, neighbour: P) -> tuple[float, float]:
        right, wrong, then = self._judged.get(neighbour, (0.0, 0.0, 0))
        fade = self._fade(then) if right or wrong else 1.0
        return right * fade, wrong * fade

    def _fade(self, then: int) -> float:
        return math.pow(0.5, (self.now - then) / self.rules.half_life)

    def _forget(self) -> None:
        """Drop the tenth that counts least, so that room is made seldom."""
        worth = sorted(self._credit, key=lambda pair: self.credit(*pair))
        for pair in worth[: max(1, self.rules.most // 10)]:
            del self._credit[pair]


def learn_along(
    path: Sequence[P], memories: Mapping[P, Expertise[P]], topics: Mapping[int, float], *, good: bool
) -> None:
    """Let each peer of a walk's path learn of the next one; `path` runs from home to the peer that answered."""
    for place, (peer, following) in enumerate(itertools.pairwise(path)):
        if peer != following:
            memories[peer].learn(following, topics, len(path) - 2 - place, good=good)
