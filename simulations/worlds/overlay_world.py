"""MMLU dealt to peers: each subject lies with one of them, and 10,000 questions are asked all over the network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models import load_encoder
from fedrag_flwr.overlay import LearningRules, Levels, Topics, WalkRules, gossip, make_overlay, topics_of
from fedrag_flwr.overlay import noisy_sketch as noisy
from fedrag_flwr.overlay.simulator import Asked, Faults, Simulator
from fedrag_flwr.overlay.topology import Overlay
from fedrag_flwr.records import WalkKind
from simulations.corpora.mmlu_data import Mmlu, read_mmlu

QUESTIONS = 10_000
THRESHOLD = 0.7  # of the rows for fitting 99.2 % reach their own subject's knowledge, and 3.2 % another's
GOSSIP_ROUNDS = 6
EPSILON = 1.0


@dataclass(frozen=True, slots=True)
class SubjectKnowledge:
    """What peers know, subject by subject: `best` of shape (questions, subjects) holds cosines, `of` a peer's rows."""

    best: NDArray[np.float32]
    of: Mapping[int, Sequence[int]]

    def relevance(self, question: int, peer: int) -> float:
        """The best cosine of what a peer knows to a question."""
        subjects = self.of.get(peer, ())
        return float(self.best[question, list(subjects)].max()) if subjects else 0.0


class MmluWorld:
    """The questions with their topics and the knowledge of all subjects; made once for all networks.

    Parameters
    ----------
    data
        The folder of evaluation data; None: where it usually lies.
    asked
        ``report``: 10,000 test rows drawn once; ``fit``: the others, for choosing settings.
    every
        Take one of so many rows.
    """

    def __init__(self, data: Path | None = None, asked: str = "report", every: int = 1) -> None:
        self.rows: Mmlu = read_mmlu("test", data, every)
        order = np.random.default_rng(0).permutation(len(self.rows.subject))
        self.chosen = order[:QUESTIONS] if asked == "report" else order[QUESTIONS:]
        self.topics: Topics = topics_of(load_encoder("", threads=1))

    @cached_property
    def question_topics(self) -> list[dict[int, float]]:
        """The topics of each question."""
        return [self.topics.weights(vector) for vector in self.rows.asked[self.chosen]]

    @cached_property
    def best(self) -> NDArray[np.float32]:
        """The best cosine of each subject's knowledge to each question, shape (questions, subjects)."""
        asked, subject = self.rows.asked[self.chosen], self.rows.subject
        columns = [(asked @ self.rows.known[subject == one].T).max(axis=1) for one in range(len(self.rows.subjects))]
        return np.stack(columns, axis=1)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows of each subject are filed under each topic, shape (subjects, topics)."""
        subject = self.rows.subject
        return np.stack([self.topics.counts(self.rows.known[subject == one]) for one in range(len(self.rows.subjects))])

    def deal(self, peers: int, rng: np.random.Generator) -> dict[int, list[int]]:
        """Deal each subject to a peer that is drawn."""
        dealt: dict[int, list[int]] = {}
        for subject in range(len(self.rows.subjects)):
            dealt.setdefault(int(rng.integers(peers)), []).append(subject)
        return dealt

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
            own[peer] = noisy(counts, epsilon, rng) if peer not in liars else 128
        return gossip(own, [overlay.neighbours(peer) for peer in range(len(own))], GOSSIP_ROUNDS)

    def simulator(
        self,
        kind: WalkKind,
        peers: int,
        *,
        connectivity: int = 4,
        fanout: int = 4,
        seed: int = 0,
        epsilon: float = EPSILON,
        faults: Faults | None = None,
        learning: LearningRules | None = None,
    ) -> Simulator:
        """A network over this knowledge; the same seed gives the same network and holdings to all kinds of walk."""
        rng = np.random.default_rng([seed, peers, connectivity])
        overlay = make_overlay("barabasi-albert", peers, connectivity, rng)
        dealt = self.deal(peers, rng)
        faults = faults or Faults()
        told = self.told(overlay, dealt, epsilon, rng, faults.liars) if kind == "sketch" else ()
        return Simulator(
            overlay=overlay,
            knowledge=SubjectKnowledge(self.best, dealt),
            topics=self.question_topics,
            rules=WalkRules(kind, fanout=fanout),
            threshold=THRESHOLD,
            rng=rng,
            learning=learning or LearningRules(),
            told=told,
            faults=faults,
        )


def ask_all(simulator: Simulator, questions: int, seed: int = 0) -> list[Asked]:
    """Ask the first questions, each at a peer that is drawn among those that live."""
    rng = np.random.default_rng([seed, 1])
    homes = [peer for peer in simulator.overlay.peers if peer not in simulator.faults.dead | simulator.faults.liars]
    most = min(questions, len(simulator.topics))
    return [simulator.ask(question, homes[rng.integers(len(homes))]) for question in range(most)]


@dataclass(frozen=True, slots=True)
class Means:
    """Means over questions: hops, peers queried, messages on the wire, and in per cent hits and junk taken."""

    hops: float
    queried: float
    wire: float
    hit: float
    junk: float

    @classmethod
    def of(cls, asked: Sequence[Asked]) -> Means:
        """The means; nan over none."""
        if not asked:
            return cls(*(math.nan,) * 5)
        rows = np.array([(a.count.hops, a.count.queried, a.count.wire, 100 * a.count.hit, 100 * a.junk) for a in asked])
        return cls(*(float(value) for value in rows.mean(axis=0)))
