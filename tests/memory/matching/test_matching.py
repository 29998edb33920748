"""Matching is the exact arg max of FD-RAG eq. 11 to 13."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError, StoreError, StoreMismatchError
from fedrag_flwr.memory import Effort, Matcher
from fedrag_flwr.memory.matching import codes
from fedrag_flwr.memory.matching.postings import Common, Overlap, Postings
from fedrag_flwr.memory.matching.rounded import Depth
from fedrag_flwr.memory.matching.sweep import Asking, Sweep
from fedrag_flwr.records import MemoryItem, Vector
from tests.memory.store.samples import memory, unit_vector

ANCHORS = ("a", "b", "c", "d", "e")
NAMES = ("v0", "v1", "v2", "v3", "zero")


def brute_force(
    items: list[MemoryItem], alpha: float, vector: Vector, anchors: set[str], k: int
) -> list[tuple[str, float, float, float]]:
    question = vector.astype(np.float64)
    if np.linalg.norm(question) > 0:
        question = question / np.linalg.norm(question)
    scored = []
    for item in items:
        # summed as over rows of a matrix: one rounding more would order a likeness of 1 and an overlap of 1 differently
        norm = np.linalg.norm(item.embedding[None], axis=1)[0]
        row = item.embedding / (norm if norm > 0 else np.float32(1.0))
        similarity = float((row.astype(np.float64) * question)[None].sum(axis=1)[0])
        together = len(anchors) + len(set(item.anchors))
        cover = 2.0 * len(anchors & set(item.anchors)) / together if together else 0.0
        scored.append((item.id, alpha * similarity + (1 - alpha) * cover, similarity, cover))
    return sorted(scored, key=lambda found: (-found[1], found[0]))[:k]


def vector_of(name: str, dimension: int) -> Vector:
    return np.zeros(dimension, dtype=np.float32) if name == "zero" else unit_vector(name, dimension)


@st.composite
def memories(draw: st.DrawFn, dimension: int) -> list[MemoryItem]:
    # few distinct vectors and anchor sets, so that ties are common
    count = draw(st.integers(0, 40))
    made = []
    for number in draw(st.permutations(range(count))):
        anchors = draw(st.frozensets(st.sampled_from(ANCHORS), max_size=3))
        vector = vector_of(draw(st.sampled_from(NAMES)), dimension)
        made.append(replace(memory(f"m{number}"), embedding=vector, anchors=tuple(anchors)))
    return made


@pytest.mark.parametrize("sweep_from", [1, 10**9])
@pytest.mark.parametrize("dimension", [3, 16, 130])
@given(
    data=st.data(),
    alpha=st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]),
    name=st.sampled_from([*NAMES, "other"]),
    anchors=st.frozensets(st.sampled_from([*ANCHORS, "unknown"]), max_size=4),
    k=st.integers(0, 45),
)
@settings(max_examples=30, deadline=None)
def test_it_equals_a_loop_over_all(
    sweep_from: int, dimension: int, data: st.DataObject, alpha: float, name: str, anchors: frozenset[str], k: int
) -> None:
    items = data.draw(memories(dimension))
    vector = vector_of(name, dimension)
    found = Matcher(items, alpha, sweep_from).top(vector, anchors, k)
    expected = brute_force(items, alpha, vector, set(anchors), k)
    assert [match.item.id for match in found] == [name for name, *_ in expected]
    np.testing.assert_allclose(
        [(match.score, match.similarity, match.cover) for match in found],
        [numbers for _, *numbers in expected],
        atol=1e-9,
    )
    for match in found:
        assert -1.0 - 1e-6 <= match.similarity <= 1.0 + 1e-6
        assert 0.0 <= match.cover <= 1.0


def crowd(count: int, dimension: int, seed: int) -> list[MemoryItem]:
    """Memories in groups, the vectors of a group near each other; some anchors are common, most are rare."""
    random = np.random.default_rng(seed)
    centroids = random.standard_normal((count // 8, dimension))
    vectors = centroids[random.integers(len(centroids), size=count)] + 0.3 * random.standard_normal((count, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        replace(
            memory(f"m{number:05}"),
            embedding=vector.astype(np.float32),
            anchors=tuple({f"a{int(300 * place**3)}" for place in random.random(random.integers(0, 7))}),
        )
        for number, vector in enumerate(vectors)
    ]


@pytest.fixture(scope="module", params=[1, 3], ids=["one-thread", "three-threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """So many threads, and few items that are worth one."""
    usual = faiss.omp_get_max_threads()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(codes, "PER_THREAD", 50)
        faiss.omp_set_num_threads(request.param)
        yield request.param
        faiss.omp_set_num_threads(usual)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("alpha", [0.0, 0.4, 0.7, 1.0])
@pytest.mark.parametrize(("dimension", "k"), [(384, 1), (384, 10), (64, 5)])
def test_it_equals_a_loop_over_many(alpha: float, dimension: int, k: int) -> None:
    items = crowd(2000, dimension, 3)
    matcher = Matcher(items, alpha, sweep_from=1)
    random = np.random.default_rng(4)
    for noise in (0.0, 0.02, 0.2):
        asked = items[random.integers(len(items))]
        vector = asked.embedding + noise * random.standard_normal(dimension).astype(np.float32)
        for anchors in (set(asked.anchors), {"a0", "a1"}, {"a299", "unknown"}, set[str]()):
            found = matcher.top(vector, anchors, k)
            expected = brute_force(items, alpha, vector, anchors, k)
            assert [match.item.id for match in found] == [row[0] for row in expected]
            np.testing.assert_allclose([match.score for match in found], [row[1] for row in expected], atol=1e-9)


@pytest.mark.usefixtures("threads")
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.3, 0.6, 1.0]), quantile=st.floats(0.5, 1.0))
@settings(max_examples=25, deadline=None)
def test_bounds_are_never_below_scores(seed: int, alpha: float, quantile: float) -> None:
    items = crowd(400, 48, seed)
    vectors = np.stack([item.embedding for item in items])
    postings = Postings(frozenset(item.anchors) for item in items)
    sweep = Sweep(vectors, postings, 0.6)
    vector = vectors[seed % len(items)].astype(np.float64)
    asking = Asking(vector / np.linalg.norm(vector), frozenset(sweep.common.names[:3]), alpha)
    turned = sweep.turn(asking)
    cosines = vectors @ asking.vector
    scores = asking.score(cosines, postings.overlap(asking.anchors))
    rows = np.arange(len(items))
    for depth in get_args(Depth):
        assert (sweep.near(turned, rows, depth) >= cosines - 1e-5).all()
    bar = float(np.quantile(scores, quantile))
    swept = sweep.above(turned, bar)
    if swept is not None:
        assert set(np.flatnonzero(scores >= bar).tolist()) <= set(swept.rows.tolist())


@given(st.lists(st.floats(0.0, 2.0, width=32), min_size=1, max_size=60))
def test_lengths_are_rounded_up_to_a_level(lengths: list[float]) -> None:
    rounded, levels = codes._round_up(np.array(lengths, dtype=np.float32))
    assert (rounded >= np.array(lengths, dtype=np.float32)).all()
    assert len(levels) == 16
    assert np.isin(rounded, levels).all()


def test_each_thread_has_a_list_of_its_own(threads: int) -> None:
    assert [codes.lists_for(count) for count in (0, 49, 50, 100, 150, 10**6)] == [
        *(1, 1, 1),
        *(min(2, threads), threads, threads),
    ]


def test_few_memories_are_scored_where_one_is_near() -> None:
    items = crowd(5000, 384, 5)
    matcher = Matcher(items, 0.6, sweep_from=1)
    (best, *_), effort = matcher.top_counted(items[17].embedding, items[17].anchors, 3)
    assert best.item is items[17]
    assert effort.scored < len(items) / 10
    assert Matcher(items, 0.6, sweep_from=5001).top_counted(items[17].embedding, (), 3)[1] == Effort(5000, 0)


def test_a_question_unlike_all_memories_is_scanned_where_bounds_say_nothing() -> None:
    items = crowd(500, 32, 6)
    found, effort = Matcher(items, 0.6, sweep_from=1).top_counted(np.zeros(32, dtype=np.float32), (), 4)
    assert [match.item.id for match in found] == [item.id for item in items[:4]]
    assert effort.scored == 500


@given(
    held=st.lists(st.frozensets(st.sampled_from(ANCHORS), max_size=5), max_size=30),
    asked=st.frozensets(st.sampled_from([*ANCHORS, "unknown"]), max_size=5),
    chosen=st.sets(st.integers(0, 29)),
)
@settings(deadline=None)
def test_overlap_is_dice(held: list[frozenset[str]], asked: frozenset[str], chosen: set[int]) -> None:
    postings = Postings(held)
    expected = [2 * len(asked & one) / max(len(asked) + len(one), 1) for one in held]
    assert postings.overlap(asked).tolist() == expected
    rows = np.array(sorted(row for row in chosen if row < len(held)), dtype=np.int64)
    for names in ((), ANCHORS[:2], ANCHORS):
        overlap = Overlap(postings, Common(postings, names), asked)
        holders, covers = overlap.holders()
        assert holders.tolist() == [row for row, one in enumerate(held) if one & (asked - set(names))]
        assert covers.tolist() == [expected[row] for row in holders]
        others = overlap.without_holders(rows)
        assert others.tolist() == sorted(set(rows.tolist()) - set(holders.tolist()))
        assert overlap.of(others).tolist() == [expected[row] for row in others]


@pytest.mark.parametrize("sweep_from", [1, 10**9])
def test_equal_memories_tie_by_id_wherever_they_stand(sweep_from: int) -> None:
    vector = unit_vector("same", 384)
    items = [replace(memory(f"m{number:04}"), embedding=vector, anchors=("a",)) for number in range(1003)]
    found = Matcher(items[::-1], 0.7, sweep_from).top(unit_vector("question", 384), ["a"], 7)
    assert [match.item.id for match in found] == [f"m{number:04}" for number in range(7)]
    assert len({match.score for match in found}) == 1


def test_no_memories_match_nothing() -> None:
    assert Matcher([], 0.5).top(unit_vector("x"), ["a"], 5) == []


def test_nothing_shared_and_nothing_asked_score_zero() -> None:
    item = replace(memory("m"), anchors=())
    (match,) = Matcher([item], 0.5).top(np.zeros(8, dtype=np.float32), [], 3)
    assert (match.score, match.similarity, match.cover) == (0.0, 0.0, 0.0)


def test_a_long_question_vector_counts_as_its_direction() -> None:
    item = memory("m")
    (match,) = Matcher([item], 1.0).top(item.embedding * np.float32(7.0), [], 1)
    assert match.score == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("alpha", [-0.01, 1.01, float("nan"), float("inf")])
def test_alpha_out_of_range_is_refused(alpha: float) -> None:
    with pytest.raises(SettingError, match="alpha"):
        Matcher([], alpha)


def test_another_dimension_is_refused() -> None:
    with pytest.raises(StoreMismatchError):
        Matcher([memory("m")], 0.5).top(unit_vector("x", 9), [], 1)
    with pytest.raises(StoreMismatchError):
        Matcher([memory("m"), memory("n", dimension=9)], 0.5)


@pytest.mark.parametrize("sweep_from", [1, 10**9])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name(value: float, sweep_from: int) -> None:
    good = [memory(f"m{number}") for number in range(40)]
    unfit = good[7].embedding.copy()
    unfit[2] = value
    with pytest.raises(StoreError, match="finite") as caught:
        Matcher([*good, replace(memory("unfit"), embedding=unfit)], 0.5, sweep_from)
    assert caught.value.where == "unfit"
    with pytest.raises(StoreError, match="finite"):
        Matcher(good, 0.5, sweep_from).top(unfit, ["a"], 3)
