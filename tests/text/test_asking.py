"""The anchors of questions, asked or stored."""

from __future__ import annotations

import pytest

from fedrag_flwr.text.asking import MOST_ANCHORS, item_anchors, question_anchors, type_anchor
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis


@pytest.mark.parametrize(
    ("kind", "anchors"),
    [("PERSON", ("answer:person",)), ("YEAR", ("answer:time",)), ("DATE", ("answer:time",)), ("", ()), ("NAME", ())],
)
def test_types_that_answer_the_same_share_an_anchor(kind: str, anchors: tuple[str, ...]) -> None:
    assert type_anchor(kind) == anchors


def test_a_question_has_the_same_anchors_asked_or_stored(pipeline: Pipeline) -> None:
    analysis = pipeline.question("Which river does Tarn Bridge cross?")
    asked = question_anchors(analysis)
    assert asked == item_anchors(analysis, analysis.answer_type) == item_anchors(analysis, "")
    assert "tarn bridge" in asked
    assert "asks:river" in asked


def test_anchors_are_as_many_as_a_message_holds() -> None:
    analysis = QuestionAnalysis((), tuple(f"place {number}" for number in range(200)), "PERSON", "river")
    anchors = question_anchors(analysis)
    assert len(anchors) == MOST_ANCHORS
    assert anchors[-2:] == ("answer:person", "asks:river")
