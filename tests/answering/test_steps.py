"""Two steps: what a question tells by another's name is looked up first, and only a name that was read goes on."""

from __future__ import annotations

import pytest

from fedrag_flwr.answering.steps import first_question, name_in
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.pipeline import SpacyPipeline

QUESTION = "Where was the designer of the Ossel Bridge born?"
UNITS = [EvidenceUnit("a", "It was designed by the engineer Odile Varro in 1924.", "desk", 0.9, "Ossel Bridge")]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Odile Varro", "Odile Varro"),
        ("Odile Varro.", "Odile Varro"),
        ("The designer of the Ossel Bridge is Odile Varro.", "Odile Varro"),
        ("The designer was Odile Varro, who was an engineer.", "Odile Varro"),
        ("The engineer that designed it is called Odile Varro.", "Odile Varro"),
        ("the engineer", ""),  # no name
        ("Ossel Bridge", ""),  # the question holds it
        ("Berta Solveig", ""),  # nobody told it
        ("", ""),
    ],
)
def test_a_name_that_was_read_goes_on(answer: str, name: str) -> None:
    assert name_in(answer, QUESTION, UNITS) == name


@pytest.mark.parametrize(
    ("question", "first"),
    [
        (QUESTION, "Who is the designer of the Ossel Bridge?"),
        ("Who governs the province where Lindmoor is?", "What is the province where Lindmoor is?"),
    ],
)
def test_the_first_question_asks_for_the_thing_that_is_told(question: str, first: str) -> None:
    inner = SpacyPipeline().question(question).inner
    assert inner is not None
    assert first_question(inner) == first
