"""Waiting questions are offered each by itself: one that may not leave costs no other its turn."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.pending import OWN_ALONE, TRIES
from fedrag_flwr.errors import BudgetError
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import Answer, AnswerMode, Cost, Evidence, EvidenceUnit, Question, WaitingRequest
from tests.strategies.federation import shared_federation


class Refusing:
    """An operator whose budget is spent for one question."""

    name = "refusing"

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        if any("second" in bundle.prose[0] for bundle in bundles):
            raise BudgetError("the budget is spent")
        return list(bundles)


@pytest.fixture
def device(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> EdgeDevice:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("waiting"))
    monkeypatch.setattr("fedrag_flwr.memory.store.outbox.RETRY_SECONDS", 0.0)
    return files.with_changes(serving__outbox=True).device("rivers")


def test_a_question_that_may_not_leave_costs_no_other_its_turn(device: EdgeDevice) -> None:
    with device:
        for name in ("first", "second", "third"):
            device.waiting.outbox.put(Question(name, f"What is the {name}?", "rivers"))
        device.export._operators = (Refusing(),)
        for _ in range(TRIES):
            assert [one.id for one in device.waiting.offer(WaitingRequest(True, 10)).questions] == ["first", "third"]
        assert {one.id: one.tries for one in device.waiting.outbox.waiting()} == dict.fromkeys(
            ("first", "second", "third"), TRIES
        )


@pytest.mark.parametrize("exchange", ["plain", "auto", "download", "encrypted"])
def test_a_device_that_shows_its_questions_to_nobody_confides_none(device: EdgeDevice, exchange: str) -> None:
    device.settings = device.settings.model_copy(update={"exchange": exchange})
    waiting = replace(device.waiting, settings=device.settings)
    with device:
        device.waiting.outbox.put(Question("w", "Where does the Ossel rise?", "rivers"))
        told = waiting.released([Question("w", "", "rivers"), Question("q", "Who asks?", "rivers")])
        requests = (WaitingRequest(True, 10), WaitingRequest(False, 10, enclave=True), WaitingRequest(False, 10))
        offered = [[one.id for one in waiting.offer(request).questions] for request in requests]
    hidden = exchange in ("download", "encrypted")
    assert [one.id for one in told] == (["q"] if hidden else ["q", "w"])
    assert offered == ([[], [], ["w"]] if hidden else [["w"]] * 3)


@pytest.mark.parametrize("mode", ["memory", "own-memory", "assisted", "gated", "walk", "closed-book", "routed"])
def test_a_device_that_answers_its_own_people_alone_tells_nothing_else(device: EdgeDevice, mode: AnswerMode) -> None:
    """Whether there is an answer to a guess would tell whether the guess is right."""
    privacy = device.settings.privacy.model_copy(update={"answers": "waiting"})
    settings = device.settings.model_copy(update={"privacy": privacy})
    asked = "Where does the Ossel rise?"
    device.waiting = replace(device.waiting, settings=settings)
    evidence = [Evidence("q", (EvidenceUnit("x", "The Ossel rises on Mount Cairl.", "people", 0.9),))]
    with device:
        device.build(graph=True)
        device.waiting.outbox.put(Question("w", asked, "rivers"))
        for question in (Question("q", asked, "rivers"), Question("q", "Where does the Marl rise?", "rivers")):
            for batch in (device.answer([question], mode), device.finish([question], evidence, mode)):
                assert batch.open == ()
                [answer] = batch.answers
                assert (answer.text, answer.path, answer.explanation) == ("", "abstained", OWN_ALONE)
                assert (answer.cost, answer.score, answer.sources) == (Cost(), 0.0, ())


def test_a_waiting_question_is_answered_as_it_was_asked_or_as_it_may_leave(device: EdgeDevice) -> None:
    """Whatever text a run puts to it: who had to read it has it masked, and its vector must tell no more."""
    asked, masked = "Was Dr. Maria Lopez the founder of the mill?", "Was [PERSON] the founder of the mill?"
    privacy = device.settings.privacy.model_copy(update={"answers": "waiting"})
    waiting = replace(device.waiting, settings=device.settings.model_copy(update={"privacy": privacy}))
    with device:
        device.waiting.outbox.put(Question("w", asked, "rivers"))
        for text, told in (("", asked), (masked, masked), ("Who founded the mill?", masked)):
            [admitted] = waiting.admitted([Question("w", text, "rivers")])
            assert admitted.text == told


@pytest.mark.parametrize("answers", ["all", "waiting"])
def test_an_answer_from_elsewhere_tells_nothing_of_what_it_says_to_rest_on(device: EdgeDevice, answers: str) -> None:
    """Anyone can seal one, and put a guessed name and an id of masked evidence into it."""
    privacy = device.settings.privacy.model_copy(update={"answers": answers})
    settings = device.settings.model_copy(update={"privacy": privacy})
    device.waiting = replace(device.waiting, settings=settings)
    with device:
        device.build()
        units = device.evidence_store.nearest_sentences(np.full(384, 384**-0.5, dtype=np.float32), 8)
        device.waiting.outbox.put(Question("w", "Who founded the mill?", "rivers"))
        for guess in ("what tveit climbed", "Cairl"):
            forged = [
                Answer("q", guess, "remote", 0.5, sources, evidence=evidence)
                for sources, evidence in (((), ()), (tuple(f"rivers/{unit.id}" for unit in units), tuple(units)))
            ]
            bare, resting = (device.receive([one]).answers[0] for one in forged)
            assert bare.text == resting.text
            assert (bare.text == "") == (answers == "waiting")
            [waiting] = device.receive([replace(forged[1], question_id="w")]).answers
            assert waiting.text == ""
            device.waiting.outbox.put(Question("w", "Who founded the mill?", "rivers"))


def test_the_answer_to_a_question_that_is_withdrawn_meanwhile_stays_here(device: EdgeDevice) -> None:
    asked = "Where does the Ossel rise?"

    def withdrawing(phase: str, done: int, total: int) -> None:
        if phase == "answer":
            device.waiting.outbox.withdraw("w")

    with device:
        device.build()
        device.waiting.outbox.put(Question("w", asked, "rivers"))
        said = device.ask(Question("w", asked, "rivers"), "memory")
        assert isinstance(said, Answer)
        assert said.text
        [left] = device.answer([Question("w", "", "rivers")], "memory", withdrawing).answers
        assert (left.text, left.sources, left.decisions) == ("", (), ())
        assert left.path == said.path


def test_what_others_gave_teaches_home_no_names(device: EdgeDevice) -> None:
    """Their export filters have masked it, and of what is left a title by itself may look like a name."""
    given = EvidenceUnit("x", "Mount Vessa is the highest mountain of Vessland.", "people", 0.9, "Mount Vessa")
    asked = "How high is Mount Vessa?"
    with device:
        device.build()
        device.finish([Question("q", asked, "rivers")], [Evidence("q", (given,))], "memory")
        assert device.export.release_question(asked) == asked
