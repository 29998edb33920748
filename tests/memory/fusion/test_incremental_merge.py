"""Fusing only what a change touches gives what fusing everything gives."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.memory.fusion import incremental
from fedrag_flwr.memory.fusion.merge import FUSION, FusionRules
from fedrag_flwr.memory.fusion.shared import FusionReport, SharedMemory
from fedrag_flwr.memory.store.change import shared_id
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Delta, MemoryItem, Vector
from tests.memory.fusion.test_merge import words_of
from tests.memory.fusion.whole import merge
from tests.memory.store.samples import plain_item, unit_vector
from tests.strategies.federation import small_models

DIMENSION = 384
RULES = FusionRules(near=0.95, quota=2)
TURN = 0.28  # radians between neighbouring questions: each is near to the next, and not to the one after
RUNG = ("bell", "chime", "gong", "horn", "bell 7")  # the last is another statement, however near

Step = tuple[str, dict[str, tuple[int, str] | None]]  # a device, and its changed memories; None withdraws one


def vector_of(place: int) -> Vector:
    one, other = unit_vector("one", DIMENSION), unit_vector("other", DIMENSION)
    other -= (other @ one) * one
    other /= np.linalg.norm(other)
    return np.asarray(np.cos(TURN * place) * one + np.sin(TURN * place) * other, dtype=np.float32)


class Rungs:
    """Encodes a question by the rung that it asks for."""

    id = "rungs"
    dimension = DIMENSION

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        places = [max(place for place, rung in enumerate(RUNG) if f" {rung} " in text) for text in texts]
        return np.array([vector_of(place) for place in places], dtype=np.float32).reshape(-1, DIMENSION)


def item(origin: str, name: str, place: int, answer: str) -> MemoryItem:
    question = f"Who rang the {RUNG[place]} of {name}?"
    return MemoryItem(
        f"{name}{origin}", question, answer, "single", "PERSON", (f"e{name}",), (), vector_of(place), origin
    )  # ids mix the devices


@dataclass
class Devices:
    """What devices hold, and the deltas that tell the shared memory of it."""

    held: dict[str, dict[str, tuple[int, str]]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def delta(self, step: Step) -> Delta:
        device, changes = step
        held, since = self.held.setdefault(device, {}), self.versions.get(device, 0)
        gone = [name for name, what in changes.items() if what is None and held.pop(name, None) is not None]
        new = {name: what for name, what in changes.items() if what is not None}
        held |= new
        self.versions[device] = since + 1
        items = tuple(item(device, name, *what) for name, what in (new if since else held).items())
        return Delta(device, since, since + 1, items, tuple(f"{name}{device}" for name in gone), generation="g")

    def items(self) -> list[MemoryItem]:
        """What devices hold, under the ids of the shared memory."""
        own = [item(device, name, *what) for device, held in self.held.items() for name, what in held.items()]
        return [replace(one, id=shared_id(one.origin, one.id)) for one in own]


def open_shared(root: Path, rules: FusionRules = RULES, encoder: Encoder | None = None) -> SharedMemory:
    models = small_models()
    return SharedMemory(root, encoder or models.encoder, models.pipeline, rules=rules)


def plain(items: list[MemoryItem] | tuple[MemoryItem, ...]) -> set[tuple[object, ...]]:
    return {plain_item(one) for one in items}


places = st.one_of(st.none(), st.tuples(st.integers(0, 4), st.sampled_from(["Ada", "Odile"])))
steps = st.lists(
    st.tuples(st.sampled_from("abc"), st.dictionaries(st.sampled_from("uvwxyz"), places, min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)


@settings(suppress_health_check=list(HealthCheck))
@given(steps)
def test_after_each_change_the_shared_memory_is_as_if_fused_from_scratch(drawn: list[Step]) -> None:
    devices = Devices()
    with tempfile.TemporaryDirectory() as folder:
        shared = open_shared(Path(folder), encoder=Rungs())
        seen: dict[str, tuple[object, ...]] = {}
        for step in drawn:
            known = shared.delta_for("d", "", 0).version
            shared.take(devices.delta(step))
            report = shared.fuse()
            whole = merge(devices.items(), RULES, words_of(Rungs()))
            assert plain(shared.items()) == plain(whole.items)
            merged = sum(one.origin == FUSION for one in whole.items)
            assert report == FusionReport(len(whole.items), merged, whole.over_quota)
            told = shared.delta_for("d", shared.id, known)
            seen = {} if not told.since else seen
            seen |= {one.id: plain_item(one) for one in told.items}
            for name in told.retracted:
                seen.pop(name, None)
            assert set(seen.values()) == plain(whole.items)  # a device that follows the deltas holds the same
        shared.close()


@pytest.mark.parametrize("lost", ["nothing", "the end of a fusion", "the rules"])
def test_what_merging_knew_is_made_anew_where_it_does_not_fit(lost: str, tmp_path: Path) -> None:
    devices, rules = Devices(), RULES
    shared = open_shared(tmp_path / "s", encoder=Rungs())
    shared.take(devices.delta(("a", {"u": (0, "Ada"), "v": (1, "Ada"), "w": (2, "Ada")})))
    shared.take(devices.delta(("b", {"u": (0, "Ada"), "v": (3, "Odile")})))
    shared.fuse()
    shared.take(devices.delta(("b", {"u": None, "x": (1, "Ada")})))
    shared.close()
    if lost == "the end of a fusion":  # what was fused is kept, what merging knew of it is not
        shutil.copytree(tmp_path / "s" / "received", tmp_path / "received")
        shared = open_shared(tmp_path / "s", encoder=Rungs())
        shared.fuse()
        shared.close()
        shutil.rmtree(tmp_path / "s" / "received")
        (tmp_path / "received").rename(tmp_path / "s" / "received")
    if lost == "the rules":
        rules = replace(RULES, quota=1)
    shared = open_shared(tmp_path / "s", rules=rules, encoder=Rungs())
    known = shared.delta_for("d", "", 0).version
    shared.take(devices.delta(("a", {"v": None})))
    shared.take(devices.delta(("b", {"x": None})))
    shared.fuse()
    assert plain(shared.items()) == plain(merge(devices.items(), rules, words_of(Rungs())).items)
    assert shared.version > known
    shared.close()


def test_a_row_with_another_memory_is_no_longer_the_first_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "_AT_ONCE", 1)
    devices, shared = Devices(), open_shared(tmp_path, encoder=Rungs())
    shared.take(devices.delta(("a", {"u": (0, "Ada"), "v": (1, "Ada")})))
    shared.fuse()
    later: list[Step] = [("a", {"v": None}), ("b", {"w": (2, "Ada")}), ("a", {"v": (1, "Ada")})]
    for step in later:  # b's memory comes to the row that v had
        shared.take(devices.delta(step))
    shared.fuse()
    assert plain(shared.items()) == plain(merge(devices.items(), RULES, words_of(Rungs())).items)
    shared.close()


def delta(origin: str, since: int, pairs: list[tuple[str, str]], gone: tuple[str, ...] = ()) -> Delta:
    vectors = small_models().encoder.encode([question for question, _ in pairs])
    items = tuple(
        MemoryItem(f"{origin}{q[:9]}{a}", q, a, "single", "NAME", (f"e{q}",), (), vector, origin)
        for (q, a), vector in zip(pairs, vectors, strict=True)
    )
    return Delta(origin, since, since + 1, items, gone, generation="g")
