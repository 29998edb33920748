"""Waiting questions are offered each by itself: one that may not leave costs no other its turn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import BudgetError
from fedrag_flwr.privacy.chain import OperatorChain
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import Answer, Question, WaitingRequest
from tests.strategies.federation import shared_federation


class Refusing:
    """An operator whose budget is spent for one question."""

    name = "refusing"

    def validate(self) -> None:
        """It works as it is."""

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        if any("second" in bundle.prose[0] for bundle in bundles):
            raise BudgetError("the budget is spent")
        return list(bundles)


@pytest.fixture
def device(tmp_path_factory: pytest.TempPathFactory) -> EdgeDevice:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("waiting"))
    return files.with_changes(serving__outbox=True, serving__retry_seconds=0.0).device("rivers")


def test_a_question_that_may_not_leave_costs_no_other_its_turn(device: EdgeDevice) -> None:
    with device:
        for name in ("first", "second", "third"):
            device.waiting.outbox.put(Question(name, f"What is the {name}?", "rivers"))
        device.door._chain = OperatorChain([Refusing()], "rivers")
        tries = device.settings.serving.tries
        for _ in range(tries):
            assert [one.id for one in device.offer(WaitingRequest(True, 10)).questions] == ["first", "third"]
        assert {one.id: one.tries for one in device.waiting.outbox.waiting()} == dict.fromkeys(
            ("first", "second", "third"), tries
        )


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
