"""RAGRoute and C-FedRAG over five tiny devices: who is asked, who sees what, and what liars achieve."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fedrag_flwr import wire
from fedrag_flwr.errors import CipherError, FedragError
from fedrag_flwr.exchange.enclave import EnclaveProcess
from fedrag_flwr.exchange.sealed import context_of
from fedrag_flwr.privacy.seals import SealingKey
from fedrag_flwr.records import (
    AnswerBatch,
    CentroidBatch,
    CentroidRequest,
    EnclaveQuestion,
    EnclaveRequest,
    Question,
    SealedMessage,
    SealedMessages,
)
from fedrag_flwr.retrieval.source_router import SourceRouter
from fedrag_flwr.settings import Plain
from strategies import ConfidentialBroadcast, RagRoute
from tests.spoiling import spoilt
from tests.strategies.federation import DEVICES, Federation, Tamper, graphed, server_tools, tampering
from tests.strategies.federation import run_strategy as run
from tests.strategies.waiting import nothing_shows

FOREIGN = Question("f7", "How high is Mount Cairl?", "bridges")
HOME = Question("f1", "Who designed Tarn Bridge?", "bridges")
CLIMBER = Question("f10", "Who reached the summit of Mount Cairl?", "bridges")
SHORT: dict[str, Plain] = {"inference__max_answer_tokens": 4, "strategy": "rag-route"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return graphed(tmp_path_factory).with_changes(**SHORT)


def test_the_router_sends_a_question_to_who_knows(files: Federation) -> None:
    strategy, sent = run(RagRoute, files, FOREIGN, CLIMBER)
    assert strategy.counts["centroids"] == len(DEVICES)
    assert strategy.counts["routing-rivers"] == 2
    answer = strategy.answers["f7"]
    assert any(source.startswith("rivers/") for source in answer.sources)
    assert "rivers" in answer.explanation.partition("routed by ")[2]
    assert answer.cost.llm_calls == 1
    assert not any(b"Tveit" in data for data in sent)
    assert sum(b"query.retrieve" in data for data in sent) <= 8


def test_a_threshold_decides_how_many_are_asked(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    router = SourceRouter.load()
    for threshold, devices in ((1.0, 1), (0.0, len(DEVICES))):
        monkeypatch.setattr(RagRoute, "router", replace(router, threshold=threshold))
        strategy, _ = run(RagRoute, files, HOME)
        assert sum(name.startswith("routing-") for name in strategy.counts) == devices


def test_centroids_are_groups_and_another_s_are_refused(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    with files.device("people") as device:
        batch = device.giving.centroids(CentroidRequest(16))
        vectors = device.store.units("paragraph").vectors
    assert [one.passages for one in batch.centroids] == [4]  # three
    assert len(vectors) == 3
    assert (vectors @ batch.centroids[0].vector).max() < 0.999

    lie = tampering(CentroidBatch, partial(replace, device="bridges"), "rivers")
    strategy, _ = run(RagRoute, files, FOREIGN, tamper=lie)
    assert "another device's name" in strategy.outcome().traffic.missing["rivers"]
    assert "routing-rivers" not in strategy.counts

    def more(batch: CentroidBatch) -> CentroidBatch:
        return replace(batch, centroids=batch.centroids * 2)

    monkeypatch.setattr("strategies.rag_route._CENTROIDS", 1)
    strategy, _ = run(RagRoute, files, FOREIGN, tamper=tampering(CentroidBatch, more, "rivers"))
    assert strategy.outcome().traffic.missing == {"rivers": "it shared more centroids than were asked for"}
    assert strategy.counts["centroids"] == len(DEVICES) - 1


def test_counts_of_all_questions_are_told(files: Federation) -> None:
    tools = server_tools(files)
    strategy = RagRoute(files.settings, (), tools)
    strategy.prepare(files.grid(), "1")
    for question in (FOREIGN, HOME):
        strategy.ask([question])
        strategy.forget()
    assert strategy.counts["routed"] == 2


def slow_home(batch: AnswerBatch) -> AnswerBatch:
    return replace(batch, open=tuple(replace(one, seconds=1_000.0) for one in batch.open))


def test_homes_seconds_before_the_server_answers_count(files: Federation) -> None:
    strategy, _ = run(RagRoute, files, FOREIGN, tamper=tampering(AnswerBatch, slow_home))
    assert 1_000.0 < strategy.answers["f7"].cost.seconds < 1_900.0


def test_the_enclave_answers_over_all_devices(files: Federation) -> None:
    strategy, sent = run(ConfidentialBroadcast, files, FOREIGN, CLIMBER)
    assert strategy.outcome().traffic.missing == {}
    assert strategy.counts["sealed-messages"] == 2 * len(DEVICES)
    answer = strategy.answers["f7"]
    assert answer.path in ("remote", "abstained")
    assert answer.explanation.startswith("at the enclave")
    assert any(source.startswith("rivers/") for source in answer.sources)
    assert len([data for data in sent if b"_sealed" in data or b"query.enclave" in data]) >= 12
    with files.device("bridges") as home:
        assert "f7" in home.delivered.all()
    assert strategy._enclave is None  # it ended with the run


def test_the_server_sees_no_question_evidence_or_answer(files: Federation, tmp_path: Path) -> None:
    sealed_question = files.copy_to(tmp_path).with_changes(strategy="confidential-broadcast")
    nothing_shows(sealed_question, FOREIGN, "2,144", "Mount Cairl", "Tveit", "at the enclave")


@pytest.mark.slow  # an enclave of its own, with its models
def test_seconds_of_sealing_and_of_the_slowest_owner_count(files: Federation) -> None:
    slow = tampering(SealedMessages, partial(replace, seconds=800.0))
    strategy, _ = run(ConfidentialBroadcast, files, FOREIGN, tamper=slow)
    assert 1_600.0 < strategy.answers["f7"].cost.seconds < 2_300.0


def _torn(sent: SealedMessages) -> SealedMessages:
    return replace(sent, messages=tuple(replace(one, sealed=spoilt(one.sealed)) for one in sent.messages))


def test_torn_messages_cost_the_answer_and_not_the_run(files: Federation) -> None:
    strategy, _ = run(ConfidentialBroadcast, files, HOME, tamper=tampering(SealedMessages, _torn))
    assert strategy.answers["f1"].explanation == "failed: the enclave did not answer"


def of_phase(phase: str, change: Callable[[SealedMessages], SealedMessages]) -> Tamper:
    """Change the sealed messages of one phase alone."""
    changed = tampering(SealedMessages, change)
    return lambda reply: changed(reply) if reply.metadata.message_type == phase else reply


def _many(sent: SealedMessages) -> SealedMessages:
    return replace(sent, messages=sent.messages * 3)


def _large(sent: SealedMessages) -> SealedMessages:
    return replace(sent, messages=tuple(replace(one, sealed=one.sealed + bytes(2**16)) for one in sent.messages))


def test_a_question_is_confided_once(files: Federation) -> None:
    tamper = of_phase("query.enclave", _many)
    strategy, _ = run(ConfidentialBroadcast, files, FOREIGN, tamper=tamper)
    assert "more than once" in strategy.outcome().traffic.missing["bridges"]
    assert set(strategy.outcome().traffic.missing) == {"bridges"}
    assert strategy.counts["sealed-messages"] == len(DEVICES)
    assert strategy.answers["f7"].explanation.startswith("at the enclave")


@pytest.mark.slow  # an enclave of its own, with its models
def test_a_sealed_message_larger_than_a_question_never_reaches_the_enclave(files: Federation) -> None:
    tamper = of_phase("query.enclave", lambda sent: _large(sent) if sent.device == "bridges" else sent)
    strategy, _ = run(ConfidentialBroadcast, files, FOREIGN, replace(HOME, home="rivers"), tamper=tamper)
    assert "too large" in strategy.outcome().traffic.missing["bridges"]
    assert strategy.answers["f7"].explanation == "failed: the enclave did not answer"
    assert strategy.answers["f1"].explanation.startswith("at the enclave")


@pytest.mark.slow  # an enclave of its own, with its models
def test_sealed_messages_that_fill_one_take_no_other_s_room(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategies.sealed_relay._ROOM", 2**16)
    tamper = of_phase("query.retrieve_sealed", lambda sent: _large(sent) if sent.device == "people" else sent)
    strategy, _ = run(ConfidentialBroadcast, files, FOREIGN, tamper=tamper)
    assert "than goes into one message" in strategy.outcome().traffic.missing["people"]
    assert set(strategy.outcome().traffic.missing) == {"people"}
    assert strategy.counts["sealed-messages"] == len(DEVICES) - 1
    assert any(source.startswith("rivers/") for source in strategy.answers["f7"].sources)


@pytest.mark.slow  # an enclave of its own, with its models
def test_many_questions_are_confided_in_parts_that_fit(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategies.confidential_broadcast._AT_ONCE", 1)
    strategy, sent = run(ConfidentialBroadcast, files, FOREIGN, HOME)
    assert sum(b"query.enclave" in data for data in sent) == 4  # two messages and their replies
    assert all(answer.explanation.startswith("at the enclave") for answer in strategy.answers.values())


def test_an_enclave_that_died_is_not_replaced_in_silence(files: Federation) -> None:
    enclave = EnclaveProcess(files.settings, "1")
    try:
        os.kill(enclave._child.pid, signal.SIGKILL)
        while enclave._child.alive:
            time.sleep(0.01)
        with pytest.raises(CipherError, match="another key"):
            enclave.answer(SealedMessages("server", ()))
    finally:
        enclave.close()


def test_a_home_opens_answers_to_its_own_questions_alone(files: Federation) -> None:
    with files.device("bridges") as home, files.device("rivers") as other:
        enclave = SealingKey.fresh()
        with pytest.raises(FedragError, match="another home"):
            home.sealed.seal_for_enclave(EnclaveRequest((replace(HOME, home="rivers"),), enclave.public), "1")
        sealed = home.sealed.seal_for_enclave(EnclaveRequest((HOME,), enclave.public), "1")
        with pytest.raises(FedragError, match="someone or something else"):
            home.sealed.answers(sealed, "1")
        with pytest.raises(FedragError, match="someone or something else"):
            other.sealed.answers(sealed, "1")
        assert HOME.text.encode() not in sealed.messages[0].sealed


def test_what_waits_is_confided_as_it_may_leave(files: Federation) -> None:
    waiting = Question("w", "Who treated Ann Lee, ann.lee@example.org?", "bridges")
    enclave = SealingKey.fresh()
    with files.with_changes(serving__outbox=True).device("bridges") as home:
        home.waiting.outbox.put(waiting)
        asked = EnclaveRequest((replace(waiting, text=""), HOME, Question("w", "Who?", "bridges")), enclave.public)
        sealed = home.sealed.seal_for_enclave(asked, "1").messages
        home.waiting.outbox.withdraw("w")

    def opened(message: SealedMessage) -> str:
        data = enclave.open(message.sealed, context_of("question", "1", message.question_id, "bridges"))
        return wire.unpack(data, EnclaveQuestion, run="1").question.text

    own, again, first = sealed
    assert (own.question_id, opened(own)) == ("f1", HOME.text)  # the server has it anyway
    assert opened(again) == "Who?"  # under the id of one that waits, whose text it does not bring with it
    assert "Ann" not in opened(first)
    assert "[PERSON]" in opened(first)
