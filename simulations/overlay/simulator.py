"""A network of peers without messages: the walks, the learning and the faults of a federation, at any size.

MMLU is dealt to its peers: each subject lies with one of them, and 10,000 questions are asked all over the network.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.overlay.expertise import Expertise, LearningRules
from fedrag_flwr.overlay.sketches import Levels, claim, noisy_sketch, said
from fedrag_flwr.overlay.topics import Topics, topics_of
from fedrag_flwr.overlay.topology import Overlay, make_overlay
from fedrag_flwr.overlay.walks import Visit, Walk, WalkCount, WalkLesson, WalkRules
from fedrag_flwr.records import WalkKind
from simulations.corpora.sentences import encoded, json_lines


class Knowledge(Protocol):
    """What peers know: nothing but how relevant a peer's best knowledge is to a question."""

    def relevance(self, question: int, peer: int) -> float:
        """The best cosine of what a peer knows to a question."""
        ...


def run_walk(
    walk: Walk[int],
    neighbours: Callable[[int], Sequence[int]],
    knows: Callable[[Visit[int]], bool | None],
    rank: Callable[[Visit[int], list[int]], Sequence[tuple[int, float]]],
) -> WalkCount:
    """Walk to the end.

    Parameters
    ----------
    walk
        At its beginning.
    neighbours
        Of a peer.
    knows
        Whether a peer knows enough; None where it is silent.
    rank
        A peer's candidates with their scores, best first.
    """
    while (visit := walk.next()) is not None:
        known = knows(visit)
        if known:
            walk.hit(visit)
        elif known is not None:
            walk.miss(visit, rank(visit, walk.candidates(visit, neighbours(visit.peer))))
    return walk.count


def gossip(own: Levels, neighbours: Sequence[Sequence[int]], rounds: int) -> list[Levels]:
    """Let peers tell their neighbours what they reach, all at once, in rounds.

    Parameters
    ----------
    own
        The peers' own sketches, shape (peers, topics).
    neighbours
        Of each peer.
    rounds
        After which sketches have travelled so many hops.

    Returns
    -------
    list[Levels]
        For each peer what its neighbours told last, shape (neighbours, topics).
    """
    degrees = np.array([len(near) for near in neighbours])
    ends = np.cumsum(degrees)
    hearer = np.repeat(np.arange(len(own)), degrees)
    teller = np.concatenate([np.asarray(near, dtype=np.int64) for near in neighbours])
    back = np.lexsort((hearer, teller))[np.argsort(np.lexsort((teller, hearer)))]  # a row's other direction
    told = np.zeros((len(hearer), own.shape[1]), dtype=np.uint8)
    for _ in range(rounds if len(hearer) else 0):
        told = said(own, told, (ends - degrees)[degrees > 0], hearer)[back]
    return np.split(told, ends[:-1])


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


QUESTIONS = 10_000
THRESHOLD = 0.7  # of the rows for fitting 99.2 % reach their own subject's knowledge, and 3.2 % another's
GOSSIP_ROUNDS = 6
EPSILON = 1.0
MEANS = ("hops", "queried", "on the wire", "hits %")
FANOUT = {"topic": 4, "sketch": 8, "random": 1, "flooding": 0}  # a sketch walk names more and queries no more for it


@dataclass(frozen=True, slots=True)
class SubjectKnowledge:
    """What peers know, subject by subject: `best` of shape (questions, subjects) holds cosines, `of` a peer's rows."""

    best: NDArray[np.float32]
    of: Mapping[int, Sequence[int]]

    def relevance(self, question: int, peer: int) -> float:
        """The best cosine of what a peer knows to a question."""
        subjects = self.of.get(peer, ())
        return float(self.best[question, list(subjects)].max()) if subjects else 0.0


