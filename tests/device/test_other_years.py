"""A question about one year is not answered with the memory of another year."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fedrag_flwr.records import Question
from tests.device.test_building import Watched

CUP = (
    "# Foo Cup\n\nThe Foo Cup was won by Ann Lee in 1912. The Foo Cup final was played in Linwick in 1912. The Foo Cup "
    "drew 500 people in 1912.\n"
)
ASKED = [
    ("Who won the Foo Cup in 1912?", "Ann Lee"),
    ("Who won the Foo Cup in 1950?", None),
    ("How many people did the Foo Cup draw in 1912?", "500"),
    ("How many people did the Foo Cup draw in 1950?", None),
    ("Where was the Foo Cup final played in 1912?", "Linwick"),
    ("Where was the Foo Cup final played in 1913?", None),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    made = Watched(Path(tmp_path_factory.mktemp("cup")))
    made.write(**{"cup.md": CUP, "lee.md": "# Ann Lee\n\nAnn Lee drew the Grey Tower in 1931.\n"})
    made.build()
    return made


@pytest.mark.parametrize(("question", "answer"), ASKED)
def test_memory_answers_for_the_year_that_it_tells_of(question: str, answer: str | None, built: Watched) -> None:
    with built.open() as device:
        known = device.engine.at_home(Question("q", question, device.name), reading=False)
    assert (known.text or None) == answer


def test_the_sentence_behind_a_memory_vouches_for_its_year(built: Watched) -> None:
    question = "Which tower did Ann Lee draw in 1931?"
    with built.open() as device:
        [dated] = [one for one in device.store.items() if one.question == question]
        item = replace(dated, question="Which tower did Ann Lee draw?")
        analysis = device.models.pipeline.question(question)
        recall = device.engine.recall
        assert recall.why_not(question, analysis, item) == ""
        assert recall.why_not(question.replace("1931", "1932"), analysis, item) == "it does not tell of 1932"
