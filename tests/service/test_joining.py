"""What is shown of an answer when a run brought another for the same question."""

from dataclasses import asdict, replace

import pytest

from fedrag_flwr.device.views import TraceLine
from fedrag_flwr.records import Answer, Citation, EvidenceUnit, Question, declined
from fedrag_flwr.service.answers import Cited, given, read_answer
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


def test_each_sentence_of_a_long_answer_names_its_passage_and_each_text_stands_once() -> None:
    lease = TraceLine("desk", "l#0", passage="l#0", document="lease", title="Lease › Deposit", text="900 euros.")
    keys = TraceLine("desk", "k#0", passage="k#0", document="keys", text="Ada keeps them.")
    again = replace(lease, hyperedges=("e1",))
    citations = (Citation("A.", "desk/k#0"), Citation("B.", "far/x"), Citation("C.", "desk/k#0"))
    answer = Answer("q1", "A. B. C.", "remote", 0.8, ("desk/k#0", "far/x", "desk/l#0"), citations=citations)
    shown = given("q1", "Why?", answer, [keys, TraceLine("far", "x"), lease, again], 1.0)
    assert shown.citations == (Cited("A.", 1, "keys"), Cited("B.", 2, "a passage of far"), Cited("C.", 1, "keys"))
    assert [one.text for one in shown.evidence] == ["Ada keeps them.", "900 euros."]
    assert (str(shown.told), shown.why) == ("From what these devices hold: desk, far (sure)", "")
    assert read_answer(asdict(shown)) == shown


def test_what_others_gave_is_shown_with_the_passage_that_bears_the_answer_first() -> None:
    home = TraceLine("desk", "l#0", passage="l#0", document="lease", title="Lease", text="The desk pays 900 euros.")
    unit = EvidenceUnit("x", "The Ossel flows into the Bay of Herons.", "far", 0.8, "Rivers")
    answer = Answer("q1", "Bay of Herons", "remote", 0.8, ("desk/l#0", "far/x"), evidence=(unit,))
    shown = given("q1", ASKED.text, answer, [home, TraceLine("far", "x")], 1.0)
    assert [(one.origin, one.document) for one in shown.evidence] == [("far", ""), ("desk", "lease")]


def test_a_declined_answer_has_no_evidence_and_was_read_nowhere() -> None:
    near = TraceLine("desk", "l#0", passage="l#0", document="lease", title="Lease", text="The desk pays 900 euros.")
    shown = given("q1", "Why?", replace(declined("q1", "unsure"), sources=("desk/l#0",)), [near], 1.0)
    assert (shown.evidence, str(shown.told)) == ((), "")
    assert [one.document for one in shown.near] == ["lease"]
