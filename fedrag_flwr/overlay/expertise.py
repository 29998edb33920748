"""What one peer has learnt of its neighbours: who led to good answers on which topic, and who returned junk."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypedDict, TypeVar

import numpy as np

from fedrag_flwr.records import Outcome

P = TypeVar("P", bound=Hashable)
_LEARNT = 6  # topics of a question by which peers learn
UNKNOWN = 0.01  # documents that a neighbour is taken to reach where nothing is told


@dataclass(frozen=True, slots=True)
class LearningRules:
    """How a peer learns."""

    half_life: float = 5_000.0  # questions seen after which what was learnt counts half
    # Pairs of neighbour and topic that are kept, and judgements of neighbours; those that count least go first.
    most: int = 4_096
    # Credit of a neighbour that only led on, for each hop to the peer that answered; 0: answering peers alone get it.
    discount: float = 0.5
    # Share of its worth on a topic that a neighbour loses where it did not know and another did; 0 is DRAG's, which
    # learns of successes alone.
    miss: float = 0.1
    reputation: bool = True  # whether neighbours that returned junk are passed over
    trusted: float = 0.3  # reputation below which a neighbour is not asked at all


class ExpertiseState(TypedDict):
    """What a peer knows: credit as (neighbour, topic, value, then), judgements as (neighbour, right, wrong, then)."""

    now: int
    credit: list[tuple[Any, int, float, int]]
    judged: list[tuple[Any, float, float, int]]


class Expertise(Generic[P]):
    """One peer's memory of its neighbours (DRAG's E, learnt by each peer for itself)."""

    def __init__(self, rules: LearningRules | None = None) -> None:
        self.rules = rules or LearningRules()
        self.now = 0
        self._credit: dict[tuple[P, int], tuple[float, int]] = {}
        self._judged: dict[P, tuple[float, float, int]] = {}

    def tick(self, questions: int = 1) -> None:
        """Questions were seen: what was learnt before counts a little less."""
        self.now += questions

    def learn(self, neighbour: P, topics: Mapping[int, float], distance: int, outcome: Outcome) -> None:
        """Take in what came of passing a question on to a neighbour.

        Parameters
        ----------
        neighbour
            Where the question went from here.
        topics
            The question's, with their weights, heaviest first.
        distance
            Hops from the neighbour to the peer that answered.
        outcome
            A good answer came that way, junk did, or the neighbour did not know and the answer came from elsewhere.
        """
        share = self.rules.discount**distance if distance else 1.0
        if outcome != "miss":
            right, wrong = self._judgement(neighbour)
            good = outcome == "good"
            self._judged[neighbour] = (right + share * good, wrong + share * (not good), self.now)
        for topic, weight in _heaviest(topics).items() if outcome != "junk" and share else ():
            known = self.credit(neighbour, topic)
            gain = share * weight if outcome == "good" else -self.rules.miss * weight * (1 + known)
            self._credit[neighbour, topic] = (known + gain, self.now)
        self._forget()

    def credit(self, neighbour: P, topic: int) -> float:
        """Good answers on a topic that came from or through a neighbour, less what misses took, faded with time."""
        value, then = self._credit.get((neighbour, topic), (0.0, 0))
        return value * self._fade(then) if value else 0.0

    def reputation(self, neighbour: P) -> float:
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
        scores, learnt_by = [], _heaviest(topics)
        for neighbour, claim in zip(neighbours, told, strict=True):
            learnt = sum(weight * self.credit(neighbour, topic) for topic, weight in learnt_by.items())
            value = (UNKNOWN + claim) * (1 + learnt)
            scores.append(value * self.reputation(neighbour) if self.rules.reputation else value)
        return scores

    def trusts(self, neighbour: P) -> bool:
        """Whether a neighbour's reputation allows to ask it at all."""
        return not self.rules.reputation or self.reputation(neighbour) >= self.rules.trusted

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
        """Where there is more than is kept, drop the tenth that counts least, so that room is made seldom."""
        most = self.rules.most
        if len(self._credit) > most:
            worth = sorted(self._credit, key=lambda pair: abs(self.credit(*pair)))
            for pair in worth[: max(1, most // 10)]:
                del self._credit[pair]
        if (beyond := len(self._judged) - most) > 0:  # many, where they were kept without a bound
            faded = sorted(self._judged, key=lambda peer: sum(self._judgement(peer)))
            for peer in faded[: beyond + most // 10]:
                del self._judged[peer]


def _heaviest(topics: Mapping[int, float]) -> dict[int, float]:
    """The topics by which a peer learns, with weights that sum to 1."""
    chosen = dict(itertools.islice(topics.items(), _LEARNT))
    total = sum(chosen.values()) or 1.0
    return {topic: weight / total for topic, weight in chosen.items()}
