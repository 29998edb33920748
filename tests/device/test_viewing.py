"""What people see of a store: found by words, counted rightly, and traced to where it stands."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fedrag_flwr.device.views import view_document, view_hyperedge, view_memories, view_memory
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.hypergraph.rows import cosine
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.search import find_items, items_on, origins
from tests.memory.store.samples import delta, memory, open_store, two_documents


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    with open_store(tmp_path_factory.mktemp("views") / "store") as store:
        store.apply(two_documents())
        far = [memory("far_1", origin="b", hyperedges=["x"]), memory("far%2", origin="c")]
        store.import_delta(delta(*far, replace(memory("ward", origin="d"), question="Which Ärzte are on ward 7?")))
        yield store


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", ["m1", "m2", "m12", "far_1", "far%2", "ward"]),
        ("WARD ärzte", ["ward"]),
        ("ÄRZTE", ["ward"]),
        ("M12", ["m12"]),
        ("m1", ["m1", "m12"]),
        ("edition 0 m2", ["m2"]),
        ("far_", ["far_1"]),  # a word is no pattern
        ("far%", ["far%2"]),
        ("m1 far", []),
        ("'; DROP TABLE items; --", []),
        ("\\", []),
    ],
)
def test_memories_are_found_by_all_their_words(store: MemoryStore, words: str, found: list[str]) -> None:
    total, items = find_items(store, words, 0, 10)
    assert [item.id for item in items] == found
    assert total == len(found)


def test_pages_of_memories_go_on_where_the_last_one_ended(store: MemoryStore) -> None:
    pages = [view_memories(store, "", offset, 2) for offset in range(0, 7, 2)]
    assert [line.id for page in pages for line in page.memories] == ["m1", "m2", "m12", "far_1", "far%2", "ward"]
    assert {page.total for page in pages} == {6}
    assert [line.own for page in pages for line in page.memories] == [True, True, True, False, False, False]


def test_origins_are_counted(store: MemoryStore) -> None:
    assert origins(store) == {"a": 3, "b": 1, "c": 1, "d": 1}


def test_a_memory_shows_its_sentences_where_it_was_made_here(store: MemoryStore) -> None:
    own = view_memory(store, "m12")
    assert [(unit.id, unit.passage, unit.document, unit.title) for unit in own.support] == [
        ("d1/0/0", "d1/0", "d1", "Title of d1"),
        ("d2/0/1", "d2/0", "d2", "Title of d2"),
    ]
    assert own.hyperedges == ("h1",)
    assert own.memory.sources == 2
    far = view_memory(store, "far_1")
    assert (far.support, far.hyperedges, far.memory.origin, far.memory.own) == ((), ("x",), "b", False)


def test_a_hyperedge_shows_members_by_weight_memories_and_what_lies_beside_it(store: MemoryStore) -> None:
    view = view_hyperedge(store, "h1")
    assert [(unit.id, unit.weight, unit.text) for unit in view.members] == [
        ("d1/0/0", 0.75, "Sentence 0 of d1/0, edition 0."),
        ("d2/0/0", 0.5, "Sentence 0 of d2/0, edition 0."),
    ]
    assert [line.id for line in view.memories] == ["m12", "m2"] == items_on(store, "h1")
    [beside] = view.beside  # p1 links passages, not sentences
    expected = cosine(store.hyperedge("h1").prototype, store.hyperedge("h2").prototype)
    assert (beside.id, beside.text) == ("h2", "Sentence 0 of d1/1, edition 0.")
    assert beside.nearness == pytest.approx(expected)


def test_a_hyperedge_of_passages_shows_passages(store: MemoryStore) -> None:
    view = view_hyperedge(store, "p1")
    assert (view.granularity, view.memories, view.beside) == ("paragraph", (), ())
    assert [(unit.id, unit.passage, unit.document) for unit in view.members] == [
        ("d1/0", "d1/0", "d1"),
        ("d2/1", "d2/1", "d2"),
    ]


def test_a_document_shows_what_it_brought(store: MemoryStore) -> None:
    view = view_document(store, "d1")
    assert [unit.id for unit in view.passages] == ["d1/0", "d1/1"]
    assert (view.title, view.sentences, view.hyperedges) == ("Title of d1", 4, ("h1", "h2", "p1"))
    assert [line.id for line in view.memories] == ["m1", "m12"]


@pytest.mark.parametrize("view", [view_memory, view_hyperedge, view_document])
def test_what_is_not_there_is_said(store: MemoryStore, view: object) -> None:
    assert callable(view)
    with pytest.raises(NotFoundError):
        view(store, "none")
