"""A network of peers without messages: the walks, the learning and the faults of a federation, at any size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fedrag_flwr.overlay.expertise import Expertise, LearningRules
from fedrag_flwr.overlay.sketches import Levels, claim
from fedrag_flwr.overlay.topology import Overlay
from fedrag_flwr.overlay.walks import Visit, Walk, WalkCount, WalkLesson, WalkRules, run_walk


class Knowledge(Protocol):
    """What peers know: nothing but how relevant a peer's best knowledge is to a question."""

    def relevance(self, question: int, peer: int) -> float:
        """The best cosine of what a peer knows to a question."""
        ...


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong."""

    dead: frozenset[int] = frozenset()  # peers that never answer
    liars: frozenset[int] = frozenset()  # peers that claim to know everything and return junk
    recognised: float = 0.5  # chance that home sees that what it got is junk; the question then walks on
    feedback: float = 0.1  # chance that somebody says so of junk that home took


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a question: the counts of its walk, who answered (-1: nobody), and whether that was junk."""

    count: WalkCount
    answered_by: int
    junk: bool


@dataclass(slots=True)
class Simulator:
    """Asks questions of a network, one after the other, and lets its peers learn."""

    overlay: Overlay  # who is whose neighbour
    knowledge: Knowledge  # what peers know
    topics: Sequence[Mapping[int, float]]  # the topics of each question, with weights
    rules: WalkRules  # how questions walk
    threshold: float  # relevance from which a peer answers (DRAG's theta)
    rng: np.random.Generator  # draws ties, random walks and faults
    learning: LearningRules = field(default_factory=LearningRules)  # how peers learn from answers
    told: Sequence[Levels] = ()  # for sketch walks, what each peer's neighbours told, in the order of its neighbours
    faults: Faults = field(default_factory=Faults)  # what goes wrong
    memories: defaultdict[int, Expertise[int]] = field(init=False)
    _places: dict[int, dict[int, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.memories = defaultdict(lambda: Expertise[int](self.learning))

    def ask(self, question: int, home: int) -> Asked:
        """Let a question walk from home, and the peers on its way learn."""
        walk = Walk(home, self.rules)
        junk = [False]
        topics = self.topics[question]

        def knows(visit: Visit[int]) -> bool | None:
            peer = visit.peer
            if peer in self.faults.dead:
                self._teach(walk.silence(visit), topics)
                return None
            junk[0] = peer in self.faults.liars and peer != home
            if junk[0] and self.rng.random() < self.faults.recognised:
                walk.hit(visit)
                self._teach(walk.refuse(), topics)
                return None
            if junk[0]:
                return True
            return self.knowledge.relevance(question, peer) >= self.threshold

        count = run_walk(
            walk, self.overlay.neighbours, knows, lambda visit, near: self._rank(visit.peer, near, question)
        )
        if walk.found is None:
            return Asked(count, -1, False)
        answered_by = walk.found.peer
        if not junk[0]:
            self._teach(walk.lessons(), topics)
        elif self.rng.random() < self.faults.feedback:
            self._teach(walk.refuse(), topics)
        return Asked(count, answered_by, junk[0])

    def _teach(self, lessons: Sequence[WalkLesson[int]], topics: Mapping[int, float]) -> None:
        for one in lessons:
            self.memories[one.peer].learn(one.neighbour, topics, one.distance, one.outcome)

    def _rank(self, peer: int, near: Sequence[int], question: int) -> list[tuple[int, float]]:
        if self.rules.kind == "flooding" or not near:
            return [(one, 0.0) for one in near]
        if self.rules.kind == "random":
            return [(near[int(self.rng.integers(len(near)))], 0.0)]
        memory = self.memories[peer]
        memory.tick()
        topics, claims = self.topics[question], [0.0] * len(near)
        if self.rules.kind == "sketch":
            if peer not in self._places:
                self._places[peer] = {one: row for row, one in enumerate(self.overlay.neighbours(peer))}
            claims = [claim(self.told[peer][self._places[peer][one]], topics) for one in near]
        return memory.ranked(near, topics, claims, self.rng)
