"""What a device withdraws goes everywhere, also its last document, and also where its build fails afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from flwr.app import Message
from flwr.common.serde import message_from_proto
from flwr.proto.message_pb2 import Message as MessageProto

from strategies import MemoryFusion, SummaryRouting
from tests.strategies.federation import DEVICES, DOCUMENTS, SMALL_GRAPHS, server_tools
from tests.strategies.rounds import Rounds, Said

NODE = 100 + DEVICES.index("bridges")


@pytest.fixture
def shared(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    rounds = Rounds.after_one(tmp_path_factory, tmp_path)
    assert rounds.at("harbours", "bridges")
    return rounds


def withdraw(rounds: Rounds, device: str, *names: str) -> None:
    for name in names or DOCUMENTS[device]:
        (rounds.documents(device) / name).unlink()


def everywhere(rounds: Rounds) -> list[Said]:
    """What is known of the bridges: there, in the shared memory and at peers."""
    peers = [rounds.at(peer, "bridges") for peer in DEVICES if peer != "bridges"]
    return [rounds.own("bridges"), rounds.in_shared_memory("bridges"), *peers]


def test_the_last_document_goes_everywhere_once_that_is_said_to_be_meant(shared: Rounds) -> None:
    withdraw(shared, "bridges")
    before = shared.in_shared_memory("bridges")
    assert "build once with --empty" in shared.run()["bridges"]  # the folder might just not be mounted
    assert shared.in_shared_memory("bridges") == before

    with shared.files.device("bridges") as device:
        assert device.build(empty=True).documents == 0
    for _ in range(2):  # nor need it be said again
        assert shared.run() == {}
        assert everywhere(shared) == [set()] * 6

    (shared.documents("bridges") / "tarn-bridge.md").write_text(DOCUMENTS["bridges"]["tarn-bridge.md"])
    assert shared.run() == {}
    assert all(everywhere(shared))
    withdraw(shared, "bridges", "tarn-bridge.md")
    assert "bridges" in shared.run()  # what was said of the documents before holds for these no more
    assert all(everywhere(shared))


def test_what_was_withdrawn_before_a_build_fails_travels_all_the_same(shared: Rounds) -> None:
    withdraw(shared, "bridges", "tarn-bridge.md")
    with shared.files.device("bridges") as device:
        device.build()
    withdraw(shared, "bridges", "quill-viaduct.md")
    withdraw(shared, "harbours", "port-ferren.md")
    assert set(shared.run()) == {"bridges"}
    for known in everywhere(shared):
        questions = " ".join(question for question, _ in known)
        assert ("Tarn Bridge" in questions, "Quill Viaduct" in questions) == (False, True)
    assert not any("Port Ferren" in question for question, _ in shared.at("bridges", "harbours"))


def test_a_summary_that_was_withdrawn_before_a_build_fails_goes_all_the_same(tmp_path: Path) -> None:
    rounds = Rounds.over(tmp_path, **SMALL_GRAPHS, graph__share="text")
    evidence_store = rounds.files.root / "home" / "summaries"
    rounds.run(kind=SummaryRouting)

    def holding(word: bytes) -> bool:
        return any(word in file.read_bytes() for file in evidence_store.rglob("*") if file.is_file())

    assert holding(b"Tarn Bridge")
    assert holding(b"Quill Viaduct")
    withdraw(rounds, "bridges", "tarn-bridge.md")
    with rounds.files.device("bridges") as device:
        device.build(graph=True)
    withdraw(rounds, "bridges", "quill-viaduct.md")
    assert set(rounds.run(kind=SummaryRouting)) == {"bridges"}
    assert not holding(b"Tarn Bridge")
    assert holding(b"Quill Viaduct")


def test_a_device_that_gave_no_sign_of_its_build_is_not_waited_for_again(shared: Rounds) -> None:
    def silent(reply: Message) -> Message | None:
        told = reply.metadata
        return None if (told.src_node_id, told.message_type) == (NODE, "train.build") else reply

    files = shared.files.with_changes(federation__round_timeout=15.0)
    grid, tools = files.grid(silent), server_tools(files)
    MemoryFusion(files.settings, [], tools).prepare(grid, "1")
    tools.close()
    sent = [message_from_proto(MessageProto.FromString(data)).metadata for data in grid.sent]
    asked = {told.dst_node_id for told in sent if told.message_type == "query.share"}
    assert NODE not in asked
    assert len(asked) >= len(DEVICES) - 1
