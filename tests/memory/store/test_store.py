"""What a store keeps, gives back, refuses and lets go."""

import itertools
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import FedragError, NotFoundError, SettingError, StoreError, StoreMismatchError
from fedrag_flwr.hypergraph.base import content_id
from fedrag_flwr.memory.fusion.shared import FusedStore
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change, Contribution, Counts
from fedrag_flwr.memory.store.database import FILE
from fedrag_flwr.memory.store.imports import SHARED_VERSION
from fedrag_flwr.memory.store.writer import LONGEST_JUMP
from fedrag_flwr.records import MemoryItem, Vector
from tests.memory.store.samples import (
    DIMENSION,
    IDENTITY,
    delta,
    hyperedge,
    memory,
    new_document,
    open_store,
    plain_edge,
    plain_held,
    plain_item,
    rejected,
    snapshot,
    two_documents,
    unit_vector,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path / "device") as opened:
        yield opened


def test_what_goes_in_comes_back(store: MemoryStore) -> None:
    change = two_documents()
    assert store.apply(change) == store.version == 1
    first = change.documents[0]
    assert store.document("d1") == first.document
    assert store.digests() == {new.document.id: new.document.digest for new in change.documents}
    assert store.passages() == [passage for new in change.documents for passage in new.passages]
    assert store.sentences(["d1/1/0", "d1/0/1"]) == [first.passages[1].sentences[0], first.passages[0].sentences[1]]
    assert store.passages(["d2/1", "d1/0"]) == [change.documents[1].passages[1], first.passages[0]]
    units = store.units("sentence")
    assert units.vectors.dtype == np.float32
    assert units.vectors.flags.c_contiguous
    np.testing.assert_array_equal(units.vectors[units.ids.index("d1/1/0")], first.sentence_vectors[2])
    some = store.units("sentence", ["d1/1/0", "d1/0", "gone", "d1/0/1"])  # one is a paragraph
    assert some.ids == ("d1/0/1", "d1/1/0")
    np.testing.assert_array_equal(some.vectors, units.vectors[[units.ids.index(name) for name in some.ids]])
    assert store.units("paragraph", []).vectors.shape == (0, DIMENSION)
    assert change.hyperedges is not None
    assert [plain_edge(edge) for edge in store.hyperedges()] == [plain_edge(edge) for edge in change.hyperedges]
    assert [edge.id for edge in store.hyperedges("paragraph")] == ["p1"]
    assert [edge.id for edge in store.hyperedges("sentence", ids=["p1", "h2", "gone"])] == ["h2"]
    assert plain_edge(store.hyperedge("h2")) == plain_edge(change.hyperedges[1])
    assert plain_item(store.item("m12")) == plain_item(replace(change.items[2], hyperedges=("h1",)))
    assert store.counts() == Counts(documents=2, passages=4, sentences=8, hyperedges=3, items=3, imported=0)
    assert store.documents_without_memories() == []
    store.verify()


def test_it_is_the_same_after_opening_again(tmp_path: Path) -> None:
    with open_store(tmp_path / "device") as store:
        store.apply(two_documents())
        before = snapshot(store)
    with open_store(tmp_path / "device") as store:
        assert snapshot(store) == before
        assert store.version == 1


def test_an_empty_store_answers_everything(store: MemoryStore) -> None:
    assert store.version == 0
    assert store.units("sentence").vectors.shape == (0, DIMENSION)
    assert (store.passages(), store.items(), store.hyperedges(), store.retracted_since(0)) == ([], [], [], [])
    assert store.hyperedges_of(["x"]) == {"x": []}
    assert len(store.index("sentence")) == 0
    assert store.index("sentence").search(np.zeros(DIMENSION, dtype=np.float32), 3)[1] == [[]]
    assert store.apply(Change()) == 0


