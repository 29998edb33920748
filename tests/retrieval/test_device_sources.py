"""The Cognizer's evidence in the controller's order, and which weights a device takes for it."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError, StoreCorruptError, StoreMismatchError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.database import FILE, Database
from fedrag_flwr.records import Answer, EvidenceTuple, Question
from fedrag_flwr.retrieval.controller import Controller, ControllerFeatures, Scaling
from fedrag_flwr.retrieval.dense import QuestionVectors
from fedrag_flwr.retrieval.device_controller import SHIPPED_WEIGHTS
from fedrag_flwr.retrieval.evidence_sources import FEATURES, DeviceSources, PathKeys, Sources, by_passage
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.tuples import ParseExtractor
from tests.strategies.federation import DOCUMENTS, small_models

ASKED = Question("q", "Where was the designer of Tarn Bridge born?", "all")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One device with all of the made-up documents."""
    root = tmp_path_factory.mktemp("ordering")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(root / "home"))
        (root / "documents").mkdir()
        for own in DOCUMENTS.values():
            for name, text in own.items():
                (root / "documents" / name).write_text(text, encoding="utf-8")
        with opened(root) as device:
            device.build()
        yield root


def opened(root: Path, **changes: Plain) -> EdgeDevice:
    config: dict[str, Plain] = {"memory.tokens-per-kilotoken": 0, "privacy.public-names": ""}
    config |= {key.replace("__", ".").replace("_", "-"): value for key, value in changes.items()}
    return EdgeDevice("all", root / "documents", root / "store", Settings.from_config(config), small_models())


def kept_tuples(root: Path) -> dict[str, str]:
    """The tuples that a device's store holds, as text, by document."""
    with closing(sqlite3.connect(root / "store" / FILE)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'evidence_tuples'").fetchone():
            return {}
        joined = "FROM evidence_tuples t JOIN documents d ON d.number = t.document"
        return dict(connection.execute(f"SELECT d.id, t.tuples {joined} ORDER BY d.id").fetchall())


def found_anew(device: EdgeDevice) -> dict[str, list[EvidenceTuple]]:
    """The tuples of each passage, of documents that are read again."""
    read = device.models.pipeline.parse(map(device.store.document, device.store.digests()))
    found = by_passage(one for parsed in read for one in ParseExtractor().extract(parsed))
    return {passage.id: found.get(passage.id, []) for passage in device.store.passages()}


def reasoned(device: EdgeDevice) -> Answer:
    return device.engines.over("none").finish(ASKED, ())


def test_evidence_is_of_passages_that_the_controller_puts_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedrag_flwr.device.modes.PASSAGES", 2)
    with opened(root, retrieval__order="controller") as device:
        first = [one.passage_id for one in device.order.choose(ASKED.text, 2)]
        assert len(first) == 2
        answer = reasoned(device)
        passages = {unit.id for unit in answer.evidence}
        assert passages
        assert passages <= set(first)
        assert answer.paths
        assert {path.passage_id for path in answer.paths} <= passages
        released = device.export.release_answer(answer)
        assert (released.paths, released.evidence) == ((), ())


def test_a_build_makes_what_the_order_needs(root: Path, tmp_path: Path) -> None:
    for order, made in (("similarity", False), ("controller", True)):
        shutil.copytree(root / "documents", tmp_path / order / "documents")
        with opened(tmp_path / order, retrieval__order=order) as device:
            device.build()
        assert bool(kept_tuples(tmp_path / order)) == made


def test_evidence_is_of_the_nearest_sentences_otherwise(root: Path) -> None:
    with opened(root, retrieval__order="similarity") as device:
        answer = reasoned(device)
        assert answer.evidence
        assert answer.paths == ()


def test_the_shipped_controller_is_for_these_sources_and_tells_what_it_was_fitted_on(root: Path) -> None:
    controller = Controller.load(SHIPPED_WEIGHTS)
    assert controller.features == FEATURES
    assert "training questions" in controller.fitted_on
    with opened(root) as device:
        assert device.order.choose("Who designed Tarn Bridge?", 1)[0].passage_id == "tarn-bridge#0"


def zeros(features: ControllerFeatures) -> Controller:
    nothing = np.zeros(len(features.names))
    return Controller(features, Scaling(nothing, nothing + 1.0), nothing, 0.0)


def written(path: Path, kind: str) -> str:
    """A file of weights of some kind."""
    if kind == "other version":
        path.write_text(json.dumps({**json.loads(SHIPPED_WEIGHTS.read_text()), "version": 99}))
    elif kind == "other sources":
        zeros(ControllerFeatures(("dense", "BM25"))).save(path)
    elif kind == "other depth":
        zeros(replace(FEATURES, depth=20)).save(path)
    elif kind == "torn":
        path.write_bytes(SHIPPED_WEIGHTS.read_bytes()[:-40])
    return "trained" if kind == "not trained yet" else str(path)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("other version", StoreMismatchError),
        ("other sources", StoreMismatchError),
        ("other depth", StoreMismatchError),
        ("torn", StoreCorruptError),
        ("missing", StoreCorruptError),
        ("not trained yet", StoreCorruptError),
    ],
)
def test_weights_that_do_not_fit_are_refused(root: Path, tmp_path: Path, kind: str, error: type[FedragError]) -> None:
    weights = written(tmp_path / "weights.json", kind)
    with opened(root, retrieval__order="controller", retrieval__weights=weights) as device, pytest.raises(error):
        reasoned(device)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_weights_by_path_decide_the_order(root: Path, tmp_path: Path, sign: float) -> None:
    weights = np.zeros(len(FEATURES.names))
    weights[FEATURES.names.index("dense.rank")] = sign
    replace(zeros(FEATURES), weights=weights).save(tmp_path / "dense.json")
    with opened(root, retrieval__weights=str(tmp_path / "dense.json")) as device:
        [vector] = device.models.encoder.encode([ASKED.text])
        nearest = [unit.id for unit in device.engine.evidence_store.nearest("paragraph", vector, FEATURES.depth)]
        order = [one.passage_id for one in device.order.choose(ASKED.text, 20) if one.passage_id in nearest]
        assert order == (nearest if sign > 0 else nearest[::-1])


