"""Networks without messages: who is asked, what is learnt, what faults cost, and that no label is ever read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from fedrag_flwr.overlay.expertise import LearningRules
from fedrag_flwr.overlay.sketches import levels_of
from fedrag_flwr.overlay.topology import make_overlay
from fedrag_flwr.overlay.walks import WalkRules
from fedrag_flwr.records import WalkKind
from simulations.overlay.simulator import Asked, Faults, Simulator, gossip

PEERS, TOPICS, QUESTIONS = 60, 30, 600


@dataclass
class Holders:
    """Each topic lies with one peer; `labels` say what somebody believes, and `asked` who was looked into."""

    holder: Sequence[int]
    topic: Sequence[int]
    labels: Mapping[int, int] = field(default_factory=dict)
    asked: list[tuple[int, int]] = field(default_factory=list)

    def relevance(self, question: int, peer: int) -> float:
        self.asked.append((question, peer))
        return float(self.holder[self.topic[question]] == peer)


def network(
    kind: WalkKind, *, seed: int = 0, labels: bool = True, faults: Faults | None = None, **rules: bool
) -> Simulator:
    rng = np.random.default_rng(seed)
    holder, topic = rng.integers(PEERS, size=TOPICS).tolist(), rng.integers(TOPICS, size=QUESTIONS).tolist()
    overlay = make_overlay(PEERS, 3, rng)
    own = np.zeros((PEERS, TOPICS), dtype=np.uint8)
    for number, peer in enumerate(holder):
        own[peer, number] = levels_of(np.array(100.0))
    told = gossip(own, [overlay.neighbours(peer) for peer in range(PEERS)], 6) if kind == "sketch" else ()
    believed = {peer: number if labels else TOPICS - 1 - number for number, peer in enumerate(holder)}
    return Simulator(
        overlay,
        Holders(holder, topic, believed),
        [{one: 1.0} for one in topic],
        WalkRules(kind),
        0.5,
        rng,
        LearningRules(**rules),
        told,
        faults or Faults(),
    )


def ask(simulator: Simulator) -> list[Asked]:
    homes = np.random.default_rng(1).integers(PEERS, size=QUESTIONS)
    bad = simulator.faults.dead | simulator.faults.liars
    return [simulator.ask(question, int(home)) for question, home in enumerate(homes) if int(home) not in bad]


def queried(asked: Sequence[Asked]) -> float:
    return float(np.mean([one.count.queried for one in asked]))


def hits(asked: Sequence[Asked]) -> float:
    return float(np.mean([one.count.hit and not one.junk for one in asked]))


@pytest.mark.parametrize("kind", ["topic", "sketch", "flooding", "random"])
def test_wrong_labels_change_nothing_and_only_queried_peers_are_looked_into(kind: WalkKind) -> None:
    right, wrong = network(kind), network(kind, labels=False)
    answers = ask(right)
    assert answers == ask(wrong)
    assert isinstance(right.knowledge, Holders)
    assert isinstance(wrong.knowledge, Holders)
    assert right.knowledge.labels != wrong.knowledge.labels
    assert len(right.knowledge.asked) == sum(one.count.queried for one in answers)


def test_topic_walks_learn_and_need_fewer_peers_than_flooding() -> None:
    topic, flooding = ask(network("topic")), ask(network("flooding"))
    assert hits(topic) >= 0.98
    assert hits(flooding) == 1.0
    assert queried(topic[-100:]) < 0.7 * queried(topic[:100])
    assert queried(topic[-100:]) < 0.5 * queried(flooding[-100:])


def test_sketch_walks_are_short_from_the_first_question() -> None:
    sketch = ask(network("sketch"))
    assert hits(sketch) == 1.0
    assert queried(sketch[:50]) < 0.15 * queried(ask(network("flooding"))[:50])


@pytest.mark.parametrize("kind", ["topic", "sketch", "flooding"])
def test_who_lives_still_finds_most_when_three_in_ten_are_dead(kind: WalkKind) -> None:
    simulator = network(kind)
    dead = frozenset(range(0, PEERS, 3)) - set(simulator.knowledge.holder)  # type: ignore[attr-defined]
    simulator.faults = Faults(dead=dead)
    assert len(dead) >= 8
    answers = ask(simulator)
    assert hits(answers) >= 0.9
    assert all(one.answered_by not in dead for one in answers)


def test_reputation_keeps_liars_from_being_asked() -> None:
    faults = Faults(liars=frozenset(range(5, 11)), recognised=0.7, feedback=0.3)
    junk = {
        reputation: [one.junk for one in ask(network("topic", faults=faults, reputation=reputation))]
        for reputation in (True, False)
    }
    assert sum(junk[True][-200:]) < 0.6 * sum(junk[False][-200:])


def test_a_run_repeats_with_its_seed() -> None:
    assert ask(network("topic", seed=3)) == ask(network("topic", seed=3))
    assert ask(network("topic", seed=3)) != ask(network("topic", seed=4))