def test_removing_a_document_takes_exactly_its_contribution(store: MemoryStore) -> None:
    store.apply(two_documents())
    assert store.contribution("d1") == Contribution(
        passages=("d1/0", "d1/1"),
        sentences=("d1/0/0", "d1/0/1", "d1/1/0", "d1/1/1"),
        hyperedges=("h1", "h2", "p1"),
        items=("m1", "m12"),
    )
    store.apply(Change(removed=("d1",)))
    assert [item.id for item in store.items()] == ["m2"]
    assert store.retracted_since(1) == ["m1", "m12"]
    assert store.retracted_since(2) == []
    rest, paragraphs = content_id("sentence", ["d2/0/0"]), content_id("paragraph", ["d2/1"])
    assert {edge.id: edge.members for edge in store.hyperedges()} == {rest: ("d2/0/0",), paragraphs: ("d2/1",)}
    kept = store.units("sentence")
    np.testing.assert_allclose(
        store.hyperedge(rest).prototype, kept.vectors[kept.ids.index("d2/0/0")], atol=1e-6
    )  # nothing of d1 stays in the mean
    assert store.counts() == Counts(documents=1, passages=2, sentences=4, hyperedges=2, items=1, imported=0)


def test_what_is_left_of_a_hyperedge_has_the_id_of_what_it_holds(store: MemoryStore) -> None:
    edges = (
        hyperedge("torn", ["d1/0/0", "d2/0/0", "d2/0/1"]),
        hyperedge("the same then", ["d1/1/0", "d2/0/0", "d2/0/1"]),
        hyperedge("gone", ["d1/0/0", "d1/0/1"]),
        hyperedge("whole", ["d2/1/0"]),
    )
    store.apply(replace(two_documents(), hyperedges=edges))
    handed_out = store.opaque("own", [edge.id for edge in edges])
    version = store.apply(Change(removed=("d1",)))
    left = content_id("sentence", ["d2/0/0", "d2/0/1"])
    assert {edge.id: edge.members for edge in store.hyperedges()} == {left: ("d2/0/0", "d2/0/1"), "whole": ("d2/1/0",)}
    found = {name: store.resolve_opaque([hidden])[hidden][1] for name, hidden in handed_out.items()}
    assert found == {"torn": left, "the same then": left, "gone": "gone", "whole": "whole"}
    assert store.hyperedges_of(["d2/0/0"]) == {"d2/0/0": [left]}
    assert [(item.id, item.hyperedges) for item in store.items(since=version - 1)] == [("m2", (left,))]
    store.verify()
    store.apply(Change(documents=(new_document("d1"),), hyperedges=edges))  # as learnt again with the same sentences
    found = {name: store.resolve_opaque([hidden])[hidden][1] for name, hidden in handed_out.items()}
    assert found == {edge.id: edge.id for edge in edges}


def test_what_was_left_twice_is_found(store: MemoryStore) -> None:
    change = replace(two_documents(), hyperedges=(hyperedge("torn", ["d1/0/0", "d2/0/0", "d2/0/1", "d3/0/0"]),))
    store.apply(replace(change, documents=(*change.documents, new_document("d3"))))
    [hidden] = store.opaque("own", ["torn"]).values()
    store.apply(Change(removed=("d1",)))
    store.apply(Change(removed=("d3",)))
    left = content_id("sentence", ["d2/0/0", "d2/0/1"])
    assert store.resolve_opaque([hidden, "mended torn"]) == {hidden: ("own", left)}


@pytest.mark.parametrize(
    ("learnt", "removed", "leads_to"),
    [
        ({"gained": ("d1/0/0", "d1/0/1", "d2/0/0", "d2/0/1"), "other": ("d1/0/0", "d1/1/0")}, (), "gained"),
        ({"lost": ("d1/0/0", "d1/0/1"), "other": ("d2/0/0",)}, (), "lost"),
        ({"lost": ("d1/0/0", "d1/0/1", "d1/1/0")}, ("d2",), "lost"),
        ({"a": ("d1/0/0",), "b": ("d1/0/1", "d2/0/0")}, (), "b"),
        ({"b": ("d2/0/0",), "a": ("d1/0/0",)}, (), "a"),
        ({"paragraph": ("d1/0",), "other": ("d1/1/0",)}, (), "before"),
        ({}, ("d1", "d2"), "before"),
        ({"before": ("d1/0/0", "d1/0/1", "d2/0/0"), "more": ("d1/0/0", "d1/0/1", "d2/0/0", "d2/0/1")}, (), "before"),
    ],
)
def test_a_hyperedge_that_others_hold_leads_to_the_one_that_took_its_place(
    learnt: dict[str, tuple[str, ...]], removed: tuple[str, ...], leads_to: str, store: MemoryStore
) -> None:
    before = hyperedge("before", ["d1/0/0", "d1/0/1", "d2/0/0"])
    store.apply(replace(two_documents(), hyperedges=(before,)))
    [hidden] = store.opaque("own", ["before"]).values()
    edges = tuple(hyperedge(name, members) for name, members in learnt.items())
    store.apply(Change(removed=removed, hyperedges=edges))
    assert store.resolve_opaque([hidden]) == {hidden: ("own", leads_to)}
    store.verify()


