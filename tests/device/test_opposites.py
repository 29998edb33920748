"""A question is not answered with the memory of its opposite, or with what is told of a relative."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrag_flwr.records import Question
from tests.device.test_building import Watched

TEXTS = {
    "lee.md": "# Ann Lee\n\nAnn Lee was born in 1900. Ann Lee signed the treaty of Foo in 1920.\n",
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
