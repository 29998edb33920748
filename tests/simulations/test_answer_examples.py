"""What answering is fitted on: notes as a device reads them, and the answer that they bear."""

from __future__ import annotations

import json
import random
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.inference.prompts import UNKNOWN
from fedrag_flwr.records import EvidenceUnit
from simulations.corpora.answer_examples import Noted, examples
from simulations.fit_answers import HELD, dealt

TEXTS = (
    "Harbour Bridge was drawn by the engineer Ada Morrow.",
    "It carries two tram lines.",
    "Ada Morrow was born in Linwick.",
    "Linwick is a port on the river Osk.",
)


def noted(
    question: str = "Where was the engineer of Harbour Bridge born?",
    answers: tuple[str, ...] = ("Linwick",),
    gold: tuple[bool, ...] = (True, False, True, False),
    scores: tuple[float, ...] = (1.0, 0.5, -0.5, -3.0),
    source: str = "hotpotqa",
) -> Noted:
    units = tuple(EvidenceUnit(f"u{i}", text, "home", 0.0, f"Title {i}") for i, text in enumerate(TEXTS))
    steps = (("Who drew Harbour Bridge?", "Ada Morrow", "Title 0"), ("Who sang?", "Nobody", "Title 9"))
    return Noted(source, question, answers, units, scores, gold, steps)


def test_a_question_comes_over_what_would_be_read_and_over_its_gold_sentences() -> None:
    read, wider, mixed, step = examples(noted(), random.Random(1), most=4)
    assert [line.partition(") ")[2] for line in read.user.splitlines()[1:4]] == list(TEXTS[:3])
    assert TEXTS[2] in wider.user
    assert all(TEXTS[row] in mixed.user for row in (0, 2)), "gold sentences are all there"
    assert {read.answer, wider.answer, mixed.answer} == {"Linwick"}
    assert step.user.endswith("Question: Who drew Harbour Bridge?")
    assert step.answer == "Ada Morrow"
    assert step.question == read.question, "a step is held back with its question"


def test_unknown_is_right_where_the_notes_do_not_hold_the_answer() -> None:
    unsure = noted(scores=(1.0, 0.5, -2.0, -3.0))
    first, *_ = examples(unsure, random.Random(1), most=2)
    assert first.answer == UNKNOWN
    closed, *_ = examples(noted(answers=("yes",), scores=(1.0, 0.5, -2.0, -3.0)), random.Random(1), most=2)
    assert closed.answer == "yes"
    alias, *_ = examples(noted(answers=("Linnwick", "linwick")), random.Random(1), most=4)
    assert alias.answer == "linwick", "the name that the notes say"


@given(st.integers(0, 60))
def test_what_is_held_back_is_never_fitted(count: int) -> None:
    several = [noted(f"Question {number}?", source=("hotpotqa", "musique")[number % 2]) for number in range(count)]
    fitted, left = dealt(several, most=4)
    assert not {one.question for one in fitted} & {one.question for one in left}
    assert {one.question for one in [*fitted, *left]} == {one.question for one in several}
    held = len({one.question for one in left})
    assert held <= min(sum(HELD.values()), count // 4)
    assert held or count < 8


def test_readings_come_back_from_json() -> None:
    assert Noted.restored(json.loads(json.dumps(asdict(noted())))) == noted()
