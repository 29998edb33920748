"""What is kept on disk of passages: written where it has changed, in no question's way, and gone with its document."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.shared_memory import take_shared_memory
from fedrag_flwr.errors import NotFoundError, StoreFullError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.memory.store.tuple_store import TupleStore
from fedrag_flwr.records import ControllerRequest, Delta, MemoryItem
from fedrag_flwr.retrieval.device_controller import TrainingQuestion, features_id
from fedrag_flwr.retrieval.evidence_sources import FEATURES, DeviceSources
from fedrag_flwr.text.tuples import ParseExtractor
from tests.retrieval.test_device_sources import Interrupted, kept_tuples, opened
from tests.strategies.federation import DOCUMENTS

ASKED = "Where does the Ossel rise?"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device with two documents, built without what any order needs."""
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    (tmp_path / "documents").mkdir()
    for name, text in DOCUMENTS["rivers"].items():
        (tmp_path / "documents" / name).write_text(text, encoding="utf-8")
    with opened(tmp_path) as device:
        device.build(memories=False)
    return tmp_path


@contextmanager
def full_disk() -> Iterator[None]:
    """No file that is written meanwhile lasts."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full)
        yield


def take_others_memory(device: EdgeDevice) -> None:
    """Raise the store's version without a change of documents."""
    version = device.store.version
    [vector] = device.models.encoder.encode([ASKED])
    item = MemoryItem("f" * 32, ASKED, "Mount Cairl", "single", "LOC", ("e" * 32,), ("ossel",), vector, "bridges")
    take_shared_memory(device.store, Delta("shared-1", 0, 1, (item,), ()))
    assert device.store.version > version


def telling(root: Path) -> list[str]:
    """The documents whose kept tuples name Mount Cairl's document."""
    return [name for name, tuples in kept_tuples(root).items() if "mount-cairl" in tuples]


def test_tuples_are_not_written_again_where_no_document_has_changed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(root) as device:
        device.rankings.present()
        monkeypatch.setattr(TupleStore, "put", lambda *_: pytest.fail("it is there"))
        take_others_memory(device)
        device.rankings.present()
    with opened(root) as later:
        later.rankings.present()


def test_a_full_disk_is_in_no_questions_way(
    root: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("the disk is full", where="store")

    with opened(root) as device:
        with monkeypatch.context() as patch:
            patch.setattr(TupleStore, "put", full)
            found = [one.passage_id for one in device.order.by("controller").rank(ASKED, 2)]
        assert set(found) == {"ossel#0", "mount-cairl#0"}
        assert kept_tuples(root) == {}
        assert "evidence tuples are not kept: " in caplog.text
        take_others_memory(device)
        assert [one.passage_id for one in device.order.by("controller").rank(ASKED, 2)] == found
        assert kept_tuples(root).keys() == {"ossel", "mount-cairl"}  # there is room again


def test_tokens_that_the_disk_does_not_take_are_in_no_questions_way(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(root) as device:
        with full_disk():
            found = [one.passage_id for one in device.order.by("late-interaction").rank(ASKED, 2)]
        assert set(found) == {"ossel#0", "mount-cairl#0"}
        assert not (root / "store" / "tokens.npz").exists()
        assert f"tokens.npz is not kept: {os.strerror(errno.ENOSPC)}" in caplog.text
        take_others_memory(device)
        assert [one.passage_id for one in device.order.by("late-interaction").rank(ASKED, 2)] == found
        assert (root / "store" / "tokens.npz").exists()  # there is room again


def test_examples_are_made_though_the_disk_is_full(root: Path) -> None:
    with opened(root) as device:
        with full_disk():
            made = device.controller.examples([TrainingQuestion(ASKED, ("ossel",))])
        assert len(made)
        assert not (root / "store" / "controller-examples.npz").exists()


def test_weights_that_the_disk_does_not_take_are_an_error_of_ours(root: Path) -> None:
    count = len(FEATURES.names)
    request = ControllerRequest(
        "keep", features_id(FEATURES), mean=(0.0,) * count, deviation=(1.0,) * count, weights=(0.0,) * (count + 1)
    )
    with opened(root) as device, full_disk(), pytest.raises(StoreFullError, match="disk is full"):
        device.controller.train(request, ())
    assert not (root / "store" / "controller.json").exists()


def test_tuples_of_what_is_removed_go_with_it(root: Path) -> None:
    with opened(root) as device:
        device.rankings.present()
        assert telling(root)
        device.store.apply(Change(removed=("mount-cairl",)))
        assert not telling(root)


@pytest.mark.parametrize("reads", [2, 3, 4])
def test_what_is_removed_while_others_are_read_does_not_come_back(root: Path, reads: int) -> None:
    with opened(root) as device, opened(root) as other:

        def remove() -> None:
            (root / "documents" / "mount-cairl.md").unlink()
            other.build(memories=False)

        database = Interrupted(root / "store", -1, remove)  # not yet
        store = MemoryStore(database, device.store.identity, b"", 0)
        tools = device.models
        sources = DeviceSources(store, root / "store", tools.encoder, tools.pipeline, ParseExtractor)
        sources.present()
        (root / "documents" / "tarn-bridge.md").write_text(DOCUMENTS["bridges"]["tarn-bridge.md"], encoding="utf-8")
        device.build(memories=False)
        assert telling(root)
        database.left = reads
        with suppress(NotFoundError):  # it went between two reads
            sources.present()
        store.close()
    assert database.left <= 0
    assert not telling(root)
