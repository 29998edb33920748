"""What the model is shown of passages, and which of its replies say that it does not know."""

from __future__ import annotations

import pytest

from fedrag_flwr.answering.prompts import declines, reading_prompt
from fedrag_flwr.answering.read import clean
from fedrag_flwr.records import EvidenceUnit


def unit(text: str, title: str = "Tarn Bridge") -> EvidenceUnit:
    return EvidenceUnit("u", text, "bridges", 0.5, title)


SHOWN = [
    ([unit("It is long."), unit("It is old.", "Ossel")], "Tarn Bridge\nIt is long.\n\nOssel\nIt is old.\n\n"),
    ([unit("A.", ""), unit("B.\nC.", "Ossel")], "A.\n\nOssel\nB.\nC.\n\n"),
    ([], "\n\n"),
]


@pytest.mark.parametrize(("units", "passages"), SHOWN)
def test_passages_stand_under_their_titles_and_before_the_question(units: list[EvidenceUnit], passages: str) -> None:
    assert reading_prompt("Why?", units).user == f"{passages}Question: Why?"


DECLINES = [
    ("unknown", True),
    ("Unknown.", True),
    ("", True),
    (" \n", True),
    ("I do not know.", True),
    ("I don't know the answer.", True),
    ("I don’t know.", True),
    ("I'm sorry, but the passages do not say.", True),
    ("I am not sure.", True),
    ("Sorry, I cannot tell.", True),
    ("Unfortunately, there is nothing on that.", True),
    ("The passages do not mention the designer.", True),
    ("The text doesn't specify who designed it.", True),
    ("The provided passages do not contain any information about bridges.", True),
    ("The answer is not given in the passages.", True),
    ("There is no information about the designer.", True),
    ("There is no mention of a designer.", True),
    ("No information.", True),
    ("Not specified.", True),
    ("It is not clear.", True),
    ("It is not known who designed it.", True),
    ("Answer: unknown", True),
    ('"Unknown"', True),
    ("Odile Varro", False),
    ("no", False),
    ("No, it was not.", False),
    ("Not before 1924.", False),
    ("None of the bridges was closed.", False),
    ("1924", False),
    ("It is 312 metres long.", False),
    ("It was opened in 1924, but the passages do not say by whom.", False),
    ("Unknown Pleasures", False),
    ("The Unknown Soldier", False),
    ("Sorrento", False),
    ("The text of the treaty was signed in 1702.", False),
    ("The given name is Odile.", False),
    ("The question of salt was settled in 1702.", False),
    ("There is no bridge at Lindmoor.", False),
    ("Information desk", False),
]


@pytest.mark.parametrize(("text", "declined"), DECLINES)
def test_a_reply_that_says_that_it_does_not_know(text: str, declined: bool) -> None:
    assert declines(text) == declined


CLEANED = [
    ("Odile Varro.", "Odile Varro"),
    ('"Odile Varro"', "Odile Varro"),
    ("Odile\n Varro", "Odile Varro"),
    ("  ", ""),
    ("It opened in 1924. It is green.", "It opened in 1924. It is green."),
    (
        "She went from the old town over the river to Lindmoor.",
        "She went from the old town over the river to Lindmoor.",
    ),
]


@pytest.mark.parametrize(("written", "line"), CLEANED)
def test_an_answer_is_one_line(written: str, line: str) -> None:
    assert clean(written) == line
