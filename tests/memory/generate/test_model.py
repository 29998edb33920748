"""Questions that a real small model writes for facts of a text, and what comes back when they are asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.generate import model as model_module
from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.model import ModelGenerator, agrees, answer_candidates, fuller
from fedrag_flwr.models.base import Generator
from fedrag_flwr.records import Document, Passage
from tests.strategies.federation import small_models

BRIDGE = (
    "Tarn Bridge was opened in 1924 by Enno Tveit. It crosses the river Ossel at Lindmoor. The bridge is 212 metres "
    "long. Jonas Keel, Berta Solveig and Ada Lund painted it. It was the first one in French hands."
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Models]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(model_module, "SURE_OF_ANSWER", -2.0)
        patch.setattr(model_module, "SURE", -2.0)  # the tests' model is small, and never sure
        yield small_models()


@pytest.fixture(scope="module")
def generator(models: Models) -> Generator:
    return models.generator()


@pytest.fixture(scope="module")
def passage(models: Models) -> Passage:
    [[parsed]] = models.pipeline.parse([Document("d", "Tarn Bridge", BRIDGE, "")])
    return parsed.passage


def test_an_answer_is_a_fact_of_its_own_that_the_title_does_not_tell(passage: Passage) -> None:
    asked = [(answer.fact.text, answer.sentence.id) for answer in answer_candidates(passage)]
    facts = dict(asked)
    assert {"1924", "Enno Tveit", "Ossel", "Lindmoor", "212 metres"} <= facts.keys()
    assert not facts.keys() & {"Tarn Bridge", "Jonas Keel", "Berta Solveig", "Ada Lund", "first", "French"}
    sentences = [sentence for _, sentence in asked]
    assert max(map(sentences.count, sentences)) <= 2


def test_a_question_has_the_form_that_its_answer_asks_for_and_is_kept_where_the_model_is_sure(
    generator: Generator, passage: Passage
) -> None:
    model = ModelGenerator(generator)
    made = {answer.fact.text: model.write(answer) for answer in answer_candidates(passage)}
    assert model.cost.llm_calls == len(made)
    length = made["212 metres"]
    assert length is not None
    assert length.question.startswith(("How ", "At what ", "What "))
    assert length.question.endswith("?")
    assert (length.answer, length.kind, length.answer_type) == ("212 metres", "single", "QUANTITY")
    assert next(one for one in passage.sentences if one.id in length.support).text == "The bridge is 212 metres long."


def test_what_comes_back_must_be_the_answer(generator: Generator, passage: Passage) -> None:
    model = ModelGenerator(generator)
    asked = {answer.fact.text: answer for answer in answer_candidates(passage)}
    question = "What is the length of the Tarn Bridge?"
    right = Candidate(question, "212 metres", "single", "QUANTITY", ())
    assert model.returned(right, asked["212 metres"]) == right
    assert model.returned(Candidate(question, "1924", "single", "YEAR", ()), asked["1924"]) is None


@pytest.mark.parametrize(
    ("given_answer", "whole"),
    [("A rope of hemp.", "a rope of hemp"), ("hemp", "hemp"), ("It is hemp", "hemp"), ("", "hemp")],
)
def test_a_longer_answer_of_the_sentence_takes_the_place_of_a_part_of_it(given_answer: str, whole: str) -> None:
    assert fuller("hemp", given_answer, "The bell hangs on a rope of hemp.") == whole


def test_a_longer_answer_is_found_behind_letters_that_are_two_in_lower_case() -> None:
    assert fuller("Vessa", "lake vessa", "The Große Bucht joins Lake Vessa near Mirren.") == "Lake Vessa"
    assert fuller("", "", "Lake Vessa is deep.") == ""


@pytest.mark.parametrize(
    ("given_answer", "expected", "same"),
    [
        ("Clyde Tombaugh", "Tombaugh", True),
        ("It was Clyde Tombaugh.", "Clyde Tombaugh", True),
        ("1,025 kilograms", "1025 kilograms", True),
        ("Lindmoor in the north", "Lindmoor", True),
        ("Lindmoor, Ferren, Mirren, Vessa, Ossel, Tarn and Keel", "Lindmoor", False),
        ("unknown", "Clyde Tombaugh", False),
        ("", "Clyde Tombaugh", False),
    ],
)
def test_agrees(given_answer: str, expected: str, same: bool) -> None:
    assert agrees(given_answer, expected) is same
