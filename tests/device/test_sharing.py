"""Taking the shared memory: what is refused leaves a device what it has of it, or comes again once there is room."""

from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.device.shared_memory import OpaqueIds, shared_memory_of, take_shared_memory
from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.records import Cursor, Delta, MemoryItem
from tests.memory.store.samples import new_document, open_store, two_documents

VECTOR = np.array([1, 0, 0, 0], dtype=np.float32)


def item(name: str) -> MemoryItem:
    return MemoryItem(name, "Where does the Ossel rise?", "Mount Cairl", "single", "LOC", (), (), VECTOR, "rivers")


def held(store: MemoryStore) -> tuple[tuple[str, int], list[str]]:
    return shared_memory_of(store), [one.id for one in store.items()]


def test_a_refused_last_page_costs_no_shared_memory(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store", {"device": "here", "dimension": "4"}) as store:
        take_shared_memory(store, Delta("shared-1", 0, 5, (item("a"),), ()))
        with pytest.raises(WireError, match="first ones are not here"):
            take_shared_memory(store, Delta("shared-1", 5, 6, (item("b"),), (), after=Cursor(0, 5, 3)))
        assert held(store) == (("shared-1", 5), ["a"])
        take_shared_memory(store, Delta("shared-1", 5, 6, (item("b"),), ()))
        assert held(store) == (("shared-1", 6), ["a", "b"])


def test_a_page_that_others_follow_changes_no_shared_memory(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store", {"device": "here", "dimension": "4"}) as store:
        take_shared_memory(store, Delta("shared-1", 0, 5, (item("a"),), ()))
        place = Cursor(0, 7, 1)
        take_shared_memory(store, Delta("shared-2", 0, 9, (item("b"),), (), next=place))
        assert held(store) == (("shared-1", 5), ["a"])
        take_shared_memory(store, Delta("shared-2", 0, 9, (item("c"),), (), after=place))
        assert held(store) == (("shared-2", 9), ["b", "c"])


def test_what_found_no_room_comes_again_once_there_is_some(tmp_path: Path) -> None:
    identity = {"device": "here", "dimension": "4"}
    with MemoryStore.open(tmp_path / "store", identity, foreign_limit=1) as store:
        assert take_shared_memory(store, Delta("shared-1", 0, 5, (item("a"), item("b")), ())).refused == ("full=1",)
        assert held(store) == (("shared-1", 5), ["a"])  # without room it is not asked for in vain
    with MemoryStore.open(tmp_path / "store", identity, foreign_limit=2) as store:
        assert shared_memory_of(store) == ("shared-1", 0)
        take_shared_memory(store, Delta("shared-1", 5, 6, (), ("a",)))  # as it was asked for before there was room
        assert shared_memory_of(store) == ("shared-1", 0)
        assert take_shared_memory(store, Delta("shared-1", 0, 6, (item("b"),), ())).refused == ()
        assert held(store) == (("shared-1", 6), ["b"])


@pytest.mark.parametrize("prepared", [True, False])
def test_an_opaque_id_leads_back_also_where_its_document_went_and_came_again(prepared: bool, tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        store.apply(two_documents())
        hide = OpaqueIds(store)
        before = hide("d1/0/0")
        store.apply(Change(removed=("d1",)))
        store.apply(Change(documents=(new_document("d1"),)))
        if prepared:
            hide.prepare(["d1/0/0"])
        assert hide("d1/0/0") == before
        assert store.resolve_opaque([before]) == {before: ("own", "d1/0/0")}