def test_hyperedges_that_took_each_others_place_lead_in_no_circle(store: MemoryStore) -> None:
    one, other = (hyperedge(name, ["d1/0/0", unit]) for name, unit in (("one", "d1/0/1"), ("other", "d2/0/0")))
    store.apply(replace(two_documents(), hyperedges=(one,)))
    hidden = store.opaque("own", ["one", "other"])
    for edge in (other, one, other, one):
        store.apply(Change(hyperedges=(edge,)))
        assert store.resolve_opaque(hidden.values()) == dict.fromkeys(hidden.values(), ("own", edge.id))
    store.apply(Change(hyperedges=()))
    found = store.resolve_opaque(hidden.values())
    assert {name for _, name in found.values()} <= {"one", "other"}


def test_no_id_is_kept_of_a_document_that_is_gone(store: MemoryStore, tmp_path: Path) -> None:
    store.apply(two_documents())
    hidden = store.opaque("own", ["d1", "d1/0/0", "d2", "d2/0/0"])
    store.apply(Change(documents=(new_document("d2"),)))  # another version of it
    store.apply(Change(removed=("d1",)))
    assert set(store.resolve_opaque(hidden.values())) == {hidden["d2"], hidden["d2/0/0"]}


def test_documents_on_which_no_memory_rests_are_known(store: MemoryStore) -> None:
    change = two_documents()
    store.apply(change)
    assert store.barren_documents() == []
    store.apply(Change(documents=(new_document("d3"), new_document("d4")), remembered=("d3",)))
    assert store.barren_documents() == ["d3"]  # the memories of d4 are not made yet
    store.apply(Change(items=(memory("m3", ["d3/0/1"]),), remembered=("d4",)))
    assert store.barren_documents() == ["d4"]
    store.apply(Change(items=(memory("m34", ["d3/0/0", "d4/0/0"]),)))
    assert store.barren_documents() == []
    store.apply(Change(removed=("d3",)))
    assert store.barren_documents() == ["d4"]  # what it had went with the other document


def test_removed_text_leaves_the_files(tmp_path: Path) -> None:
    with open_store(tmp_path / "device") as store:
        new = new_document("d1")
        secret = replace(new, document=replace(new.document, title="Zanzibar"))
        held = replace(rejected("h", ["d1/0/0"]), question="Where is Zanzibar?")
        store.apply(Change(documents=(secret, new_document("d2")), held=(held,)))
        store.index("sentence")
        vector = new.sentence_vectors[0].tobytes()
        assert any(b"Zanzibar" in file.read_bytes() for file in (tmp_path / "device").iterdir())
        store.apply(Change(removed=("d1",)))
        for file in (tmp_path / "device").iterdir():
            assert b"Zanzibar" not in file.read_bytes()
            assert vector not in file.read_bytes()


