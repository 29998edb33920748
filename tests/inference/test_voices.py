"""Who tells an answer over evidence, and what one device alone cannot make another believe."""

from __future__ import annotations

import pytest
from fedrag_flwr.inference.cognizer import Verdict
from fedrag_flwr.inference.voices import heard, voices
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.memory.fusion.fusing import COMPOSED
from fedrag_flwr.records import Cost, EvidenceUnit, MemoryItem, because
from tests.memory.store.samples import unit_vector

HOME = "home"
TELLS, ELSE = "The bridge was drawn by Odile Varro.", "The bridge crosses the Ossel."
DEVICES = (HOME, "a", "b", "c")


def unit(origin: str, text: str = TELLS) -> EvidenceUnit:
    return EvidenceUnit("u", text, origin, 0.5, "Tarn Bridge")


def note(origin: str, answer: str = "Odile Varro", edges: tuple[str, ...] = ("e",), name: str = "i") -> MemoryItem:
    return MemoryItem(name, "Who drew it?", answer, "multi-hop", "PERSON", edges, (), unit_vector("q"), origin)


Case = tuple[str, str, list[EvidenceUnit], list[MemoryItem], set[str]]

CASES: list[Case] = [
    ("nobody", "Ada", [unit("a")], [note("b")], set()),
    ("a sentence and a memory", "Odile Varro", [unit("a"), unit("b", ELSE)], [note("c")], {"a", "c"}),
    ("a title", "Tarn Bridge", [unit("a", ELSE)], [], {"a"}),
    ("one device, often", "Odile Varro", [unit("a"), unit("a")], [note("a")], {"a"}),
    ("a merged memory", "Odile Varro", [], [note("fusion", edges=("a/e", "b/e"))], {"a", "b"}),
    ("a composed memory", "Odile Varro", [], [note("fusion", edges=("a/e", "b/e"), name=f"i{COMPOSED}")], set()),
    ("home", "Odile Varro", [unit(HOME), unit("a", ELSE)], [], {HOME}),
    ("yes, with others' help", "yes", [unit(HOME), unit("a", ELSE)], [], {"a"}),
    ("yes, at home", "yes", [unit(HOME)], [], {HOME}),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_who_tells_an_answer(case: Case) -> None:
    _, answer, units, notes, told_by = case
    assert voices(answer, HOME, units, notes) == told_by


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(DEVICES), max_size=6), st.integers(0, 4))
def test_an_answer_stands_where_home_or_enough_others_tell_it(telling: list[str], least: int) -> None:
    verdict = Verdict("Odile Varro", 0.9, Cost(), decisions=(because("model", "answered"),))
    kept = heard(verdict, HOME, [unit(origin) for origin in telling], (), least)
    enough = not least or HOME in telling or len(set(telling)) >= least
    assert bool(kept.text) == enough
    assert kept == verdict or kept.explanation.endswith(f"told by {len(set(telling))} < {least} devices")


def test_a_declined_question_stays_declined() -> None:
    declined = Verdict("", 0.1, Cost(), decisions=(because("evidence", "evidence too far"),))
    assert heard(declined, HOME, [unit("a")], (), 2) == declined
