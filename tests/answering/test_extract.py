"""A passage's own words answer where they are sure, without the generator; to some questions they never do."""

from __future__ import annotations

import pytest

from fedrag_flwr.answering.extract import AGREEMENT_FEATURES, EXTRACT_FEATURES, NONE, UNREAD, extracted
from fedrag_flwr.answering.judge import LEAST_TOLD, judged_over, span_features
from fedrag_flwr.answering.read import Reader
from fedrag_flwr.models.base import Generator
from fedrag_flwr.models.load import load_span_reader
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.pipeline import Pipeline

UNITS = [
    EvidenceUnit("a#0", "The pool in Tarn Street is heated from May on.", "leisure", 0.5, "Tarn Street pool"),
    EvidenceUnit("b#0", "Maud Ellery opened the library on 4 May 1931.", "leisure", 0.4, "Harrow Lane Library"),
]


def no_generator() -> Generator:
    raise AssertionError("the generator is asked")


def test_the_likeliest_words_of_all_passages_are_chosen() -> None:
    found = extracted("Who opened the Harrow Lane Library?", UNITS, load_span_reader())
    assert (found.text, found.place) == ("Maud Ellery", 1)
    assert len(found.features) == len(EXTRACT_FEATURES)


def test_over_no_passages_nothing_is_found() -> None:
    assert extracted("Who?", [], load_span_reader()) is NONE


def test_a_question_in_another_language_is_left_to_the_generator(pipeline: Pipeline) -> None:
    question = "Wer hat die Decke des Rathauses gemalt?"
    assert (found := extracted(question, UNITS, load_span_reader())) is UNREAD
    assert span_features(question, pipeline.question(question), found, UNITS) == ()
    assert found.beside(question, "Maud Ellery") == pytest.approx((0.4, 0.0))


def test_an_answer_agrees_by_the_words_of_the_span() -> None:
    found = extracted("Who opened the Harrow Lane Library?", UNITS, load_span_reader())
    assert found.beside("Who opened it?", "It was Maud Ellery") == (1.0, 0.0)
    assert found.beside("Who opened it?", "opened it") == (0.0, 1.0)
    assert len(AGREEMENT_FEATURES) == 2


def test_what_no_passage_tells_is_declined_without_the_generator(pipeline: Pipeline) -> None:
    question = "Who painted the ceiling of the Norrow town hall?"
    judged = judged_over(question, pipeline.question(question), UNITS, Reader(no_generator, 16), abstain_below=0.3)
    assert judged.draft.text == ""
    assert judged.confidence < LEAST_TOLD
    assert judged.draft.cost.llm_calls == 0


def test_who_declines_nothing_reads_it_all_the_same(pipeline: Pipeline) -> None:
    question = "Who painted the ceiling of the Norrow town hall?"
    with pytest.raises(AssertionError, match="is asked"):
        judged_over(question, pipeline.question(question), UNITS, Reader(no_generator, 16), abstain_below=0.0)


@pytest.mark.parametrize(
    "question",
    [
        "Did Maud Ellery open the library?",
        "Which opened first, the library or the pool?",
        "How is the pool heated?",
        "Are both open on Mondays?",
        "In which year was the library that Maud Ellery opened rebuilt?",
        "What is the birthplace of the person who heated the pool?",
        "When was the architect of the library in Harrow born?",
    ],
)
def test_what_no_few_words_answer_is_left_to_the_generator(question: str, pipeline: Pipeline) -> None:
    found = extracted(question, UNITS, load_span_reader())
    assert span_features(question, pipeline.question(question), found, UNITS) == ()
