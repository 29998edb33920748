"""However a store came to be, it equals one that was made at once of what is left."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.memory.store.change import Change, NewDocument
from fedrag_flwr.records import Hyperedge, MemoryItem
from tests.memory.store.samples import (
    check_index,
    delta,
    hyperedge,
    memory,
    new_document,
    open_store,
    plain_item,
    snapshot,
)

NAMES = ("d1", "d2", "d3", "d4")
UNITS = tuple(f"{name}/{place}{inner}" for name in NAMES for place in (0, 1) for inner in ("", "/0", "/1"))


@dataclass
class Model:
    """What should be there, kept in plain dicts."""

    documents: dict[str, NewDocument] = field(default_factory=dict)
    remembered: set[str] = field(default_factory=set)
    items: dict[str, MemoryItem] = field(default_factory=dict)
    foreign: dict[str, MemoryItem] = field(default_factory=dict)
    edges: tuple[Hyperedge, ...] = ()

    def units(self) -> list[str]:
        return [unit for unit in UNITS if unit.split("/")[0] in self.documents]

    def forget(self, name: str) -> None:
        self.documents.pop(name, None)
        self.remembered.discard(name)
        self.items = {
            key: item for key, item in self.items.items() if all(unit.split("/")[0] != name for unit in item.support)
        }

    def whole(self) -> Change:
        return Change(
            documents=tuple(self.documents.values()),
            hyperedges=self.edges,
            items=tuple(self.items.values()),
            remembered=tuple(self.remembered),
        )


def draw_edges(data: st.DataObject, units: list[str]) -> tuple[Hyperedge, ...]:
    edges = []
    for number in range(data.draw(st.integers(0, 3), "hyperedges")):
        grain = [unit for unit in units if unit.count("/") == 1 + number % 2]
        if grain:
            members = data.draw(st.lists(st.sampled_from(grain), min_size=1, max_size=3, unique=True), "members")
            edges.append(hyperedge(f"h{number}", members, [0.25 + 0.25 * place for place in range(len(members))]))
    return tuple(edges)


@given(data=st.data())
def test_any_sequence_equals_a_fresh_store(data: st.DataObject) -> None:
    model = Model()
    with tempfile.TemporaryDirectory() as directory, open_store(Path(directory) / "device") as store:
        retracted_before: set[str] = set()
        for edition in range(data.draw(st.integers(1, 6), "steps")):
            before = {item.id: plain_item(item) for item in store.items()}
            own_before = set(model.items)
            version = store.version
            removed = data.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True), "removed")
            added = data.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True), "added")
            for name in {*removed, *added}:
                model.forget(name)
            documents = tuple(new_document(name, edition) for name in added)
            model.documents |= {new.document.id: new for new in documents}
            units = model.units()
            items = []
            if units:
                for number in range(data.draw(st.integers(0, 3), "items")):
                    support = data.draw(
                        st.lists(st.sampled_from(units), min_size=1, max_size=3, unique=True), "support"
                    )
                    items.append(memory(f"m{number}", support, edition=data.draw(st.integers(0, 1), "edition")))
            model.items |= {item.id: item for item in items}
            model.edges = draw_edges(data, units)
            marked = tuple(name for name in added if data.draw(st.booleans(), "remembered"))
            model.remembered |= set(marked)
            store.apply(Change(tuple(removed), documents, model.edges, tuple(items), marked))
            foreign = data.draw(st.lists(st.integers(0, 4), max_size=2, unique=True), "foreign")
            gone = [f"f{n}" for n in data.draw(st.lists(st.integers(0, 4), max_size=2, unique=True), "gone")]
            arriving = [memory(f"f{n}", origin="b", edition=edition // 2, hyperedges=["o"]) for n in foreign]
            store.import_delta(delta(*arriving, retracted=gone))
            model.foreign = {key: item for key, item in model.foreign.items() if key not in gone}
            model.foreign |= {item.id: item for item in arriving}

            after = {item.id: plain_item(item) for item in store.items()}
            changed = {key for key, plain in after.items() if before.get(key) != plain}
            came = {item.id for item in store.items(since=version)}
            assert changed <= came  # a share since then misses nothing
            retracted_before = (retracted_before | own_before) - set(model.items)
            assert set(store.retracted_since(version)) >= own_before - set(model.items)
            assert set(store.retracted_since(0)) == retracted_before
        store.verify()
        with open_store(Path(directory) / "fresh") as fresh:
            fresh.apply(model.whole())
            fresh.import_delta(delta(*model.foreign.values()))
            assert snapshot(store) == snapshot(fresh)
            check_index(store, "sentence")
            check_index(store, "paragraph")


@given(
    first=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(0, 1)), max_size=5),
    second=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(0, 1)), max_size=5),
    retracted=st.lists(st.integers(0, 3), max_size=3),
    limit=st.integers(0, 4),
)
def test_the_same_delta_again_changes_nothing(
    first: list[tuple[int, str, int]], second: list[tuple[int, str, int]], retracted: list[int], limit: int
) -> None:
    def items(given: list[tuple[int, str, int]]) -> list[MemoryItem]:
        return [memory(f"m{number}", origin=origin, edition=edition) for number, origin, edition in given]

    with tempfile.TemporaryDirectory() as directory, open_store(Path(directory) / "device") as store:
        store._foreign_limit = limit
        store.apply(Change(documents=(new_document("d1"),), items=(memory("m3", ["d1/0"]),)))
        store.import_delta(delta(*items(first)))
        again = delta(*items(second), retracted=[f"m{number}" for number in retracted], version=2)
        report = store.import_delta(again)
        before = snapshot(store)
        repeated = store.import_delta(again)
        assert (repeated.accepted, repeated.refused, repeated.version) == (
            report.accepted,
            report.refused,
            report.version,
        )
        assert repeated.retracted == 0
        assert snapshot(store) == before
        assert store.counts().imported <= limit
        assert store.item("m3").origin == "a"
