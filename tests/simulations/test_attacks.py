"""The benchmarks of attacks: who is believed, what draws restore, and intervals that know both sides."""

import numpy as np
import pytest

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.privacy.randomised_response import probabilities
from fedrag_flwr.records import Match, MemoryItem
from simulations.benchmarks.leaks import membership
from simulations.benchmarks.poisoning import Credulous
from simulations.benchmarks.privacy import restored

ATTACKER = "attacker"
QUESTION = GoldQuestion("q", "Who designed Tarn Bridge?", "Odile Varro")


def match(answer: str, origin: str) -> Match:
    vector = np.eye(1, 4, dtype=np.float32)[0]
    item = MemoryItem("m", QUESTION.text, answer, "single", "PERSON", ("e",), (), vector, origin)
    return Match(item, 1.0, 1.0)


@pytest.mark.parametrize(
    ("quorum", "heard", "believed"), [(Quorum("home"), 7, "bridges"), (Credulous("home"), 15, ATTACKER)]
)
def test_a_quorum_lets_no_device_take_all_places(quorum: Quorum, heard: int, believed: str) -> None:
    honest = [match("Odile Varro", name) for name in ("bridges", "rivers", "roads")]
    nearest = [match("Jonas Keel", ATTACKER)] * 15 + honest
    found = quorum.heard(lambda count: nearest[:count], 0.5, 15)
    assert len(found) == heard
    agreed = quorum.agreed(found)
    assert agreed is not None
    assert agreed.item.origin == believed


def test_an_interval_of_membership_draws_the_documents_that_are_not_held_too() -> None:
    level = [(True, 0.5)] * 10 + [(False, 0.0)] * 5 + [(False, 1.0)] * 5
    found = membership([level])
    assert found["auc"] == 0.5
    assert found["low"] < 0.35 < 0.65 < found["high"]  # each held document wins against half of the others


def test_documents_are_compared_within_their_device() -> None:
    low, high = ([(held, base + held) for held in (True, False) for _ in range(10)] for base in (0.0, 5.0))
    found = membership([low, high])
    assert found["auc"] == found["high"] == 1.0
    assert found["low"] < 1.0  # nobody can tell from twenty documents that there are no others


@pytest.mark.parametrize(("uploads", "share"), [(0, 0.2), (1, 0.405), (5, 0.55), (10, 0.70), (50, 0.98)])
def test_fresh_noise_at_each_upload_can_be_averaged_away(uploads: int, share: float) -> None:
    rng = np.random.default_rng(uploads)
    counts = rng.multinomial(uploads, probabilities(5, 3, 1.0), size=20_000)
    assert restored(counts, 3, rng).mean() == pytest.approx(share, abs=0.015)