def test_late_interaction_orders_passages_and_keeps_their_tokens(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedrag_flwr.device.modes.PASSAGES", 2)
    with opened(root, retrieval__order="late-interaction") as device:
        first = [one.passage_id for one in device.order.by("late-interaction").rank(ASKED.text, 2)]
        answer = reasoned(device)
        assert {unit.id for unit in answer.evidence} <= set(first)
        kept = root / "store" / "tokens.npz"
        written_at = kept.stat().st_mtime_ns
        assert [one.passage_id for one in device.order.by("late-interaction").rank(ASKED.text, 2)] == first
        assert kept.stat().st_mtime_ns == written_at
        device.controller.forget()
        assert not kept.exists()


def test_only_changed_documents_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "documents"
    folder.mkdir()
    texts = {name: text for own in DOCUMENTS.values() for name, text in own.items()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    read: list[str] = []

    class Watched(ParseExtractor):
        def extract(self, passages: Sequence[ParsedPassage]) -> list[EvidenceTuple]:
            read.extend(one.passage.document_id for one in passages)
            return super().extract(passages)

    with opened(tmp_path) as device:
        device.build(memories=False)
        sources = DeviceSources(
            device.store, tmp_path / "store", device.models.encoder, device.models.pipeline, Watched
        )
        sources.present()
        assert sorted(read) == sorted(name.removesuffix(".md") for name in texts)
        read.clear()
        (folder / "ossel.md").write_text("# Ossel\n\nThe Ossel is a river that Ada Morrow mapped.\n", encoding="utf-8")
        (folder / "salt-archive.md").unlink()
        device.build(memories=False)
        changed = sources.present()
        assert read == ["ossel"]
        tuples, units = found_anew(device), device.store.units("paragraph")
        passages, questions = device.store.passages(units.ids), QuestionVectors(device.models.encoder)
        fresh = Sources.over(passages, units.vectors, PathKeys.of(units.ids, tuples), questions)
        assert changed.explainer.tuples == tuples
        for question in ("Who mapped the Ossel?", ASKED.text, "What does the Salt Archive keep?"):
            ranks = [[one.passage_id for one in made.retrievers[2].rank(question, 20)] for made in (changed, fresh)]
            assert ranks[0] == ranks[1]
            assert "salt-archive#0" not in ranks[0]
        assert kept_tuples(tmp_path).keys() == device.store.digests().keys()
        read.clear()
        (folder / "ossel.md").write_text("# Ossel\n\nThe Ossel is a river that floods in spring.\n", encoding="utf-8")
        device.build(memories=False)
        assert "Ada Morrow" not in kept_tuples(tmp_path).get("ossel", "")
        another = DeviceSources(  # as a process that starts later
            device.store, tmp_path / "store", device.models.encoder, device.models.pipeline, Watched
        )
        another.present()
        assert read == ["ossel"]
        read.clear()
        last = DeviceSources(
            device.store, tmp_path / "store", device.models.encoder, device.models.pipeline, Watched
        ).present()
        assert read == []
        assert last.explainer.tuples == sources.present().explainer.tuples


class Interrupted(Database):
    """A store's file to which another process commits after so many reads."""

    def __init__(self, directory: Path, reads: int, commit: Callable[[], object]) -> None:
        super().__init__(directory)
        self.left = reads
        self.commit = commit

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with super().reading() as connection:
            yield connection
        self.left -= 1
        if self.left == 0:
            self.commit()


@pytest.mark.parametrize("reads", range(1, 5))
def test_a_document_that_comes_while_others_are_read_is_read_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("ossel.md", "mount-cairl.md"):
        (folder / name).write_text(DOCUMENTS["rivers"][name], encoding="utf-8")
    with opened(tmp_path) as device, opened(tmp_path) as other:
        device.build(memories=False)
        (folder / "tarn-bridge.md").write_text(DOCUMENTS["bridges"]["tarn-bridge.md"], encoding="utf-8")
        database = Interrupted(tmp_path / "store", reads, lambda: other.build(memories=False))
        store = MemoryStore(database, device.store.identity, b"", 0)
        parts = device.models.encoder, device.models.pipeline, ParseExtractor
        sources = DeviceSources(store, tmp_path / "store", *parts)
        sources.present()
        assert database.left <= 0
        present = sources.present()
        later = DeviceSources(other.store, tmp_path / "store", *parts).present()  # as a process that starts then
        fresh = found_anew(other)
        store.close()
    assert "tarn-bridge#0" in fresh
    assert present.explainer.tuples == later.explainer.tuples == fresh
