"""Devices of a benchmark stay open between messages: what one message found is there for the next."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from flwr.app import Context, Message, RecordDict

from client_app.app import app_of
from fedrag_flwr import wire
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import StoreError
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import store_root
from fedrag_flwr.records import (
    AnswerBatch,
    AnswerRequest,
    BuildReport,
    BuildRequest,
    DescribeRequest,
    DeviceCard,
    FinishRequest,
    Hop,
    Question,
    TopicWeight,
    WalkReply,
    WalkRequest,
)
from simulations.bench.fixture import make_fixture
from simulations.bench.plan import BenchPlan
from simulations.fixtures.kept_devices import KeptDevices, notes_of
from tests.simulations.tiny_data import write_data
from tests.strategies.federation import DEVICES, Federation, shared_federation, small_models

RUN = "1"
HOME, OTHER = 100, 101  # as a local grid numbers nodes
ELSEWHERE = Question("f7", "How high is Mount Cairl?", DEVICES[0])  # no document at home says it
Reply = TypeVar("Reply")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """A federation of its own, in which no store was built yet."""
    return shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("kept")).with_changes(strategy="fedrag")


@pytest.fixture
def kept() -> Iterator[KeptDevices]:
    kept = KeptDevices()
    yield kept
    kept.close()


def ask(grid: LocalGrid, kind: str, request: object, reply: type[Reply], node_id: int = HOME) -> Reply:
    message = Message(wire.encode(request, run=RUN), node_id, kind, group_id=RUN)
    (answer,) = grid.send_and_receive([message])
    return wire.decode(answer.content, reply, run=RUN)


def device_of(kept: KeptDevices, files: Federation, node_id: int = HOME) -> EdgeDevice:
    context = Context(int(RUN), node_id, dict(files.nodes[node_id - HOME]), RecordDict(), dict(files.config))
    return kept.node(context).opened


def test_what_a_question_left_open_is_taken_by_what_finishes_it(kept: KeptDevices, files: Federation) -> None:
    grid = LocalGrid(app_of(kept.reply), files.nodes, files.config)
    ask(grid, "train.build", BuildRequest(True), BuildReport)
    batch = ask(grid, "query.answer", AnswerRequest("assisted", (ELSEWHERE,)), AnswerBatch)
    assert [question.question_id for question in batch.open] == [ELSEWHERE.id]
    device = device_of(kept, files)
    engine = device.engines.over("all")
    look = engine.looks.see(ELSEWHERE)
    assert look is not None
    assert look.home is not None  # home's sentences, which are not gathered again
    finish = FinishRequest((ELSEWHERE,), (), "assisted")
    done = ask(grid, "query.finish", finish, AnswerBatch)
    assert [answer.question_id for answer in done.answers] == [ELSEWHERE.id]
    assert device_of(kept, files) is device
    assert device.engines.over("all") is engine
    assert engine.looks.see(ELSEWHERE) is None


def test_what_home_answers_is_heard_as_people_there_read_it(kept: KeptDevices, files: Federation) -> None:
    masked = files.with_changes(privacy__export="type-masking", privacy__public_names="", privacy__answers="all")
    grid = LocalGrid(app_of(kept.reply), masked.nodes, masked.config)
    home = DEVICES.index("people") + HOME
    ask(grid, "train.build", BuildRequest(True), BuildReport, home)
    asked = Question("q", "Who commanded the frigate Windhover?", "people")
    [left] = ask(grid, "query.answer", AnswerRequest("memory", (asked,)), AnswerBatch, home).answers
    assert left.text == "[PERSON]"
    assert kept.said["q"].text == "Jonas Keel"


def test_what_one_system_learns_on_its_walks_teaches_no_other(files: Federation) -> None:
    vector = small_models().encoder.encode([ELSEWHERE.text])[0]
    hop = Hop(ELSEWHERE.id, vector, (TopicWeight(0, 1.0),), DEVICES[1:])
    request = WalkRequest("random", (hop,), ())
    learnt = []
    for walker, hops in (("random-walk", 3), ("topic-walk", 1), ("random-walk", 1)):
        kept = KeptDevices(walker)
        grid = LocalGrid(app_of(kept.reply), files.nodes, files.config)
        for _ in range(hops):
            ask(grid, "query.walk", request, WalkReply)
        learnt.append(device_of(kept, files).walks.expertise.now)
        kept.close()
    assert learnt == [3, 1, 4]


def test_what_walks_learn_is_kept_for_each_results_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    data = write_data(tmp_path)
    plan = BenchPlan(data, ("topic-walk",), "federated", devices=2, questions=2)
    fixtures = [make_fixture(plan, tmp_path / out) for out in ("one", "two", "one")]
    root = store_root(fixtures[0].settings, fixtures[0].devices[0])
    root.mkdir(parents=True)
    notes = [root / notes_of(fixture.walker("topic-walk")) for fixture in fixtures]
    assert notes[0] == notes[2] != notes[1]
    for one in notes:
        one.touch()
    fixtures[0].forget_walks("topic-walk")
    assert [one.exists() for one in notes] == [False, True, False]


def test_closing_closes_the_devices_of_all_nodes(files: Federation) -> None:
    kept = KeptDevices()
    grid = LocalGrid(app_of(kept.reply), files.nodes, files.config)
    cards = [ask(grid, "query.describe", DescribeRequest(), DeviceCard, node) for node in (HOME, OTHER)]
    assert [card.name for card in cards] == list(DEVICES[:2])
    devices = [device_of(kept, files, node) for node in (HOME, OTHER)]
    for device in devices:
        device.store.counts()
    kept.close()
    for device in devices:
        with pytest.raises(StoreError):
            device.store.counts()
    again = ask(grid, "query.describe", DescribeRequest(), DeviceCard)
    assert again.name == DEVICES[0]
    assert device_of(kept, files) is not devices[0]
    kept.close()
