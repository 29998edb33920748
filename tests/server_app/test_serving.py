"""Questions that people put at their device wait there, are taken up by a run that serves, and come home answered."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from flwr.app import Message

from fedrag_flwr import wire
from fedrag_flwr.device.pending import GIVEN_UP
from fedrag_flwr.errors import SettingError
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import OpenQuestion, Question, WaitingBatch
from fedrag_flwr.settings import Plain
from server_app.serving import serve
from strategies import ServerTools
from tests.strategies.federation import DEVICES, Federation, graphed, tampering
from tests.strategies.waiting import put, serving

FOREIGN = Question("w1", "How high is Mount Cairl?", "bridges")
KNOWN_HERE = Question("w2", "Who designed Tarn Bridge?", "bridges")
NOBODY = Question("w3", "What did the Duke of Pell eat at his wedding?", "bridges")


@pytest.fixture
def files(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Federation:
    monkeypatch.setattr("strategies.summary_routing.OVERVIEW", 0)  # so that no gate knows beforehand that nobody knows
    monkeypatch.setattr("fedrag_flwr.memory.store.outbox.RETRY_SECONDS", 0.0)
    changes: dict[str, Plain] = {
        "serving__outbox": True,
        "serving__polls": 1,
        "privacy__answers": "waiting",  # as deployed devices are
        "inference__max_answer_tokens": 4,
    }
    return graphed(tmp_path_factory).copy_to(tmp_path / "files").with_changes(**changes)


@pytest.mark.parametrize("exchange", ["plain", "download"])
def test_an_answer_comes_home_and_the_question_stays_there(files: Federation, exchange: str) -> None:
    files = files.with_changes(exchange=exchange)
    assert put(files, FOREIGN)
    run, grid = serving(files)
    run.run()
    with files.device("bridges") as home:
        answer = home.delivered.all()["w1"]
        assert not len(home.waiting.outbox)
    assert answer.path == "remote"
    assert any(source.startswith("rivers/") for source in answer.sources)
    assert not any(b"How high" in data for data in grid.sent)
    assert not any(answer.text.encode() in data for data in grid.sent if b"AnswerBatch" in data)
    assert not run.strategy.answers
    assert not run.strategy.questions


def test_what_home_is_sure_of_does_not_wait(files: Federation) -> None:
    assert not put(files.with_changes(serving__outbox=False), KNOWN_HERE)
    assert put(files, KNOWN_HERE)
    with files.device("bridges") as home:
        assert isinstance(home.engine.ask(KNOWN_HERE, lambda vector: ("rivers",)), OpenQuestion)
        assert home.waiting.outbox.withdraw(KNOWN_HERE.id)
        home.build()  # with memories
        assert not isinstance(home.engine.ask(KNOWN_HERE, lambda vector: ("rivers",)), OpenQuestion)
    assert not put(files, KNOWN_HERE)


def test_a_strategy_that_reads_questions_gets_them_through_the_export_filter_alone(files: Federation) -> None:
    private = Question("w4", "When did Enno Tveit reach the summit of Mount Cairl?", "rivers")
    assert put(files, private)
    run, grid = serving(files.with_changes(strategy="hybrid-fusion", hybrid__report="none"))
    run.run()
    assert any(b"reach the summit" in data for data in grid.sent)
    assert not any(b"Tveit" in data for data in grid.sent)
    with files.device("rivers") as home:
        assert "w4" in home.delivered.all() or home.waiting.outbox.holds("w4")


def test_a_device_that_shows_nobody_its_questions_offers_none_to_who_reads_them(files: Federation) -> None:
    assert put(files, FOREIGN)
    hidden = files.with_changes(strategy="hybrid-fusion", serving__polls=2)
    run, grid = serving(hidden)
    nodes: list[dict[str, Plain]] = [{**node, "exchange": "download"} for node in hidden.nodes]
    run.grid = grid = hidden.grid(nodes=nodes)
    run.run()
    assert not any(b"How high" in data for data in grid.sent)
    with files.device("bridges") as home:
        assert home.waiting.outbox.holds("w1")


def test_of_a_devices_questions_the_latest_are_remembered(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server_app.serving._MOST_OFFERED", 2)
    run, _ = serving(files)
    for number in range(5):
        assert run._first_offered_by(f"b{number}", "bridges") == "bridges"
    assert run._first_offered_by("r0", "rivers") == "rivers"
    assert set(run._homes) == {"b3", "b4", "r0"}
    assert run._first_offered_by("b4", "rivers") == "bridges"
    assert run._first_offered_by("b0", "rivers") == "rivers"  # forgotten, as if it were new


def test_what_nobody_can_answer_is_closed_after_some_tries(files: Federation) -> None:
    assert put(files, NOBODY)
    changed = files.with_changes(serving__polls=1)
    for _ in range(4):
        run, _ = serving(changed)
        run.run()
        with files.device("bridges") as home:
            if not len(home.waiting.outbox):
                told = home.delivered.all()["w3"]
                assert told.text or told.explanation == GIVEN_UP
                return
    raise AssertionError("the question still waits")


def test_a_withdrawn_question_costs_no_other_its_answer(files: Federation) -> None:
    for question in (FOREIGN, NOBODY):
        put(files, question)
    run, _ = serving(files)

    def withdraw(reply: Message) -> Message:
        if wire.kind_of(reply.content) == "WaitingBatch":
            with files.device("bridges") as home:
                home.waiting.outbox.withdraw("w3")
        return reply

    run.grid = files.grid(withdraw)
    run.run()
    with files.device("bridges") as home:
        assert "w1" in home.delivered.all()
        assert "w3" not in home.delivered.all()


def test_questions_in_another_s_name_are_refused(files: Federation) -> None:
    put(files, FOREIGN)

    def lie(batch: WaitingBatch) -> WaitingBatch:
        return replace(batch, questions=tuple(replace(one, home="rivers") for one in batch.questions))

    run, _ = serving(files, tampering(WaitingBatch, lie))
    run.run()
    assert "another device's name" in run.strategy.transport.traffic.missing["bridges"]
    with files.device("bridges") as home:
        assert home.waiting.outbox.holds("w1")


def test_who_offers_another_s_question_is_named_and_costs_it_nothing(files: Federation) -> None:
    """Owners see the ids of questions that they help with; `bridges` is heard before `rivers`."""
    asked = [Question(name, NOBODY.text, "rivers") for name in ("w5", "w6")]
    lies: list[Question] = []

    def lie(batch: WaitingBatch) -> WaitingBatch:
        return replace(batch, questions=(*batch.questions, *lies))

    run, _ = serving(files, tampering(WaitingBatch, lie, "bridges"))
    assert run._refreshed()
    put(files, asked[0])
    assert [(one.id, one.home) for one in run._waiting()] == [("w5", "rivers")]
    put(files, FOREIGN)
    put(files, asked[1])
    lies.append(Question("w5", "", "bridges"))
    found = {(one.id, one.home) for one in run._waiting()}
    assert found == {("w1", "bridges"), ("w5", "rivers"), ("w6", "rivers")}
    missing = run.strategy.transport.traffic.missing
    assert missing.keys() == {"bridges"}
    assert "another device had offered" in missing["bridges"]


class Gathering(LocalGrid):
    """A grid to which nodes come later."""

    present = 2

    def get_node_ids(self) -> list[int]:
        return super().get_node_ids()[: self.present]


def test_devices_are_taken_in_as_they_come(files: Federation) -> None:
    put(files, FOREIGN)
    changed = files.with_changes(serving__polls=3)
    run, grid = serving(changed)
    run.settings = changed.settings
    gathering = Gathering(grid._app, changed.nodes, changed.config)
    run.grid = gathering
    seen: list[int] = []

    def sleep(_: float) -> None:
        seen.append(sum(b"query.waiting" in data for data in gathering.sent))
        gathering.present += 3

    run.sleep = sleep
    run.run()
    assert seen[0] == 0  # two devices are no quorum of five
    assert seen[1] > 0
    with files.device("bridges") as home:
        assert home.delivered.all()["w1"].path == "remote"


def test_a_silent_device_holds_up_no_other_s_questions(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server_app.serving._PATIENCE", 2.0)
    changed = files.with_changes(federation__round_timeout=240.0)
    put(changed, FOREIGN)
    silent = 100 + DEVICES.index("museums")

    def mute(reply: Message) -> Message | None:
        described = reply.metadata.message_type == "query.describe"
        return None if described and reply.metadata.src_node_id == silent else reply

    run, _ = serving(changed, mute)
    run.run()
    assert run.strategy.transport.waited < 200
    assert run.strategy.transport.traffic.missing == {f"node {silent}": "no reply to query.describe within 2 s"}
    with files.device("bridges") as home:
        assert home.delivered.all()["w1"].path == "remote"


def test_a_store_that_another_process_holds_is_waited_for(files: Federation) -> None:
    put(files, FOREIGN)
    changed = files.with_changes(serving__polls=2)
    run, _ = serving(changed)
    ServerTools(changed.settings).summaries.close()
    evidence_store = files.root / "home" / "summaries" / changed.settings.data_key / "summaries.sqlite"
    other = sqlite3.connect(evidence_store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    run.sleep = lambda _: other.close()
    run.run()
    with files.device("bridges") as home:
        assert home.delivered.all()["w1"].path == "remote"


def test_a_reference_does_not_serve(files: Federation) -> None:
    with pytest.raises(SettingError, match="centralized"):
        serve(files.grid(), "1", files.with_changes(strategy="centralized").settings)
