"""A strategy's phases: devices prepared once, asked as often as one likes."""

import itertools
import time

import pytest
from flwr.app import Message
from flwr.common.serde import message_from_proto
from flwr.proto.message_pb2 import Message as MessageProto

from fedrag_flwr.errors import FederationError, StoreFullError
from fedrag_flwr.records import Answer, declined
from fedrag_flwr.records.isolate import isolated
from fedrag_flwr.settings import FederationSettings
from strategies import ServerTools, make_strategy
from strategies.discovery import quorum_of
from tests.strategies.federation import DEVICES, Federation, FirstRun, anew

LAST = 99 + len(DEVICES)  # its node


def _copy(first: FirstRun, factory: pytest.TempPathFactory, name: str) -> Federation:
    return first.files.copy_to(factory.mktemp(name)).with_changes(baselines="")


@anew()
def test_questions_one_by_one_are_answered_alike(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> None:
    files = _copy(first, tmp_path_factory, "one-by-one")
    questions = files.questions[:6]
    whole = make_strategy("memory-fusion", files.settings, questions, ServerTools(files.settings)).run(
        files.grid(), "1"
    )
    single = make_strategy("memory-fusion", files.settings, [], ServerTools(files.settings))
    single.prepare(files.grid(), "1")
    sent = [single.outcome().traffic.messages]
    for question in questions:
        single.ask([question])
        sent.append(single.outcome().traffic.messages)
    by_id = {answer.question_id: answer.text for answer in whole.answers}
    assert {answer.question_id: answer.text for answer in single.outcome().answers} == by_id
    assert len(by_id) == len(questions)
    assert all(later > earlier for earlier, later in itertools.pairwise(sent))
    told = single.outcome()
    assert 0.0 < told.server_seconds < told.seconds - single.transport.waited
    assert single.transport.waited > 0.0


def test_who_was_silent_at_a_build_has_little_time(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> None:
    files = _copy(first, tmp_path_factory, "late")
    strategy = make_strategy("no-rag", files.settings, [], ServerTools(files.settings))

    def lost(reply: Message) -> Message | None:
        """The last device builds until the round is over."""
        if reply.metadata.message_type != "train.build" or reply.metadata.src_node_id != LAST:
            return reply
        strategy.transport.clock = lambda: time.monotonic() + 1e6
        return None

    strategy.prepare(files.grid(lost), "1", 60.0)
    assert LAST not in strategy.builds
    grid = files.grid()
    strategy.prepare(grid, "1", 60.0)
    assert LAST in strategy.builds
    messages = [message_from_proto(MessageProto.FromString(data)) for data in grid.sent if b"BuildRequest" in data]
    lives = {message.metadata.dst_node_id: message.metadata.ttl for message in messages}
    assert lives.pop(LAST) == 60.0
    assert set(lives.values()) == {files.settings.federation.round_timeout * len(lives)}  # one may wait for all others
    strategy.prepare(grid, "1", 60.0)
    assert not strategy._late


def test_what_only_an_error_kept_from_being_given_is_asked_again(first: FirstRun) -> None:
    files = first.files.with_changes(baselines="", strategy="no-rag")
    strategy = make_strategy("no-rag", files.settings, files.questions[:2], ServerTools(files.settings))
    one, two = (question.id for question in files.questions[:2])

    def broken() -> Answer:
        raise StoreFullError("the disk is full")

    strategy.resume({one: isolated(one, broken), two: declined(two, "too far")}, lambda _: None)
    assert set(strategy.answers) == {two}
    assert strategy.counts == {"resumed": 1}


@pytest.mark.parametrize(("quorum", "devices", "needed"), [(0.56, 25, 14), (0.07, 100, 7), (0.5, 5, 3), (0.0, 5, 1)])
def test_a_quorum_is_the_least_number_of_devices_that_is_such_a_share(quorum: float, devices: int, needed: int) -> None:
    assert quorum_of(FederationSettings(quorum=quorum, devices=1), devices) == needed
    assert quorum_of(FederationSettings(quorum=quorum, devices=devices), 1) == needed


def test_memory_at_home_knows_nothing_of_others(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> None:
    files = _copy(first, tmp_path_factory, "alone")
    abroad = [question for question in files.questions if question.id in ("f7", "f8")]  # told elsewhere
    answers = {}
    for name in ("local-memory", "memory-fusion"):
        outcome = make_strategy(name, files.settings, abroad, ServerTools(files.settings)).run(files.grid(), "1")
        answers[name] = {answer.question_id: answer for answer in outcome.answers}
        assert set(answers[name]) == {"f7", "f8"}
    homes = {question.id: question.home for question in abroad}
    for key, answer in answers["local-memory"].items():
        assert {source.partition("/")[0] for source in answer.sources} <= {homes[key]}
    assert answers["memory-fusion"]["f7"].text == "2,144 metres"
    assert answers["local-memory"]["f7"].text != "2,144 metres"


def test_the_centre_needs_each_device_s_consent(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> None:
    files = _copy(first, tmp_path_factory, "centre")
    for changes in ({}, {"privacy__export": "none"}, {"privacy__share_documents": True}):
        refusing = files.with_changes(**changes)
        grid = refusing.grid()
        with pytest.raises(FederationError, match="lets no document leave"):
            make_strategy("centralized", refusing.settings, [], ServerTools(refusing.settings)).run(grid, "1")
        assert not any(b"312 metres" in sent for sent in grid.sent)


def test_the_centre_knows_all_documents(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> None:
    files = _copy(first, tmp_path_factory, "all").with_changes(privacy__export="none", privacy__share_documents=True)
    questions = [question for question in files.questions if question.id in ("f1", "f7")]
    strategy = make_strategy("centralized", files.settings, questions, ServerTools(files.settings))
    outcome = strategy.run(files.grid(), "1")
    texts = {answer.question_id: answer.text for answer in outcome.answers}
    assert texts == {"f1": "Odile Varro", "f7": "2,144 metres"}  # f7 is told at another device than it is asked at
    assert all(source.startswith("centre/") for answer in outcome.answers for source in answer.sources)