class MmluPeers:
    """One of `every` so many test questions with their topics and the knowledge of all subjects, for all networks.

    What is asked is a question with its choices; what is known is the question with its right answer. `asked` and
    `known` hold unit vectors of shape (rows, dimension), `subject` numbers of subjects.
    """

    def __init__(self, data: Path, every: int = 1) -> None:
        rows = [row for row in json_lines(data / "mmlu.jsonl.gz") if row["split"] == "test"][::every]
        self.subjects = sorted({row["subject"] for row in rows})
        self.subject = np.array([self.subjects.index(row["subject"]) for row in rows])
        asked = [f"{row['question']} {' '.join(map(str, row['choices']))}" for row in rows]
        known = [f"{row['question']} {row['choices'][row['answer_idx']]}" for row in rows]
        self.asked, self.known = encoded(asked, "MMLU questions"), encoded(known, "MMLU answers")
        self.chosen = np.random.default_rng(0).permutation(len(rows))[:QUESTIONS]
        self.topics: Topics = topics_of(load_encoder("", threads=1))

    @cached_property
    def question_topics(self) -> list[dict[int, float]]:
        """The topics of each question."""
        return [self.topics.weights(vector) for vector in self.asked[self.chosen]]

    @cached_property
    def best(self) -> NDArray[np.float32]:
        """The best cosine of each subject's knowledge to each question, shape (questions, subjects)."""
        asked, subject = self.asked[self.chosen], self.subject
        columns = [(asked @ self.known[subject == one].T).max(axis=1) for one in range(len(self.subjects))]
        return np.stack(columns, axis=1)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows of each subject are filed under each topic, shape (subjects, topics)."""
        subject = self.subject
        return np.stack([self.topics.counts(self.known[subject == one]) for one in range(len(self.subjects))])

    def told(
        self,
        overlay: Overlay,
        dealt: Mapping[int, Sequence[int]],
        epsilon: float,
        rng: np.random.Generator,
        liars: frozenset[int] = frozenset(),
    ) -> list[Levels]:
        """What the neighbours of each peer have told after the gossip; liars claim to know everything."""
        own = np.zeros((len(overlay.peers), len(self.topics)), dtype=np.uint8)
        for peer in overlay.peers:
            counts = self.counts[list(dealt.get(peer, ()))].sum(axis=0)
            own[peer] = noisy_sketch(counts, epsilon, rng) if peer not in liars else 128
        return gossip(own, [overlay.neighbours(peer) for peer in range(len(own))], GOSSIP_ROUNDS)

    def simulator(
        self,
        kind: WalkKind,
        peers: int,
        *,
        connectivity: int = 4,
        fanout: int | None = None,
        seed: int = 0,
        epsilon: float = EPSILON,
        faults: Faults | None = None,
        learning: LearningRules | None = None,
    ) -> Simulator:
        """A network over this knowledge; the same seed gives the same network and holdings to all kinds of walk."""
        rng = np.random.default_rng([seed, peers, connectivity])
        overlay = make_overlay(peers, connectivity, rng)
        dealt: dict[int, list[int]] = {}  # each subject lies with a peer that is drawn
        for subject in range(len(self.subjects)):
            dealt.setdefault(int(rng.integers(peers)), []).append(subject)
        faults = faults or Faults()
        told = self.told(overlay, dealt, epsilon, rng, faults.liars) if kind == "sketch" else ()
        return Simulator(
            overlay=overlay,
            knowledge=SubjectKnowledge(self.best, dealt),
            topics=self.question_topics,
            rules=WalkRules(kind, fanout=FANOUT[kind] if fanout is None else fanout),
            threshold=THRESHOLD,
            rng=rng,
            learning=learning or LearningRules(),
            told=told,
            faults=faults,
        )


def ask_all(simulator: Simulator, questions: int, seed: int = 0) -> DataFrame:
    """Ask the first questions, each at a peer that is drawn among those that live; a row of each, shares in %."""
    rng = np.random.default_rng([seed, 1])
    homes = [peer for peer in simulator.overlay.peers if peer not in simulator.faults.dead | simulator.faults.liars]
    most = min(questions, len(simulator.topics))
    asked = [simulator.ask(question, homes[rng.integers(len(homes))]) for question in range(most)]
    counts = [(one.count.hops, one.count.queried, one.count.wire, 100 * one.count.hit) for one in asked]
    found = DataFrame(counts, columns=MEANS)
    return found.assign(**{"junk %": [100 * one.junk for one in asked], "answered by": [o.answered_by for o in asked]})
