"""What is shown of an answer when a run brought another for the same question."""

from __future__ import annotations

import pytest

from fedrag_flwr.records import Answer, Question, declined
from fedrag_flwr.service.answers import given
from fedrag_flwr.service.resident import joined
from tests.strategies.federation import shared_federation

ASKED = Question("q1", "Into which bay does the Ossel flow?", "people")


def test_a_question_waits_for_as_long_as_it_is_tried_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("joining"))
    with files.device("people") as device:
        outbox = device.waiting.outbox
        outbox.put(ASKED)
        first = given(ASKED.id, ASKED.text, declined(ASKED.id, "unsure"), [], 1.0, waiting=True)
        unhelped = declined(ASKED.id, "no device holds anything on it")
        assert [joined(device, first, later).waiting for later in (None, unhelped)] == [True, True]
        assert "no device holds" in joined(device, first, unhelped).explanation
        helped = joined(device, first, Answer(ASKED.id, "Bay of Herons", "remote", 0.9))
        assert (helped.answer, helped.waiting) == ("Bay of Herons", False)
        outbox.withdraw(ASKED.id)
        assert [joined(device, first, later).waiting for later in (None, unhelped)] == [False, False]
