"""What one device shares moves neither what others share nor what the shared memory makes of it."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.memory.fusion.merge import FUSION, FusionRules, is_as_worded, owners, references
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.memory.store.change import shared_id
from fedrag_flwr.records import Match, MemoryItem
from fedrag_flwr.text.asking import item_anchors
from tests.memory.fusion.test_incremental_merge import delta, open_shared
from tests.memory.fusion.test_merge import turned
from tests.memory.fusion.test_shared import DIMENSION, item, kept, many, upload
from tests.memory.store.samples import plain_item, unit_vector
from tests.strategies.federation import small_models

LIMIT = "fedrag_flwr.memory.fusion.shared.MOST_RECEIVED"
PLUMES = ("Which spacecraft found plumes on Enceladus?", "Cassini")
ROCKET = ("Which rocket launched Cassini?", "Titan IV")


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedMemory]:
    opened = open_shared(tmp_path / "shared")
    yield opened
    opened.close()


def made_by(shared: SharedMemory) -> list[MemoryItem]:
    return [one for one in shared.items() if one.origin == FUSION]


def fill(shared: SharedMemory) -> None:
    """Let devices share what becomes one merged memory and two of one device each."""
    shared.take(delta("a", 0, [PLUMES]))
    shared.take(delta("b", 0, [ROCKET]))
    shared.take(upload("c", item("1", "c")))
    shared.take(upload("d", item("1", "d")))


@pytest.mark.parametrize("first", [True, False], ids=["before they are made", "after"])
def test_no_device_takes_the_id_of_what_fusion_makes(first: bool, shared: SharedMemory, tmp_path: Path) -> None:
    other = open_shared(tmp_path / "other")  # a device may tell the ids from the parts, as the server does
    fill(other)
    other.fuse()
    before = {one.id: plain_item(one) for one in made_by(other)}
    assert len(before) == 1
    forged = [replace(item("1", "evil"), id=name, answer="Mallory") for name in before]
    other.close()

    for step in (False, True) if first else (True, False):
        if step:
            fill(shared)
            shared.fuse()
        else:
            assert shared.take(upload("evil", *forged)).refused == ()
    shared.take(upload("evil", version=2, since=1, gone=tuple(before)))
    shared.fuse()
    assert {one.id: one.answer for one in made_by(shared)} == {name: one[2] for name, one in before.items()}
    assert not [one for one in shared.items() if one.origin == "evil"]  # it withdrew its own


@pytest.mark.parametrize("lie", ["vector", "anchors"])
def test_no_device_silences_a_memory_by_what_it_sends_along_with_the_same_words(lie: str, shared: SharedMemory) -> None:
    models, said = small_models(), delta("zeta", 0, [PLUMES])
    [vector], [analysis] = models.encoder.encode([PLUMES[0]]), models.pipeline.questions([PLUMES[0]])
    honest = replace(said.items[0], anchors=item_anchors(analysis, said.items[0].answer_type))
    first = next(name for name in map(str, range(99)) if shared_id("evil", name) < shared_id("zeta", honest.id))
    false = replace(honest, id=first, origin="evil")  # which of equal wordings speaks depends on the id
    if lie == "vector":
        false = replace(false, embedding=turned(vector, 0.955))
    else:
        false = replace(false, anchors=("asks:volcano",))
    shared.take(replace(said, items=(honest,)))
    assert shared.take(upload("evil", false)).refused == ()
    shared.fuse()
    [told] = [one for one in shared.delta_for("home", "", 0).items if "zeta" in owners(one)]
    assert is_as_worded(told, vector)
    assert told.anchors == honest.anchors


@pytest.mark.parametrize("anew", [False, True], ids=["while they are withdrawn", "in one that is made anew"])
def test_no_device_occupies_the_ids_of_others(anew: bool, shared: SharedMemory, tmp_path: Path) -> None:
    own = many("zeta", 3)
    told = tuple(one.id for one in own)
    shared.take(upload("zeta", *own))
    shared.fuse()
    seen = [one.id for one in shared.delta_for("alpha", "", 0).items]
    forged = [replace(item(str(n), "alpha"), id=name) for n, name in enumerate([*seen, *told])]
    with closing(open_shared(tmp_path / "anew")) as fresh:
        at = fresh if anew else shared
        at.take(upload("zeta", version=2, since=0 if anew else 1, gone=told))
        assert at.take(upload("alpha", *forged)).refused == ()
        assert at.take(upload("zeta", *own, version=3)).refused == ()
        at.take(upload("alpha", version=2, since=1, gone=tuple(seen)))  # what others hold it takes back from nobody
        at.fuse()
        assert sorted(one.id for one in at.items() if one.origin == "zeta") == sorted(seen) == sorted(kept(*own))


def test_a_device_counts_once_whatever_it_calls_its_hyperedges(shared: SharedMemory) -> None:
    for name in "xyz":
        shared.take(upload(name, item("1", name)))
    shared.take(upload("mistaken", item("1", "mistaken", answer="Bob")))
    loud = replace(item("1", "evil", answer="Bob"), hyperedges=tuple(f"phantom{n}/e" for n in range(16)))
    assert shared.take(upload("evil", loud)).refused == ("hyperedges=1",)
    long = replace(item("2", "evil", answer="Bob"), hyperedges=("e" * 200,))  # no name with its owner's before it
    assert shared.take(upload("evil", long)).refused == ("hyperedges=1",)
    shared._received.import_delta(upload("evil", loud))  # as the server may hold one from before
    shared.fuse()
    assert {(one.answer, owners(one)) for one in shared.items()} == {
        ("Ada", frozenset("xyz")),
        ("Bob", frozenset(("evil", "mistaken"))),
    }
    found = Quorum("home").agreed([Match(one, 1.0, 1.0) for one in shared.items()])
    assert found is not None
    assert found.item.answer == "Ada"


def test_a_hyperedge_is_its_owners_whatever_it_is_called() -> None:
    alone = replace(item("1", "evil"), hyperedges=("phantom/e", "f"))
    assert references(alone) == [("evil", "phantom/e"), ("evil", "f")]
    assert references(replace(alone, origin=FUSION, hyperedges=("a/e", "b/", "c"))) == [
        ("a", "e"),
        ("b", ""),
        ("c", ""),
    ]


@pytest.mark.parametrize("length", [0.991, 1.0, 1.009])
def test_no_device_moves_the_quota_by_the_length_of_its_vectors(length: float, tmp_path: Path) -> None:
    first, near, far = (
        replace(one, embedding=np.float32(length) * turned(unit_vector("bell", DIMENSION), cosine))
        for one, cosine in zip(many("evil", 3), (1.0, 0.955, 0.94), strict=True)
    )
    with closing(open_shared(tmp_path / "one", rules=FusionRules(quota=1))) as shared:
        shared.take(upload("evil", first, near))
        assert shared.fuse().over_quota == 1
    with closing(open_shared(tmp_path / "two", rules=FusionRules(quota=1))) as shared:
        shared.take(upload("evil", first, far))
        assert shared.fuse().over_quota == 0
    with closing(open_shared(tmp_path / "three", rules=FusionRules(near=1.0))) as shared:
        shared.take(upload("evil", first))
        shared.take(upload("a", replace(first, id="a", origin="a")))
        assert shared.fuse().merged == 1


def test_one_device_leaves_room_for_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMIT, 10)
    shared = open_shared(tmp_path / "shared")
    assert shared.take(upload("evil", *many("evil", 12))).refused == ("full=10",)
    assert shared.take(upload("evil", *many("evil", 12), version=2, since=1)).refused == ("full=10",)
    assert shared.take(upload("a", *many("a", 2))).refused == ()
    shared.close()


def test_what_found_no_room_is_asked_for_once_there_is_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMIT, 10)
    shared = open_shared(tmp_path / "shared")
    assert shared.take(upload("a", *many("a", 3))).refused == ("full=1",)
    assert shared.known_of("a").since == 1  # without room it is not asked for in vain
    shared.take(upload("a", version=2, since=1, gone=("a-00",)))
    assert shared.known_of("a").since == 0
    shared.take(upload("a", version=2, since=2))  # a reply to what was asked before is still good
    assert shared.take(upload("a", *many("a", 3)[1:], version=2)).refused == ()
    assert shared.known_of("a").since == 2
    shared.fuse()
    assert [one.id for one in shared.items()] == kept(*many("a", 3)[1:])
    shared.close()
