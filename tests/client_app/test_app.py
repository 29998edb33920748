"""The ClientApp: which device a node is, and what leaves of it when something goes wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.errors import SettingError
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.memory.store.database import FILE
from fedrag_flwr.nodes import Node, store_root
from fedrag_flwr.privacy.outgoing import FILE as OUTGOING
from fedrag_flwr.privacy.outgoing import OutgoingLedger
from fedrag_flwr.records import (
    AnswerBatch,
    AnswerRequest,
    BuildReport,
    BuildRequest,
    Delta,
    DescribeRequest,
    DeviceCard,
    Evidence,
    EvidenceBatch,
    EvidenceRequest,
    EvidenceUnit,
    FinishRequest,
    Question,
    RetrieveRequest,
    ShareRequest,
)
from fedrag_flwr.settings import Plain
from tests.strategies.federation import DEVICES, Federation, FirstRun

RUN = "1"
CANARY = "Heliotrope-77"


@pytest.fixture(scope="module")
def files(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return first.files.copy_to(tmp_path_factory.mktemp("client"))


def ask(grid: LocalGrid, kind: str, content: RecordDict, node_id: int = 100) -> Message:
    grid.push_messages([Message(content, node_id, kind, group_id=RUN)])
    (reply,) = grid.pull_messages(list(grid._waiting))
    return reply


def failure(grid: LocalGrid, kind: str, content: RecordDict) -> wire.Failure:
    reply = ask(grid, kind, content)
    assert not reply.has_error()
    return wire.decode(reply.content, wire.Failure, run=RUN)


REQUESTS: list[tuple[str, object, type]] = [
    ("query.describe", DescribeRequest(), DeviceCard),
    ("train.build", BuildRequest(True), BuildReport),
    ("query.answer", AnswerRequest("memory", (Question("f1", "Who designed Tarn Bridge?", "bridges"),)), AnswerBatch),
    ("query.answer", AnswerRequest("memory", ()), AnswerBatch),
    ("query.retrieve", RetrieveRequest(()), EvidenceBatch),
    ("query.finish", FinishRequest((), ()), AnswerBatch),
]


@pytest.mark.parametrize(("kind", "request_", "reply"), REQUESTS)
def test_each_message_type_has_its_reply(kind: str, request_: object, reply: type, files: Federation) -> None:
    answered = ask(files.grid(), kind, wire.encode(request_, run=RUN))
    assert type(wire.decode(answered.content, reply, run=RUN)) is reply


def test_what_left_in_a_run_is_written_down(first: FirstRun) -> None:
    """Of every device: what passed the export filter, and as many messages as reached the server."""
    for name in DEVICES:
        with first.files.device(name) as device:
            kinds = {row.kind: row for row in OutgoingLedger(device.kept / OUTGOING).by_kind()}
            shared = device.store.counts().items
        assert {"items", "answers", "query.share", "query.answer", "query.describe"} <= kinds.keys()
        assert kinds["items"].count + kinds["items"].withheld >= shared
        assert all(row.bytes > 0 for row in kinds.values() if row.count)
        assert kinds["query.share"].bytes >= kinds["items"].bytes


def test_what_was_released_for_a_failed_reply_did_not_leave(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    with files.device("bridges") as device:
        kept = device.kept / OUTGOING
        [vector] = device.models.encoder.encode(["Who designed Tarn Bridge?"])

    def counted() -> int:
        return sum(row.count for row in OutgoingLedger(kept).by_kind() if row.kind == "evidence")

    request = RetrieveRequest((EvidenceRequest("q", vector, (), 4),), "nearest")
    before = counted()
    with monkeypatch.context() as patch:
        patch.setitem(wire.LIMITS, EvidenceBatch, 1)
        said = failure(files.grid(), "query.retrieve", wire.encode(request, run=RUN))
    assert said.error == "WireError"
    assert counted() == before
    ask(files.grid(), "query.retrieve", wire.encode(request, run=RUN))
    assert counted() > before


TYPES = sorted({kind for kind, _, _ in REQUESTS} | {"query.share", "query.import", "query.documents"})
SPOILT: Mapping[str, RecordDict] = {
    "nothing": RecordDict(),
    "garbage": RecordDict({"x": ConfigRecord({"x": CANARY.encode() * 9})}),
    "another run": wire.encode(DescribeRequest(), run=CANARY),
    "another kind": wire.encode(wire.Failure(CANARY, CANARY, CANARY), run=RUN),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("case", SPOILT)
def test_a_spoilt_request_is_refused_in_words_that_quote_nothing(kind: str, case: str, files: Federation) -> None:
    said = failure(files.grid(), kind, SPOILT[case])
    assert (said.device, said.error) == ("bridges", "WireError")
    assert CANARY not in repr(said)
    assert str(files.root) not in repr(said)


def test_an_old_version_is_told(files: Federation) -> None:
    content = wire.encode(DescribeRequest(), run=RUN)
    envelope = content["envelope"]
    assert isinstance(envelope, ConfigRecord)
    envelope["schema"] = 0
    assert failure(files.grid(), "query.describe", content).error == "SchemaVersionError"


WRONG: list[tuple[dict[str, Plain], dict[str, Plain], str]] = [
    ({"data.root": f"/no/such/{CANARY}"}, {"partition-id": 0}, "SettingError"),
    ({"memory.delta": 7.0}, {"partition-id": 0}, "SettingError"),
    ({"colour": CANARY}, {"partition-id": 0}, "SettingError"),
    ({}, {"device-name": f"a/{CANARY}"}, "SettingError"),
    ({}, {"device-name": "b", "data-path": f"/no/such/{CANARY}"}, "SourceError"),
    ({}, {"partition-id": 17}, "SettingError"),  # a spare node has nothing to build
]


@pytest.mark.parametrize(("config", "node", "error"), WRONG)
def test_what_is_wrong_at_a_device_leaves_as_a_failure(
    config: dict[str, Plain], node: dict[str, Plain], error: str, files: Federation
) -> None:
    grid = LocalGrid(app, [node], {**files.config, **config})
    said = failure(grid, "train.build", wire.encode(BuildRequest(True), run=RUN))
    assert said.error == error
    assert said.device
    assert "/no/such" not in said.what
    assert str(files.root) not in repr(said)


def test_an_unreadable_device_names_no_document(files: Federation, tmp_path: Path) -> None:
    (tmp_path / f"{CANARY}.txt").write_bytes(b"\xff\xfe\xfd")
    grid = LocalGrid(app, [{"device-name": "odd", "data-path": str(tmp_path)}], files.config)
    said = failure(grid, "train.build", wire.encode(BuildRequest(True), run=RUN))
    assert said.error == "EmptySourceError"
    assert CANARY not in repr(said)


def test_a_torn_store_leaves_as_a_failure_without_its_place(files: Federation, tmp_path: Path) -> None:
    torn = files.copy_to(tmp_path)
    database = store_root(torn.settings, "bridges") / FILE
    database.write_bytes(CANARY.encode() * 1_000)
    said = failure(torn.grid(), "train.build", wire.encode(BuildRequest(True), run=RUN))
    assert (said.device, said.error) == ("bridges", "StoreCorruptError")
    assert CANARY not in repr(said)
    assert str(tmp_path) not in repr(said)


NAMES: list[tuple[dict[str, Plain], str, bool]] = [
    ({"partition-id": 0}, DEVICES[0], True),
    ({"partition-id": 4}, DEVICES[4], True),
    ({"partition-id": 5}, "spare-5", False),
    ({}, DEVICES[0], True),
    ({"device-name": "ward-7", "partition-id": 1}, "ward-7", True),
    ({"device-name": "ward-7", "data-path": "/srv/texts"}, "ward-7", True),
]


@pytest.mark.parametrize(("node", "name", "has_documents"), NAMES)
def test_which_device_a_node_is(node: dict[str, Plain], name: str, has_documents: bool, files: Federation) -> None:
    own = Node(node, files.config)
    assert own.device_name() == name
    with own.device() as device:
        assert device.name == name
        assert (device.documents is not None) == has_documents
        assert device.describe().sources == (("folder",) if has_documents else ())
        if "data-path" in node:
            assert device.documents == Path("/srv/texts")


def test_stores_of_other_documents_and_devices_are_apart(files: Federation) -> None:
    other = files.with_changes(data__root=str(files.root))
    roots = {store_root(f.settings, name) for f in (files, other) for name in DEVICES}
    assert len(roots) == 2 * len(DEVICES)
    assert all(root.is_relative_to(files.root / "home") for root in roots)


def test_a_folder_that_is_not_there_is_named_with_the_fix() -> None:
    with pytest.raises(SettingError, match=r"data\.root") as refused:
        Node({"partition-id": 0}, {"data.root": "/no/such/folder"}).device_name()
    assert refused.value.fix


def test_shares_go_through_the_export_filter(files: Federation) -> None:
    reply = ask(files.grid(), "query.share", wire.encode(ShareRequest(0), run=RUN))
    delta = wire.decode(reply.content, Delta, run=RUN)
    with files.device("bridges") as device:
        own = {item.id for item in device.store.items(origin="bridges")}
        resolved = {own_id for _, own_id in device.store.resolve_opaque(item.id for item in delta.items).values()}
    assert delta.items
    assert resolved <= own
    assert not own & {item.id for item in delta.items}
    assert {item.origin for item in delta.items} == {"bridges"}
    assert all(item.support == () for item in delta.items)


def test_evidence_that_poses_as_homes_own_is_dropped(files: Federation) -> None:
    """Its id is none of home's: it must neither fail the other questions nor be traced to home."""
    asked = tuple(Question(name, "Who designed Tarn Bridge?", "bridges") for name in ("f1", "f2"))
    posing = EvidenceUnit("none", f"{CANARY} designed it.", "bridges", 1.0)
    request = FinishRequest(asked, (Evidence("f1", (posing, posing)),))
    reply = ask(files.grid(), "query.finish", wire.encode(request, run=RUN))
    batch = wire.decode(reply.content, AnswerBatch, run=RUN)
    assert {one.question_id for one in batch.answers} == {"f1", "f2"}
    assert CANARY not in repr(batch)
