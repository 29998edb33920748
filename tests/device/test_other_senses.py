"""A question is not answered with the memory of its opposite, of a relative, or of another year."""

from dataclasses import replace
from pathlib import Path

import pytest

from fedrag_flwr.records import Question
from tests.device.test_building import Watched

TEXTS = {
    "lee.md": "# Ann Lee\n\nAnn Lee was born in 1900. Ann Lee signed the treaty of Foo in 1920. Ann Lee drew the "
    "Grey Tower in 1931.\n",
    "cup.md": "# Foo Cup\n\nThe Foo Cup was won by Ann Lee in 1912. The Foo Cup final was played in Linwick in 1912. "
    "The Foo Cup drew 500 people in 1912.\n",
    "warfarin.md": "# Warfarin\n\nWarfarin was started on 3 May 2019.\n",
    "jones.md": "# Mr Jones\n\nThe mother of Mr Jones had breast cancer in 1990.\n",
    "smith.md": "# Mr Smith\n\nMr Smith had measles in 1995. Mr Smith was admitted on 4 June 2020.\n",
}
ASKED = [
    ("When was Ann Lee born?", "1900"),
    ("What was the year of Ann Lee's birth?", "1900"),
    ("When did Ann Lee die?", None),
    ("When did Warfarin begin?", "3 May 2019"),
    ("When was Warfarin started?", "3 May 2019"),
    ("When was Warfarin stopped?", None),
    ("Who signed the treaty of Foo?", "Ann Lee"),
    ("Who did not sign the treaty of Foo?", None),
    ("When did Mr Jones's mother have breast cancer?", "1990"),
    ("When did Mr Jones have breast cancer?", None),
    ("When did Mr Smith have measles?", "1995"),
    ("When did the mother of Mr Smith have measles?", None),
    ("When was Mr Smith admitted?", "4 June 2020"),
    ("When was Mr Smith discharged?", None),
    ("Who won the Foo Cup in 1912?", "Ann Lee"),
    ("Who won the Foo Cup in 1950?", None),
    ("How many people did the Foo Cup draw in 1912?", "500"),
    ("How many people did the Foo Cup draw in 1950?", None),
    ("Where was the Foo Cup final played in 1912?", "Linwick"),
    ("Where was the Foo Cup final played in 1913?", None),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    made = Watched(Path(tmp_path_factory.mktemp("opposites")))
    made.write(**TEXTS)
    made.build()
    return made


@pytest.mark.parametrize(("question", "answer"), ASKED)
def test_memory_answers_only_in_the_sense_that_it_tells_of(question: str, answer: str | None, built: Watched) -> None:
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