def test_what_is_rejected_goes_with_any_of_its_documents_or_on_its_own(store: MemoryStore) -> None:
    held = [rejected("h1", ["d1/0/0"]), rejected("h12", ["d2/0/0", "d1/1/0"]), rejected("h2", ["d2/0/1"])]
    store.apply(replace(two_documents(), held=tuple(held)))
    assert [plain_held(one) for one in store.rejected()] == [plain_held(one) for one in held]
    assert store.counts().items == 3  # none of them is a memory
    store.apply(Change(removed=("d1",)))
    assert [one.id for one in store.rejected()] == ["h2"]
    store.apply(Change(withdrawn=("h2", "m2"), items=(memory("h2", ["d2/0/1"]),), held=(rejected("m2", ["d2/0/0"]),)))
    assert ([one.id for one in store.items()], [one.id for one in store.rejected()]) == (["h2"], ["m2"])
    assert "m2" in store.retracted_since(0)
    with pytest.raises(StoreError, match="rejected too"):
        store.apply(Change(held=(rejected("h2", ["d2/0/0"]),)))
    assert [one.id for one in store.rejected()] == ["m2"]


def test_a_store_knows_whether_its_memories_were_judged_and_which_the_model_wrote(store: MemoryStore) -> None:
    store.apply(replace(two_documents(), judged=True, by_model=("m12",)))
    assert store.judged()
    assert store.written_by_model() == {"m12"}
    version = store.version
    store.apply(Change(removed=("d9",)))  # nothing went
    assert (store.judged(), store.version) == (True, version)
    store.apply(Change(removed=("d1",)))
    assert not store.judged()
    store.apply(Change(judged=True))
    assert store.judged()
    assert not store.written_by_model()


def test_replacing_a_document_retracts_its_memories(store: MemoryStore) -> None:
    store.apply(two_documents())
    changed = new_document("d1", edition=1)
    store.apply(Change(documents=(changed,), items=(memory("m1", ["d1/0/1"]), memory("m3", ["d1/1/1"]))))
    assert [item.id for item in store.items()] == ["m1", "m2", "m3"]
    assert store.retracted_since(0) == ["m12"]  # m1 came back
    assert store.documents_without_memories() == ["d1"]
    assert [item.id for item in store.items(since=1)] == ["m1", "m2", "m3"]  # the hyperedge of m2 lost a member
    np.testing.assert_array_equal(store.index("sentence").search(changed.sentence_vectors[0], 1)[1], [["d1/0/0"]])


def test_regrouping_alone_makes_memories_new_only_where_their_hyperedges_change(store: MemoryStore) -> None:
    change = two_documents()
    store.apply(change)
    assert change.hyperedges is not None
    assert store.apply(Change(hyperedges=change.hyperedges)) == 1  # nothing differs
    regrouped = (*change.hyperedges[1:], hyperedge("h3", ["d2/0/0", "d2/1/1"]))
    assert store.apply(Change(hyperedges=regrouped)) == 2
    assert [(item.id, item.hyperedges) for item in store.items(since=1)] == [("m12", ()), ("m2", ("h3",))]
    assert store.item("m1").hyperedges == ("h2",)
    assert store.hyperedges_of(["d2/0/0", "d1/0/0", "d1/0"]) == {"d2/0/0": ["h3"], "d1/0/0": [], "d1/0": ["p1"]}


def test_equal_items_and_marks_change_nothing(store: MemoryStore) -> None:
    change = two_documents()
    store.apply(change)
    assert store.apply(Change(items=change.items, remembered=("d1",), removed=("unknown",))) == 1
    assert store.apply(Change(items=(replace(change.items[0], answer="Another."),))) == 2
    assert [item.id for item in store.items(since=1)] == ["m1"]
    assert store.retracted_since(0) == []


