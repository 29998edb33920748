"""After a change, what nobody touched is what a build from nothing would make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fedrag_flwr.demo import CORPUS
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import MemoryItem
from tests.device.test_building import Watched

DOCUMENTS = ("ceres", "dimorphos", "enceladus", "europa", "halleys-comet", "mercury", "titan", "vesta")
CHANGED, REMOVED, ADDED = "europa", "titan", "triton"


@pytest.fixture(scope="module", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def text(name: str) -> str:
    return (CORPUS / "worlds" / f"{name}.md").read_text(encoding="utf-8")


def units(store: MemoryStore) -> dict[str, tuple[object, ...]]:
    """Everything of the untouched documents' units: place, title, text and facts."""
    return {
        passage.id: (passage.title, passage.text, tuple((s.id, s.text, s.facts) for s in passage.sentences))
        for passage in store.passages()
        if passage.document_id not in (CHANGED, REMOVED, ADDED)
    }


def items(store: MemoryStore) -> dict[str, MemoryItem]:
    """The memories that rest on untouched documents alone."""
    return {
        item.id: item
        for item in store.items()
        if {unit.partition("#")[0] for unit in item.support}.isdisjoint((CHANGED, REMOVED, ADDED))
    }


def test_untouched_documents_keep_what_a_fresh_build_would_give_them(tmp_path: Path) -> None:
    grown, fresh = Watched(tmp_path / "grown"), Watched(tmp_path / "fresh")
    grown.write(**{f"{name}.md": text(name) for name in DOCUMENTS})
    grown.build()
    grown.write(**{f"{CHANGED}.md": text(CHANGED).replace("Jupiter", "Saturn")})
    assert grown.build().changed == 1
    (grown.documents / f"{REMOVED}.md").unlink()
    assert grown.build().removed == 1
    grown.write(**{f"{ADDED}.md": text(ADDED)})
    assert grown.build().added == 1
    fresh.write(**{file.name: file.read_text(encoding="utf-8") for file in grown.documents.iterdir()})
    fresh.build()
    with grown.open() as one, fresh.open() as other:
        assert units(one.store) == units(other.store)
        assert len(units(one.store)) > len(DOCUMENTS)
        kept, made = items(one.store), items(other.store)
        assert kept.keys() == made.keys()
        assert len(kept) > 50
        for name, item in kept.items():
            twin = made[name]
            assert (item.question, item.answer, item.kind, item.answer_type, item.anchors, item.support) == (
                (twin.question, twin.answer, twin.kind, twin.answer_type, twin.anchors, twin.support)
            )
            assert item.embedding == pytest.approx(twin.embedding, abs=1e-4)
        for store in (one.store, other.store):  # no unit is lost, and nothing of what went is left
            for granularity in ("paragraph", "sentence"):
                held = {unit for edge in store.hyperedges(granularity) for unit in edge.members}
                assert held == set(store.units(granularity).ids)
