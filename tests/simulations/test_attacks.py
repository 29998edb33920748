"""The benchmarks of attacks: what memory says is right, the attacker's, wrong or nothing; intervals know both sides."""

from __future__ import annotations

import numpy as np
import pytest

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.records import Match, MemoryItem
from simulations.fedrag_leaks import membership
from simulations.fixtures.liar import Credulous
from simulations.poisoning import ATTACKER, Outcome, Row, outcome, table

QUESTION = GoldQuestion("q", "Who designed Tarn Bridge?", "Odile Varro")


def match(answer: str, origin: str) -> Match:
    vector = np.eye(1, 4, dtype=np.float32)[0]
    item = MemoryItem("m", QUESTION.text, answer, "single", "PERSON", ("e",), (), vector, origin)
    return Match(item, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (match("Odile Varro", "bridges"), "right"),
        (match("Jonas Keel", "bridges"), "other"),
        (match("Jonas Keel", ATTACKER), "wrong"),
        (match("Odile Varro", ATTACKER), "wrong"),
        (None, "silent"),
    ],
)
def test_what_memory_says_of_an_attacked_question(known: Match | None, expected: Outcome) -> None:
    assert outcome(QUESTION, known) == expected


@pytest.mark.parametrize(
    ("quorum", "heard", "believed"), [(Quorum("home"), 7, "bridges"), (Credulous("home"), 15, ATTACKER)]
)
def test_a_quorum_lets_no_device_take_all_places(quorum: Quorum, heard: int, believed: str) -> None:
    honest = [match("Odile Varro", name) for name in ("bridges", "rivers", "roads")]
    bank = [match("Jonas Keel", ATTACKER)] * 15 + honest
    found = quorum.heard(lambda count: bank[:count], 0.5, 15)
    assert len(found) == heard
    agreed = quorum.agreed(found)
    assert agreed is not None
    assert agreed.item.origin == believed


def test_wrong_answers_of_honest_devices_have_a_column() -> None:
    told = table([Row(1, "both", 4, 0.8, wrong=0.0, right=0.5, other=0.25, silent=0.25)]).splitlines()
    assert told[0].endswith("| wrong | right | other | left to the evidence |")
    assert told[2] == "| 1 | both | 80.0 | 0.0 | 50.0 | 25.0 | 25.0 |"


def test_an_interval_of_membership_draws_the_documents_that_are_not_held_too() -> None:
    level = [(True, 0.5)] * 10 + [(False, 0.0)] * 5 + [(False, 1.0)] * 5
    found = membership([level])
    assert found["auc"] == 0.5
    assert found["low"] < 0.35 < 0.65 < found["high"]  # each held document wins against half of the others


def test_documents_are_compared_within_their_device() -> None:
    low, high = ([(held, base + held) for held in (True, False) for _ in range(10)] for base in (0.0, 5.0))
    found = membership([low, high])
    assert found["auc"] == found["high"] == found["above all"] == 1.0
    assert found["low"] < 1.0  # nobody can tell from twenty documents that there are no others
