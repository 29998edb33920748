"""After a change, what nobody touched is what a build from nothing would make."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from fedrag_flwr.demo import CORPUS
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import MemoryItem
from tests.device.test_building import Watched

DOCUMENTS = ("ceres", "dimorphos", "enceladus", "europa", "halleys-comet", "mercury", "titan", "vesta")
CHANGED, REMOVED, ADDED = "europa", "titan", "triton"


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
        assert len(kept) > len(DOCUMENTS)
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


PLACES = ("Linwick", "Port Ferren", "Tarn Bridge", "the Salt Archive")
PEOPLE = ("Anna Berg", "Tomas Hale", "Odile Varro", "Jonas Keel")
LIKENESSES = (
    "{place} was founded in {year} by {person}.",
    "The town council of {place} met in {year}, when {person} led it.",
    "{person} founded {place} in {year}.",
    "{place} was opened in {year}. It was designed by {person}.",
    "{place} has two bridges, Old Gate and Mill Gate.",
    "{place} has three bridges.",
    "{person}, a painter, moved to {place} in {year} and died there.",
)


def likeness(rng: random.Random) -> str:
    """A document that says much the same as others of its kind, or the contrary."""
    said = {"place": PLACES, "person": PEOPLE, "year": ("1888", "1901", "1924")}
    lines = [form.format(**{name: rng.choice(values) for name, values in said.items()}) for form in LIKENESSES]
    return f"# {rng.choice(PLACES)}\n\n{' '.join(rng.sample(lines, rng.randint(1, 3)))}\n"


def all_that_stands(store: MemoryStore) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """The memories, and what is rejected, with all that a reader can see of them."""
    kept = {i.id: (i.question, i.answer, i.kind, i.answer_type, i.anchors, i.support) for i in store.items()}
    held = {h.id: (h.question, h.answer, h.kind, h.answer_type, h.support) for h in store.rejected()}
    return kept, held


@pytest.mark.parametrize("seed", range(3))
def test_in_whatever_order_documents_come_and_go_the_memories_are_a_fresh_build_s(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    grown = Watched(tmp_path / "grown")
    names = [f"d{number}.md" for number in range(7)]
    grown.write(**{name: likeness(rng) for name in names[:4]})
    grown.build()
    turned = 0
    for step in range(5):
        before = items_of(grown)
        for name in rng.sample(names, rng.randint(1, 2)):
            file = grown.documents / name
            if file.exists() and rng.random() < 0.4 and len(list(grown.documents.iterdir())) > 2:
                file.unlink()
            else:
                file.write_text(likeness(rng), encoding="utf-8")
        grown.build(memories=step % 3 != 1)  # a build without memories leaves what it changed to the next
        if step % 3 == 1:
            grown.build()
        fresh = Watched(tmp_path / f"fresh{step}")
        fresh.write(**{file.name: file.read_text(encoding="utf-8") for file in grown.documents.iterdir()})
        fresh.build()
        with grown.open() as one, fresh.open() as other:
            assert all_that_stands(one.store) == all_that_stands(other.store)
            assert one.store.judged()
        after = items_of(grown)
        turned += sum(before[name] != after[name] for name in before.keys() & after.keys())
    assert turned  # some documents that did not change have other memories, for others changed


def items_of(device: Watched) -> dict[tuple[str, str], set[str]]:
    """The ids of the memories of each document as it is, by name and text."""
    with device.open() as opened:
        return {
            (name, opened.store.document(name).digest): set(opened.store.contribution(name).items)
            for name in opened.store.digests()
        }