def _vector_of(length: int) -> Vector:
    return np.ones(length, dtype=np.float32) / np.float32(np.sqrt(length))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (Change(items=(memory("x", ["nowhere"]),)), NotFoundError),
        (Change(items=(memory("x", []),)), StoreError),
        (Change(held=(rejected("x", ["nowhere"]),)), NotFoundError),
        (Change(held=(rejected("x", []),)), StoreError),
        (Change(items=(memory("x", ["d1/0/0"], origin="b"),)), StoreError),
        (Change(items=(replace(memory("x", ["d1/0/0"]), embedding=_vector_of(3)),)), StoreMismatchError),
        (Change(items=(replace(memory("x", ["d1/0/0"]), embedding=_vector_of(8) * np.nan),)), StoreError),
        (Change(items=(replace(memory("x", ["d1/0/0"]), answer="\ud800"),)), StoreError),
        (Change(hyperedges=(hyperedge("h", ["nowhere"]),)), NotFoundError),
        (Change(hyperedges=(hyperedge("h", ["d1/0/0"]), hyperedge("h", ["d1/0/1"]))), StoreError),
        (Change(hyperedges=(hyperedge("h", ["d1/0/0"], [0.5, 0.5]),)), StoreError),
        (Change(hyperedges=(hyperedge("h", ["d1/0/0"], [float("nan")]),)), StoreError),
        (Change(remembered=("nowhere",)), NotFoundError),
        (Change(documents=(new_document("d3"), new_document("d3"))), StoreError),
        (Change(documents=(new_document("d3", dimension=4),)), StoreMismatchError),
        (Change(documents=(replace(new_document("d3"), sentence_vectors=_vector_of(8)[None]),)), StoreMismatchError),
        (Change(documents=(replace(new_document("d3"), passages=new_document("d4").passages),)), StoreError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_change_that_does_not_fit_leaves_nothing(store: MemoryStore, change: Change, kind: type[FedragError]) -> None:
    store.apply(two_documents())
    before = snapshot(store)
    with pytest.raises(kind) as caught:
        store.apply(replace(change, removed=("d2",), documents=(new_document("d9"), *change.documents)))
    assert "Sentence" not in str(caught.value)
    assert (snapshot(store), store.version) == (before, 1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.document("x"),
        lambda store: store.passages(["d1/0", "x"]),
        lambda store: store.passages(["d1/0/0"]),
        lambda store: store.sentences(["x"]),
        lambda store: store.hyperedge("x"),
        lambda store: store.item("x"),
        lambda store: store.contribution("x"),
    ],
)
def test_an_unknown_id_is_named(store: MemoryStore, ask: object) -> None:
    store.apply(two_documents())
    assert callable(ask)
    with pytest.raises(NotFoundError, match="no such"):
        ask(store)


def test_imported_memories_keep_their_origin_and_hyperedges(store: MemoryStore) -> None:
    store.apply(two_documents())
    foreign = memory("f1", origin="b", hyperedges=("o1", "o2"))
    report = store.import_delta(delta(foreign, version=7))
    assert (report.device, report.accepted, report.retracted, report.refused, report.version) == ("a", 1, 0, (), 2)
    assert plain_item(store.item("f1")) == plain_item(foreign)
    assert [item.id for item in store.items("b")] == ["f1"]
    assert [item.id for item in store.items("a")] == ["m1", "m12", "m2"]
    assert store.meta(SHARED_VERSION) == "7"
    assert store.counts().imported == 1
    store.apply(Change(removed=("d1", "d2"), hyperedges=()))
    assert [item.id for item in store.items()] == ["f1"]


def test_an_import_replaces_and_retracts_foreign_memories_only(store: MemoryStore) -> None:
    store.apply(two_documents())
    store.import_delta(delta(memory("f1", origin="b"), memory("f2", origin="b")))
    report = store.import_delta(delta(memory("f1", origin="b", edition=1), retracted=("f2", "m1"), version=2))
    assert (report.accepted, report.retracted) == (1, 1)
    assert [item.id for item in store.items()] == ["f1", "m1", "m12", "m2"]
    assert store.item("f1").question.endswith("edition 1?")
    assert store.retracted_since(0) == []


@pytest.mark.parametrize(("kind", "told"), [(MemoryStore, []), (FusedStore, ["f2"])])
def test_what_others_withdraw_is_told_from_there_on(kind: type[MemoryStore], told: list[str], tmp_path: Path) -> None:
    with kind.open(tmp_path / "others", IDENTITY) as store:
        store.import_delta(delta(memory("f1", origin="b"), memory("f2", origin="b")))
        version = store.import_delta(delta(retracted=("f2",), version=2)).version
        assert (store.retracted_since(version - 1, own=False), store.version) == (told, version)
        assert [item.id for item in store.items()] == ["f1"]


