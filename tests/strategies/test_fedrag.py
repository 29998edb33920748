"""Our own strategy over five tiny devices: memory first, then whom home itself names, and home answers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr import wire
from fedrag_flwr.errors import SettingError
from fedrag_flwr.records import Answer, AnswerBatch, AnswerMode, Cost, Question
from fedrag_flwr.settings import Plain
from fedrag_flwr.wire_bytes import to_bytes
from strategies import STRATEGIES, FederatedRag, FedRag, ServerTools, make_strategy
from tests.strategies.federation import DEVICES, Federation, run_strategy, server_tools, shared_federation, small_models

REMEMBERED = Question("k1", "In what year did Tarn Bridge open?", "bridges")
FOREIGN = Question("k2", "Which mountain does the river Ossel rise on, and which bay does it flow into?", "bridges")
FRIGATE = Question("k6", "Which frigate did Jonas Keel command?", "bridges")
SMALL: dict[str, Plain] = {"strategy": "fedrag", "exchange": "plain", "graph__community_most": 8}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """The federation with all graphs built."""
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("fedrag")).with_changes(**SMALL)
    run(files, REMEMBERED)
    return files


def run(files: Federation, *questions: Question, name: str = "fedrag") -> tuple[FederatedRag, list[bytes]]:
    return run_strategy(STRATEGIES[name], files, *questions)


def test_what_memory_knows_asks_nobody(built: Federation) -> None:
    strategy, sent = run(built, REMEMBERED)
    answer = strategy.answers["k1"]
    assert (answer.path, answer.text) == ("memorizer", "1924")
    assert answer.cost.llm_calls == 0
    assert not [data for data in sent if b"query.retrieve" in data]


def test_summaries_name_an_owner_beside_those_of_near_memories(built: Federation) -> None:
    """Home compares the question with the summaries itself; it leaves home as a vector alone."""
    files = built.with_changes(memory__delta=1.0, routing__devices=1, fedrag__without="cache")
    strategy, sent = run(files, FOREIGN)
    answer = strategy.answers["k2"]
    assert "rivers" in asked_of(answer)
    steps = [one.step for one in answer.decisions]
    assert steps[:2] == ["routing", "model"]
    [help_given] = [one.said for one in answer.decisions if one.step == "help"]
    assert "rivers" in help_given
    asked = [data for data in sent if b"query.retrieve" in data]
    assert asked
    assert not any(FOREIGN.text.encode() in data for data in asked)


def exchanged(built: Federation, exchange: str, owners: bool) -> tuple[FederatedRag, list[bytes]]:
    asking: dict[str, Plain] = {
        "memory__delta": 1.0,
        "fedrag__without": "cache" if owners else "owners, cache",
        "routing__devices": 2,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedrag_flwr.device.modes.TOP_K", 40)  # so that memories name more than the nearest owners
        return run(built.with_changes(exchange=exchange, **asking), FOREIGN, FRIGATE)


@pytest.fixture(scope="module", params=[False, True], ids=["by-summaries", "by-memories-too"])
def openly(request: pytest.FixtureRequest, built: Federation) -> tuple[bool, FederatedRag, list[bytes]]:
    return request.param, *exchanged(built, "plain", request.param)


def asked_of(answer: Answer) -> set[str]:
    """The devices that were asked for an answer."""
    [said] = [one.said for one in answer.decisions if one.step == "routing"]
    return set(said.removeprefix("asked ").removeprefix("routed at home to ").split(", "))


def told(answer: Answer) -> tuple[Answer, set[str]]:
    """An answer but for its cost, and the devices that were asked for it."""
    rest = tuple(one for one in answer.decisions if one.step != "routing")
    return replace(answer, decisions=rest, cost=Cost()), asked_of(answer)


@pytest.mark.parametrize("exchange", ["download", "encrypted"])
def test_under_private_routing_the_server_relays_sealed_messages_and_nothing_else_changes(
    built: Federation, openly: tuple[bool, FederatedRag, list[bytes]], exchange: str
) -> None:
    owners, plain, shown = openly
    strategy, sent = exchanged(built, exchange, owners)
    assert {name: told(one) for name, one in strategy.answers.items()} == {n: told(a) for n, a in plain.answers.items()}
    asked = [told(plain.answers[one])[1] for one in ("k2", "k6")]
    by_summaries = [{"rivers", "harbours"}, {"people", "harbours"}]
    assert all(named >= nearest for named, nearest in zip(asked, by_summaries, strict=True))
    assert (asked != by_summaries) == owners
    assert all("routed at home to " in answer.explanation for answer in strategy.answers.values())
    assert strategy.counts["scored"] == (2 if exchange == "encrypted" else 0)
    assert any(b"query.retrieve_sealed" in data for data in sent)
    assert not any(b"query.retrieve_sealed" in data for data in shown)
    texts = FOREIGN.text, FRIGATE.text
    vectors = [vector.tobytes() for vector in small_models().encoder.encode(texts).astype(np.float16)]
    assert all(any(vector in data for data in shown) for vector in vectors)
    assert not any(vector in data for vector in vectors for data in sent)


def test_by_default_homes_route_by_themselves_where_a_strategy_can(built: Federation) -> None:
    """One run may hold both kinds of strategies."""
    files = built.with_changes(exchange="auto", memory__delta=1.0, fedrag__without="cache")
    for name, exchange in (("fedrag", "download"), ("memory-fusion", "plain")):
        strategy, sent = run(files, FOREIGN, name=name)
        assert strategy.settings.exchange == exchange
        assert "help" in [one.step for one in strategy.answers["k2"].decisions]
        [vector] = small_models().encoder.encode([FOREIGN.text]).astype(np.float16)
        sealed = any(b"query.retrieve_sealed" in data for data in sent)
        assert sealed == (name == "fedrag") != any(vector.tobytes() in data for data in sent)
    at_server = files.with_changes(routing__answers_at="server").settings
    assert make_strategy("summary-routing", at_server, [], ServerTools(at_server)).settings.exchange == "plain"


@pytest.mark.parametrize("own", ["plain", "download", "encrypted"])
@pytest.mark.parametrize("mode", ["memory", "walk"])
def test_a_device_that_hides_its_questions_names_nobody(built: Federation, mode: AnswerMode, own: str) -> None:
    """The server has texts under the ids of hyperedges: whose memory is near tells what a question is about."""
    names = ("harbours", "museums", "people", "rivers")
    with built.with_changes(memory__delta=1.0, exchange=own).device("bridges") as home:
        edges = [edge for item in home.store.items() if item.origin != "bridges" for edge in item.hyperedges]
        batch = home.answer([FOREIGN], mode)
    assert edges
    [asking] = batch.open
    sent = to_bytes(wire.encode(batch, run="1"))
    told = [name for name in (*names, *edges) if name.encode() in sent]
    hidden = own != "plain"
    assert bool(asking.vector.size) != hidden
    assert bool(told) == (mode == "memory" and not hidden)
    assert bool(asking.topics) == (mode == "walk" and not hidden)


def test_a_strategy_that_shows_questions_refuses_to_be_private(built: Federation) -> None:
    private = built.with_changes(exchange="encrypted").settings
    tools = ServerTools(private)
    with pytest.raises(SettingError, match="exchange: 'memory-fusion' shows questions"):
        make_strategy("memory-fusion", private, [], tools)
    assert make_strategy("local-rag", private, [], tools).name == "local-rag"


def test_what_one_device_alone_says_is_not_believed_where_two_must_tell_it(built: Federation) -> None:
    """Only the memory of `people` tells where Odile Varro was born; what home's tells needs nobody else's."""
    born = Question("k5", "Where was Odile Varro born?", "bridges")

    def recalled(least: int) -> dict[str, str]:
        files = built.with_changes(inference__quorum=least, fedrag__without="cache", routing__devices=4)
        strategy, _ = run(files, REMEMBERED, born)
        return {name: answer.text for name, answer in strategy.answers.items() if answer.path == "memorizer"}

    assert recalled(0) == {"k1": "1924", "k5": "Lindmoor"}
    assert recalled(2) == {"k1": "1924"}


def test_each_part_can_be_left_out(built: Federation) -> None:
    """Without owners of near memories only summaries name a device, without both nobody is asked."""

    def told(without: str) -> tuple[FederatedRag, list[bytes]]:
        changed = built.with_changes(memory__delta=1.0, fedrag__without=f"{without}, cache", routing__devices=1)
        return run(changed, FOREIGN)

    alone, sent = told("owners, summaries")
    assert not [data for data in sent if b"query.retrieve" in data or b"query.overview" in data]
    assert alone.answers["k2"].path != "remote"
    strategy, sent = told("owners")
    assert [data for data in sent if b"query.overview" in data]
    assert asked_of(strategy.answers["k2"]) == {"rivers"}
    _, sent = told("memories")
    assert not [data for data in sent if b"query.share" in data]
    for exchange in ("download", "encrypted"):
        hidden: dict[str, Plain] = {"memory__delta": 1.0, "exchange": exchange}
        for owners in (True, False):
            without = "summaries, cache" if owners else "summaries, owners, cache"
            private, sent = run(built.with_changes(fedrag__without=without, **hidden), FOREIGN)
            assert "k2" in private.answers
            assert bool([data for data in sent if b"query.retrieve_sealed" in data]) == owners


@pytest.mark.parametrize("exchange", ["plain", "download"])
def test_homes_seconds_before_it_asks_others_count(exchange: str, built: Federation) -> None:
    files = built.with_changes(memory__delta=1.0, exchange=exchange, fedrag__without="cache")
    tools = server_tools(files)
    strategy = FedRag(files.settings, [FOREIGN], tools)
    take = strategy.take

    def slow(node_id: int, batch: AnswerBatch) -> None:
        take(node_id, batch)
        strategy.open = {name: replace(asking, seconds=1_000.0) for name, asking in strategy.open.items()}

    strategy.take = slow  # type: ignore[method-assign]
    strategy.run(files.grid(None), "1")
    tools.close()
    assert 1_000.0 < strategy.answers["k2"].cost.seconds < 1_900.0


def test_nobody_but_home_reads_a_question(built: Federation) -> None:
    settings = built.with_changes(routing__answers_at="server").settings
    assert not FedRag(settings, [], ServerTools(settings)).reads_questions


def test_a_question_is_answered_alike_while_its_evidence_holds(built: Federation) -> None:
    files = built.with_changes(memory__delta=1.0, fedrag__without="reading")
    first, sent = run(files, FOREIGN)
    assert [data for data in sent if b"query.retrieve" in data]
    again, sent = run(files, Question("k3", FOREIGN.text, "bridges"))
    answer = again.answers["k3"]
    assert first.answers["k2"].text
    assert (answer.path, answer.text) == ("cache", first.answers["k2"].text)
    assert not [data for data in sent if b"query.retrieve" in data]
    other, _ = run(files.with_changes(fedrag__without="cache"), Question("k4", FOREIGN.text, "bridges"))
    assert other.answers["k4"].path != "cache"


def test_more_devices_are_asked_where_the_settings_say_so(built: Federation) -> None:
    def asked(devices: int) -> int:
        changes: dict[str, Plain] = {"memory__delta": 1.0, "routing__summaries": 40}
        files = built.with_changes(routing__devices=devices, fedrag__without="owners, cache", **changes)
        strategy, _ = run(files, FOREIGN)
        return len(asked_of(strategy.answers["k2"]))

    assert (asked(1), asked(4)) == (1, len(DEVICES) - 1)


def test_beyond_its_quota_a_home_still_asks_whom_its_memories_name(built: Federation, tmp_path: Path) -> None:
    hidden: dict[str, Plain] = {"memory__delta": 1.0, "exchange": "encrypted", "fedrag__without": "cache"}
    limited = built.copy_to(tmp_path).with_changes(routing__quota=1, **hidden)
    strategy, _ = run(limited, FOREIGN, FRIGATE)
    assert strategy.counts["scored"] == 1
    assert "quota" in strategy.outcome().traffic.missing["bridges"]
    assert strategy.answers.keys() == {"k2", "k6"}
    assert all(asked_of(answer) != {"nobody"} for answer in strategy.answers.values())
    by_summaries = built.copy_to(tmp_path / "again").with_changes(
        routing__quota=1, **hidden | {"fedrag__without": "owners, cache"}
    )
    strategy, _ = run(by_summaries, FOREIGN, FRIGATE)
    assert [asked_of(answer) for answer in strategy.answers.values()].count({"nobody"}) == 1
