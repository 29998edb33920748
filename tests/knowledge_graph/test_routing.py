"""Routing: the nearest summaries, the owners that they speak for, grouping beside the exact search, routing at home."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import WireError
from fedrag_flwr.exchange.routing import restored, rounded
from fedrag_flwr.knowledge_graph.routing import Floats, SummaryIndex, choose_owners
from fedrag_flwr.memory.store.summary_store import SummaryStore
from fedrag_flwr.records import OwnedRows, SubgraphSummary, SummaryBatch

DIMENSION = 12


def vectors(count: int, seed: int) -> Floats:
    found: Floats = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


@given(st.integers(0, 40), st.integers(1, 8), st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**16))
def test_the_nearest_are_those_of_a_full_scan(count: int, m: int, k: int, hidden: int, seed: int) -> None:
    matrix, [question] = vectors(count, seed), vectors(1, seed + 1)
    owners = [f"device-{row % 4}" for row in range(count)]
    without = {f"device-{number}" for number in range(hidden)}
    index = SummaryIndex([f"s{row}" for row in range(count)], owners, matrix)
    scores = matrix @ question
    order = sorted((row for row in range(count) if owners[row] not in without), key=lambda row: -scores[row])[:m]
    hits = index.nearest(question, m, without)
    assert [hit.id for hit in hits] == [f"s{row}" for row in order]
    assert [hit.score for hit in hits] == pytest.approx([float(scores[row]) for row in order], abs=1e-5)
    route = index.route(question, m, k, without)
    assert len(route.owners) == min(k, len({owners[row] for row in order}))
    assert {hit.owner for hit in route.hits} == set(route.owners)


def test_two_near_summaries_outweigh_one() -> None:
    matrix = np.eye(DIMENSION, dtype=np.float32)[[0, 1, 1]]
    question = np.zeros(DIMENSION, dtype=np.float32)
    question[:2] = 0.75, 0.66
    index = SummaryIndex(["a1", "b1", "b2"], ["a", "b", "b"], matrix)
    assert index.route(question, 1, 1).owners == ("a",)
    assert index.route(question, 3, 1).owners == ("b",)
    assert "b 0.66" in index.route(question, 3, 1).explanation


def test_grouping_finds_what_a_full_scan_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(50, DIMENSION))
    matrix = (centres[rng.integers(0, 50, 4000)] + 0.3 * rng.normal(size=(4000, DIMENSION))).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    names = [f"s{row}" for row in range(len(matrix))]
    owners = [f"device-{row % 7}" for row in range(len(matrix))]
    exact = SummaryIndex(names, owners, matrix)
    monkeypatch.setattr("fedrag_flwr.knowledge_graph.routing.EXACT_UP_TO", 100)
    grouped = SummaryIndex(names, owners, matrix)
    questions = matrix[rng.integers(0, 4000, 200)]
    same = [exact.nearest(one, 1)[0].id == grouped.nearest(one, 1)[0].id for one in questions]
    assert np.mean(same) >= 0.95
    assert grouped.bytes < exact.bytes / 2


def batch(device: str, *names: str, generation: str = "g1", retracted: tuple[str, ...] = ()) -> SummaryBatch:
    told = tuple(
        SubgraphSummary(name, f"about {name}", vector, device)
        for name, vector in zip(names, vectors(len(names), len(names)), strict=True)
    )
    return SummaryBatch(device, generation, 1, told, retracted)


def ids(summary_store: SummaryStore, device: str) -> tuple[str, ...]:
    return summary_store.known_of(device).known


def test_a_summary_store_outlives_the_run_and_takes_back_what_is_void(tmp_path: Path) -> None:
    summary_store = SummaryStore(tmp_path, DIMENSION)
    summary_store.take(batch("a", "a1", "a2"))
    summary_store.take(batch("b", "a1"))  # the same id at another device is another summary
    summary_store.close()
    summary_store = SummaryStore(tmp_path, DIMENSION)
    assert (ids(summary_store, "a"), ids(summary_store, "b")) == (("a1", "a2"), ("a1",))
    summary_store.take(batch("a", "a3", retracted=("a1",)))
    assert (ids(summary_store, "a"), ids(summary_store, "b")) == (("a2", "a3"), ("a1",))
    summary_store.take(batch("a", "a4", generation="g2"))
    assert (ids(summary_store, "a"), summary_store.known_of("a").generation) == (("a4",), "g2")
    assert len(summary_store.index(frozenset({"a", "b"}))) == 2
    assert len(summary_store.index(frozenset({"b"}))) == 1
    summary_store.close()


def test_no_device_has_more_than_its_share_of_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedrag_flwr.memory.store.summary_store.MOST_SUMMARIES", 3)
    summary_store = SummaryStore(tmp_path, DIMENSION)
    summary_store.take(batch("a", "a1", "a2"))
    with pytest.raises(WireError, match="may have 3 summaries"):
        summary_store.take(batch("a", "a3", "a4"))
    assert ids(summary_store, "a") == ("a1", "a2")
    summary_store.take(batch("a", "a3", "a4", retracted=("a1",)))
    summary_store.take(batch("b", "b1", "b2", "b3"))
    assert (ids(summary_store, "a"), ids(summary_store, "b")) == (("a2", "a3", "a4"), ("b1", "b2", "b3"))
    summary_store.close()


def test_a_device_speaks_for_itself_alone(tmp_path: Path) -> None:
    summary_store = SummaryStore(tmp_path, DIMENSION)
    summary_store.take(batch("a", "a1"))
    foreign = SubgraphSummary("x", "", vectors(1, 1)[0], "a")
    short = SubgraphSummary("x", "", np.array([1.0], dtype=np.float32), "b")
    for wrong in (foreign, short):
        with pytest.raises(WireError):
            summary_store.take(SummaryBatch("b", "g1", 1, (wrong,), ()))
    summary_store.take(SummaryBatch("b", "g1", 1, (), ("a1",)))
    assert ids(summary_store, "a") == ("a1",)
    summary_store.close()


@given(st.integers(0, 40), st.integers(1, 8), st.integers(1, 4), st.integers(0, 4), st.integers(0, 2**16))
def test_home_chooses_the_owners_that_the_server_would(count: int, m: int, k: int, hidden: int, seed: int) -> None:
    matrix, [question] = vectors(count, seed), vectors(1, seed + 1)
    owners = sorted(f"device-{row % 4}" for row in range(count))
    index = SummaryIndex([f"s{row:03d}" for row in range(count)], owners, matrix)
    without = {f"device-{number}" for number in range(hidden)}
    assert choose_owners(matrix @ question, owners, m, k, without) == index.route(question, m, k, without).owners


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 2**16))
def test_vectors_in_bytes_keep_their_directions_and_owners(sizes: list[int], seed: int) -> None:
    matrix = vectors(sum(sizes), seed)
    told = rounded([OwnedRows(f"d{number}", rows) for number, rows in enumerate(sizes)], matrix)
    found = restored(told)
    owners = [f"d{number}" for number, rows in enumerate(sizes) for _ in range(rows)]
    assert [one.origin for one in found] == owners
    assert len(told.codes) == matrix.size
    cosines = (np.stack([one.vector for one in found]) * matrix).sum(axis=1)
    assert cosines.min() > 0.999
    with pytest.raises(WireError, match="another number"):
        restored(replace(told, codes=told.codes[:-1]))
    with pytest.raises(WireError, match="another length"):
        restored(told, DIMENSION + 1)
    with pytest.raises(WireError, match="more than"):
        restored(told, DIMENSION, sum(sizes) - 1)
    assert len(restored(told, DIMENSION, sum(sizes))) == len(owners)
    with pytest.raises(WireError, match="without direction"):
        restored(replace(told, codes=bytes(len(told.codes))))
