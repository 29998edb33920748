"""Fusing only what a change touches gives what fusing everything gives."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.memory.fusion import incremental, nearness
from fedrag_flwr.memory.fusion.bank import FusionReport, MemoryBank
from fedrag_flwr.memory.fusion.ledger import FILE
from fedrag_flwr.memory.fusion.merge import FUSION, FusionRules, merge
from fedrag_flwr.memory.fusion.nearness import Components, Neighbourhood, Pairs, sketches
from fedrag_flwr.memory.store.change import shared_id
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Delta, MemoryItem, Vector
from tests.memory.fusion.test_fusing import words_of
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
    """What devices hold, and the deltas that tell the bank of it."""

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
        """What devices hold, under the ids of the bank."""
        own = [item(device, name, *what) for device, held in self.held.items() for name, what in held.items()]
        return [replace(one, id=shared_id(one.origin, one.id)) for one in own]


def open_bank(root: Path, bridges: int = 0, rules: FusionRules = RULES, encoder: Encoder | None = None) -> MemoryBank:
    models = small_models()
    return MemoryBank.open(root, encoder or models.encoder, models.pipeline, bridges_per_item=bridges, rules=rules)


def plain(items: list[MemoryItem] | tuple[MemoryItem, ...]) -> set[tuple[object, ...]]:
    return {plain_item(one) for one in items}


places = st.one_of(st.none(), st.tuples(st.integers(0, 4), st.sampled_from(["Ada", "Odile"])))
steps = st.lists(
    st.tuples(st.sampled_from("abc"), st.dictionaries(st.sampled_from("uvwxyz"), places, min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps)
def test_after_each_change_the_bank_is_as_if_fused_from_scratch(drawn: list[Step]) -> None:
    devices = Devices()
    with tempfile.TemporaryDirectory() as folder:
        bank = open_bank(Path(folder), encoder=Rungs())
        seen: dict[str, tuple[object, ...]] = {}
        for step in drawn:
            known = bank.delta_for("d", "", 0).version
            bank.take(devices.delta(step))
            report = bank.fuse()
            whole = merge(devices.items(), RULES, words_of(Rungs()))
            assert plain(bank.items()) == plain(whole.items)
            merged = sum(one.origin == FUSION for one in whole.items)
            assert report == FusionReport(len(whole.items), merged, 0, whole.over_quota)
            told = bank.delta_for("d", bank.id, known)
            seen = {} if not told.since else seen
            seen |= {one.id: plain_item(one) for one in told.items}
            for name in told.retracted:
                seen.pop(name, None)
            assert set(seen.values()) == plain(whole.items)  # a device that follows the deltas holds the same
        bank.close()


@pytest.mark.parametrize("lost", ["nothing", "the ledger", "a torn ledger", "the end of a fusion", "the rules"])
def test_a_ledger_that_does_not_fit_is_made_anew(lost: str, tmp_path: Path) -> None:
    devices, rules = Devices(), RULES
    bank = open_bank(tmp_path, encoder=Rungs())
    bank.take(devices.delta(("a", {"u": (0, "Ada"), "v": (1, "Ada"), "w": (2, "Ada")})))
    bank.take(devices.delta(("b", {"u": (0, "Ada"), "v": (3, "Odile")})))
    bank.fuse()
    bank.close()
    if lost == "the end of a fusion":  # what was fused is kept, what fusion knew of it is not
        ledger = (tmp_path / FILE).read_bytes()
        bank = open_bank(tmp_path, encoder=Rungs())
        bank.take(devices.delta(("b", {"u": None, "x": (1, "Ada")})))
        bank.fuse()
        bank._fused.set_meta("merging", "yes")
        bank.close()
        (tmp_path / FILE).write_bytes(ledger)
        assert not (tmp_path / f"{FILE}-wal").exists()
    if lost in ("the ledger", "a torn ledger"):
        for path in tmp_path.glob(f"{FILE}*"):
            path.unlink()
    if lost == "a torn ledger":
        (tmp_path / FILE).write_bytes(b"SQLite format 3\x00" + b"torn" * 900)
    if lost == "the rules":
        rules = replace(RULES, quota=1)
    bank = open_bank(tmp_path, rules=rules, encoder=Rungs())
    known = bank.delta_for("d", "", 0).version
    bank.take(devices.delta(("a", {"v": None})))
    bank.take(devices.delta(("b", {"x": None})))
    bank.fuse()
    assert plain(bank.items()) == plain(merge(devices.items(), rules, words_of(Rungs())).items)
    assert bank.version > known
    bank.close()


def test_a_row_that_has_another_memory_now_is_no_longer_that_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incremental, "_AT_ONCE", 1)
    devices, bank = Devices(), open_bank(tmp_path, encoder=Rungs())
    bank.take(devices.delta(("a", {"u": (0, "Ada"), "v": (1, "Ada")})))
    bank.fuse()
    later: list[Step] = [("a", {"v": None}), ("b", {"w": (2, "Ada")}), ("a", {"v": (1, "Ada")})]
    for step in later:  # b's memory comes to the row that v had
        bank.take(devices.delta(step))
    bank.fuse()
    assert plain(bank.items()) == plain(merge(devices.items(), RULES, words_of(Rungs())).items)
    bank.close()


def delta(origin: str, since: int, pairs: list[tuple[str, str]], gone: tuple[str, ...] = ()) -> Delta:
    vectors = small_models().encoder.encode([question for question, _ in pairs])
    items = tuple(
        MemoryItem(f"{origin}{q[:9]}{a}", q, a, "single", "NAME", (f"e{q}",), (), vector, origin)
        for (q, a), vector in zip(pairs, vectors, strict=True)
    )
    return Delta(origin, since, since + 1, items, gone, generation="g")


def composed(bank: MemoryBank) -> set[str]:
    return {one.question for one in bank.items() if one.kind == "multi-hop"}


def test_composed_memories_follow_their_parts(tmp_path: Path) -> None:
    said = {
        "a": [("Which spacecraft found plumes on Enceladus?", "Cassini"), ("Who built the Grey Tower?", "Odile Varro")],
        "b": [("Which rocket launched Cassini?", "Titan IV"), ("Where was Odile Varro born?", "Lindmoor")],
    }

    bank = open_bank(tmp_path / "one", bridges=1)
    for origin, pairs in said.items():
        bank.take(delta(origin, 0, pairs))
    assert bank.fuse().composed == 2
    first = composed(bank)
    assert "Which rocket launched the spacecraft that found plumes on Enceladus?" in first
    known = bank.delta_for("d", "", 0).version
    bank.take(delta("b", 1, [], gone=("bWhere wasLindmoor",)))
    assert bank.fuse().composed == 1
    assert composed(bank) < first
    told = bank.delta_for("c", bank.id, known)
    assert (told.items, len(told.retracted)) == ((), 2)
    bank.close()

    fresh = open_bank(tmp_path / "two", bridges=1)
    fresh.take(delta("a", 0, said["a"]))
    fresh.take(delta("b", 0, said["b"][:1]))
    fresh.fuse()
    bank_again = open_bank(tmp_path / "one", bridges=1)
    assert composed(fresh) == composed(bank_again)
    wanted = {one.id: one for one in fresh.items()}
    held = [replace(one, embedding=wanted[one.id].embedding) for one in bank_again.items()]
    assert plain(held) == plain(fresh.items())
    for one in bank_again.items():  # by what a text was encoded with its last bits differ
        assert one.embedding == pytest.approx(wanted[one.id].embedding, abs=2e-3)
    fresh.close()
    bank_again.close()


def test_of_too_many_memories_those_after_the_drawn_one_are_composed_and_after_the_last_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = open_bank(tmp_path, bridges=1)
    bank.take(delta("a", 0, [("Which spacecraft found plumes on Enceladus?", "Cassini"), ("Who rang?", "Ada")]))
    bank.take(delta("x", 0, [("Which rocket launched Cassini?", "Titan IV"), ("Who sang?", "Odile")]))
    assert bank.fuse().composed == 1
    before = bank._composed_ids()
    singles = sorted({one.id for one in bank.items()} - before)
    assert singles[1] < min(before) < singles[2]  # so that a window may begin after it and end before it
    monkeypatch.setattr("fedrag_flwr.memory.fusion.bank.MOST_COMPOSING", 2)
    for place, drawn in enumerate(singles):
        bank._fused.set_meta("drawn", drawn)
        window = {one.id for one in bank._parts(before)}
        assert window == {drawn, singles[(place + 1) % len(singles)]}
    bank.close()


def test_a_composed_memory_has_its_parts_present_hyperedges(tmp_path: Path) -> None:
    bank = open_bank(tmp_path, bridges=1)
    first = delta("a", 0, [("Which spacecraft found plumes on Enceladus?", "Cassini")])
    bank.take(first)
    bank.take(delta("b", 0, [("Which rocket launched Cassini?", "Titan IV")]))
    bank.fuse()
    [before] = [one for one in bank.items() if one.kind == "multi-hop"]
    known = bank.delta_for("d", "", 0).version
    bank.take(replace(first, since=1, version=2, items=(replace(first.items[0], hyperedges=("new",)),)))
    bank.fuse()
    [after] = [one for one in bank.items() if one.kind == "multi-hop"]
    assert after.hyperedges == ("b/eWhich rocket launched Cassini?", "a/new")
    assert plain_item(replace(after, hyperedges=before.hyperedges)) == plain_item(before)
    assert after.id in {one.id for one in bank.delta_for("c", bank.id, known).items}
    bank.close()


def test_compositions_that_are_not_kept_are_counted_by_reason(tmp_path: Path) -> None:
    plumes = [("Which spacecraft found plumes on Enceladus?", "Cassini")]
    hosts = [
        ("Which rocket launched Cassini?", "Titan IV"),
        ("What did Cassini photograph?", "plumes"),
        ("Which crew of Cassini's planners steered Cassini?", "Blue Crew"),
        ("Who of our club drew Cassini?", "Ada Morrow"),
    ]
    bank = open_bank(tmp_path, bridges=1)
    bank.take(delta("a", 0, plumes))
    bank.take(delta("b", 0, hosts))
    report = bank.fuse()
    assert composed(bank) == {"Which rocket launched the spacecraft that found plumes on Enceladus?"}
    assert report.rejected == {"dangling": 1, "gives-away": 1, "names-bridge": 1}
    assert report.counts() == {
        "kept": 5,
        "merged": 0,
        "composed": 1,
        "over_quota": 0,
        "rejected_dangling": 1,
        "rejected_gives-away": 1,
        "rejected_names-bridge": 1,
    }
    bank.close()

    bank = open_bank(tmp_path, bridges=1)
    assert bank.fuse() == report  # nothing changed, and nothing is composed again
    bank.take(delta("b", 1, [], gone=("bWhich creBlue Crew",)))
    assert bank.fuse().rejected == {"dangling": 1, "gives-away": 1}
    bank.close()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 60), st.integers(1, 90), st.integers(0, 2**32), st.floats(0.3, 0.99))
@pytest.mark.parametrize(("cells", "crowd", "held"), [(2**22, 256, 2**16), (60, 2, 1)])
def test_rows_are_joined_as_by_all_products(
    cells: int, crowd: int, held: int, count: int, dimension: int, seed: int, near: float
) -> None:
    rng = np.random.default_rng(seed)
    centroids = rng.standard_normal((5, dimension))
    vectors = centroids[rng.integers(5, size=count)] + 0.5 * rng.standard_normal((count, dimension))
    unit = np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
    exact = unit.astype(np.float64) @ unit.T.astype(np.float64)
    if np.any(np.abs(exact - near) < 1e-5):
        return  # too close to call
    hood = Neighbourhood(sketches(unit).astype(np.float32), lambda rows: unit[rows], near)
    rows = np.flatnonzero(rng.random(count) < 0.5)
    side = rng.integers(2, size=count)
    for apart in (False, True):  # whether two of one side count
        expected, found = Components(count), Components(count)
        close = [(a, b) for a in rows.tolist() for b in range(count) if exact[a, b] >= near]
        expected.join(np.array([(a, b) for a, b in close if not apart or side[a] != side[b]]).reshape(-1, 2))

        def counts(pairs: Pairs, apart: bool = apart) -> NDArray[np.bool_]:
            return np.asarray((side[pairs[:, 0]] != side[pairs[:, 1]]) | (not apart), dtype=np.bool_)

        with pytest.MonkeyPatch.context() as patch:
            for name, value in (("_CELLS", cells), ("_CROWD", crowd), ("_HELD", held)):
                patch.setattr(nearness, name, value)
            hood.connect(rows, np.arange(count), found, counts)
        assert found.settled().tolist() == expected.settled().tolist()


@given(
    st.integers(1, 30), st.lists(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=6), max_size=5)
)
def test_components_are_those_of_a_walk(count: int, drawn: list[list[tuple[int, int]]]) -> None:
    blocks = [[(a % count, b % count) for a, b in block] for block in drawn]
    names = list(range(count))
    for a, b in (pair for block in blocks for pair in block):
        old, new = names[a], names[b]
        names = [new if name == old else name for name in names]
    components = Components(count)
    for block in blocks:
        components.join(np.array(block, dtype=np.int64).reshape(-1, 2))
    found = components.settled()
    assert [[found[a] == found[b] for b in range(count)] for a in range(count)] == [
        [names[a] == names[b] for b in range(count)] for a in range(count)
    ]