def test_what_went_later_than_a_version_is_found_without_reading_all_that_ever_went(store: MemoryStore) -> None:
    store.apply(two_documents())
    store.apply(Change(withdrawn=("m1",)))
    version = store.version
    assert store.apply(Change()) == version
    store.apply(Change(withdrawn=("m2",)))
    assert store.retracted_since(version) == ["m2"]
    with store.database.reading() as connection:
        query = "EXPLAIN QUERY PLAN SELECT id FROM retractions WHERE version > ? AND own = ? ORDER BY id"
        assert "retractions_by_version" in connection.execute(query, (version, True)).fetchone()[-1]


def _with_vector(vector: Vector) -> MemoryItem:
    return replace(memory("f", origin="b"), embedding=vector)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (memory("f", origin="a"), "own-origin"),
        (_with_vector(_vector_of(7)), "dimension"),
        (_with_vector(np.ones((1, 8), dtype=np.float32)), "dimension"),
        (_with_vector(_vector_of(8) * np.float32(np.nan)), "not-finite"),
        (_with_vector(_vector_of(8) * np.float32(np.inf)), "not-finite"),
        (_with_vector(_vector_of(8) * np.float32(1.5)), "norm"),
        (_with_vector(_vector_of(8) * np.float32(0.0)), "norm"),
        (replace(memory("f", origin="b"), question=" "), "empty"),
        (replace(memory("f", origin="b"), answer=""), "empty"),
        (replace(memory("f", origin=""), answer="x"), "empty"),
        (memory("m1", origin="b"), "id-taken"),
        (memory("f0", origin="c"), "id-taken"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_memory_is_refused_and_counted(store: MemoryStore, item: MemoryItem, reason: str) -> None:
    store.apply(two_documents())
    store.import_delta(delta(memory("f0", origin="b")))
    before = [plain_item(held) for held in store.items()]
    report = store.import_delta(delta(item, item, memory("f0", origin="b")))
    assert (report.accepted, report.refused) == (1, (f"{reason}=2",))
    assert [plain_item(held) for held in store.items()] == before


def test_float16_travel_is_not_refused(store: MemoryStore) -> None:
    travelled = unit_vector("travel").astype(np.float16).astype(np.float32)
    assert store.import_delta(delta(_with_vector(travelled))).refused == ()


def test_foreign_memories_are_bounded(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "device", IDENTITY, foreign_limit=2) as store:
        store.import_delta(delta(memory("f1", origin="b")))
        report = store.import_delta(delta(*(memory(f"f{n}", origin="b") for n in range(4)), version=2))
        assert (report.accepted, report.refused) == (2, ("full=2",))
        assert [item.id for item in store.items()] == ["f0", "f1"]


def test_an_own_memory_takes_its_id_back(store: MemoryStore) -> None:
    store.import_delta(delta(memory("m1", origin="b")))
    store.apply(two_documents())
    assert store.item("m1").origin == "a"


@pytest.mark.parametrize("key", ["device", "dimension", "encoder"])
def test_another_identity_is_refused_by_name(tmp_path: Path, key: str) -> None:
    open_store(tmp_path / "device").close()
    with pytest.raises(StoreMismatchError, match=f"{key} = '{IDENTITY[key]}', now it is '9'.*--rebuild"):
        open_store(tmp_path / "device", **{key: "9"})


def test_new_identity_keys_are_recorded(tmp_path: Path) -> None:
    open_store(tmp_path / "device").close()
    with open_store(tmp_path / "device", pipeline="one") as store:
        assert store.identity == IDENTITY | {"pipeline": "one"}
    with MemoryStore.open(tmp_path / "device", {}) as store:
        assert store.identity["pipeline"] == "one"
    with pytest.raises(StoreMismatchError):
        open_store(tmp_path / "device", pipeline="two")


@pytest.mark.parametrize("identity", [{}, {"device": "a"}, {"device": "a", "dimension": "many"}, {"dimension": "3"}])
def test_an_identity_without_device_or_dimension_is_refused(tmp_path: Path, identity: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        MemoryStore.open(tmp_path / "device", identity)
    assert not (tmp_path / "device" / FILE).exists()


def test_no_store_is_made_unasked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        MemoryStore.open(tmp_path / "device", IDENTITY, create=False)
    assert not (tmp_path / "device").exists()


def test_opaque_ids_hide_and_resolve(tmp_path: Path) -> None:
    with open_store(tmp_path / "one") as store, open_store(tmp_path / "two") as other:
        hidden = store.opaque("hyperedge", ["h1", "h2"])
        assert set(hidden) == {"h1", "h2"}
        assert all(len(name) == 32 and int(name, 16) >= 0 for name in hidden.values())
        assert store.opaque("item", ["h1"])["h1"] != hidden["h1"] != other.opaque("hyperedge", ["h1"])["h1"]
        assert store.resolve_opaque([hidden["h1"], "forged"]) == {hidden["h1"]: ("hyperedge", "h1")}
        assert other.resolve_opaque([hidden["h2"]]) == {}
    with open_store(tmp_path / "one") as store:
        assert store.opaque("hyperedge", ["h2", "h1"]) == hidden
        assert store.version == 0


def test_only_this_user_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with open_store(tmp_path / "new" / "device") as store:
            store.apply(two_documents())
            store.index("paragraph")
            assert stat.S_IMODE((tmp_path / "new" / "device").stat().st_mode) == 0o700
            for file in (tmp_path / "new" / "device").iterdir():
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    finally:
        os.umask(before)


def test_erase_takes_the_store_and_nothing_else(tmp_path: Path) -> None:
    with open_store(tmp_path / "device") as store:
        store.apply(two_documents())
        store.index("paragraph")
        hidden = store.opaque("item", ["m1"])
    (tmp_path / "device" / "notes.txt").write_text("mine")
    MemoryStore.erase(tmp_path / "device")
    MemoryStore.erase(tmp_path / "nowhere")
    assert {file.name for file in (tmp_path / "device").iterdir()} == {"notes.txt", "write.lock"}
    with open_store(tmp_path / "device", encoder="another") as store:
        assert store.version == 0
        assert store.opaque("item", ["m1"]) != hidden


def test_threads_read_while_one_writes(store: MemoryStore) -> None:
    store.apply(two_documents())
    failures: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                assert len(store.items()) >= 3
                assert len(store.index("sentence")) % 4 == 0
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(10):
        store.apply(Change(documents=(new_document(f"t{number}"),)))
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert store.version == 11


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path / "device")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.counts()


def come(store: MemoryStore, name: str) -> int:
    """A document comes, and others are told of the version."""
    version = store.apply(Change(documents=(new_document(name),)))
    store.give_version(version)
    return version


def test_only_versions_that_were_given_count_as_known(tmp_path: Path) -> None:
    with open_store(tmp_path / "device") as store:
        given = come(store, "d1")
        kept = store.apply(Change(documents=(new_document("d2"),)))
        assert [store.gave_version(version) for version in (0, given, kept, kept + 1)] == [False, True, False, False]
    with open_store(tmp_path / "device") as store:
        assert store.gave_version(given)


def test_a_store_that_is_put_back_does_not_know_what_it_gave_since(tmp_path: Path) -> None:
    device, backup = tmp_path / "device", tmp_path / "backup"
    with open_store(device) as store:
        first = come(store, "d1")
    shutil.copytree(device, backup)
    with open_store(device) as store:
        lost = come(store, "d2")
    shutil.rmtree(device)
    backup.rename(device)
    with open_store(device) as store:
        assert store.apply(Change(documents=(new_document("d3"),))) == lost  # here steps are of one
        assert (store.gave_version(first), store.gave_version(lost)) == (True, False)


def test_versions_jump_so_that_two_histories_do_not_meet(tmp_path: Path) -> None:
    histories = []
    for number in range(2):
        with MemoryStore.open(tmp_path / str(number), IDENTITY) as store:
            versions = [0, *(come(store, f"d{row}") for row in range(8))]
        assert all(0 < after - before <= LONGEST_JUMP for before, after in itertools.pairwise(versions))
        histories.append(set(versions[1:]))
    assert not histories[0] & histories[1]
