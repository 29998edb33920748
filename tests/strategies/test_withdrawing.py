"""What a device withdraws goes everywhere: its last document, before a failed build, after a restored backup."""

import shutil
from pathlib import Path

import pytest
from flwr.app import Message
from flwr.common.serde import message_from_proto
from flwr.proto.message_pb2 import Message as MessageProto

from fedrag_flwr.records import Answer
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

    files = shared.files.with_changes(federation__round_timeout=4.0)
    grid, tools = files.grid(silent), server_tools(files)
    MemoryFusion(files.settings, [], tools).prepare(grid, "1")
    tools.close()
    sent = [message_from_proto(MessageProto.FromString(data)).metadata for data in grid.sent]
    asked = {told.dst_node_id for told in sent if told.message_type == "query.share"}
    assert NODE not in asked
    assert len(asked) >= len(DEVICES) - 1


IRON = "# Iron Gate\n\nThe Iron Gate was built in 1850. The gate is 30 metres wide.\n"
OAK = "# Oak Weir\n\nThe Oak Weir was built in 1777. The weir is 12 metres wide.\n"


@pytest.fixture
def restored(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """The device `bridges` put back to what it was before it shared what it had of the Iron Gate."""
    rounds = Rounds.after_one(tmp_path_factory, tmp_path)
    store, privacy = rounds.store("bridges"), tmp_path / "home" / "privacy" / "bridges"
    shutil.copytree(store, tmp_path / "store")
    shutil.copytree(privacy, tmp_path / "privacy")
    (rounds.documents("bridges") / "iron.md").write_text(IRON, encoding="utf-8")
    rounds.run()
    assert any("Iron Gate" in question for question, _ in rounds.at("harbours", "bridges"))
    for place, backup in ((store, "store"), (privacy, "privacy")):
        shutil.rmtree(place)
        (tmp_path / backup).rename(place)
    return rounds


def test_what_goes_after_a_device_was_put_back_goes_everywhere(restored: Rounds) -> None:
    documents = restored.documents("bridges")
    (documents / "iron.md").unlink()
    (documents / "tarn-bridge.md").unlink()
    (documents / "oak.md").write_text(OAK, encoding="utf-8")
    assert restored.run() == {}
    own = restored.own("bridges")
    assert any("Oak Weir" in question for question, _ in own)
    assert restored.in_shared_memory("bridges") == restored.at("harbours", "bridges") == own


def test_a_device_that_was_put_back_and_reads_the_same_again_is_as_it_was(restored: Rounds) -> None:
    assert restored.run() == {}
    own = restored.own("bridges")
    assert any("Iron Gate" in question for question, _ in own)
    assert restored.in_shared_memory("bridges") == restored.at("harbours", "bridges") == own


def test_an_answer_leads_back_to_the_documents_of_the_device_that_shared_it(tmp_path: Path) -> None:
    rounds = Rounds.over(tmp_path)
    rounds.run()
    with rounds.files.device("harbours") as peer:
        seen = [item for item in peer.store.items(origin="bridges") if "Tarn Bridge" in item.question]
    answer = Answer("q", "312 metres", "memorizer", 1.0, sources=tuple(f"bridges/{item.id}" for item in seen))
    with rounds.files.device("bridges") as owner:
        lines = owner.trace(answer)
        own = {item.id for item in owner.store.items(origin="bridges")}
    assert {line.document for line in lines} == {"tarn-bridge"}
    assert len({line.item for line in lines} & own) == len(seen) > 0
    with rounds.files.device("harbours") as peer:
        assert [line.document for line in peer.trace(answer)] == [""] * len(seen)
