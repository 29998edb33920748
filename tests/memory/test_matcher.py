"""Matching is the exact arg max of FD-RAG eq. 11 to 13."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError, StoreError, StoreMismatchError
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.records import MemoryItem, Vector
from tests.memory.store.samples import memory, unit_vector

ANCHORS = ("a", "b", "c", "d", "e")
NAMES = ("v0", "v1", "v2", "v3", "zero")


def brute_force(
    items: list[MemoryItem], alpha: float, vector: Vector, anchors: set[str], k: int
) -> list[tuple[str, float, float]]:
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
        scored.append((item.id, alpha * similarity + (1 - alpha) * cover, similarity))
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


@pytest.mark.parametrize("dimension", [3, 16, 130])
@given(
    data=st.data(),
    alpha=st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]),
    name=st.sampled_from([*NAMES, "other"]),
    anchors=st.frozensets(st.sampled_from([*ANCHORS, "unknown"]), max_size=4),
    k=st.integers(0, 45),
)
def test_it_equals_a_loop_over_all(
    dimension: int, data: st.DataObject, alpha: float, name: str, anchors: frozenset[str], k: int
) -> None:
    items = data.draw(memories(dimension))
    vector = vector_of(name, dimension)
    found = Matcher(items, alpha).top(vector, anchors, k)
    expected = brute_force(items, alpha, vector, set(anchors), k)
    assert [match.item.id for match in found] == [name for name, *_ in expected]
    np.testing.assert_allclose(
        [(match.score, match.similarity) for match in found],
        [numbers for _, *numbers in expected],
        atol=1e-9,
    )
    for match in found:
        assert -1.0 - 1e-6 <= match.similarity <= 1.0 + 1e-6


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


@pytest.mark.parametrize(("alpha", "dimension", "k"), [(0.0, 64, 5), (0.6, 384, 10), (1.0, 384, 1)])
def test_it_equals_a_loop_over_many(alpha: float, dimension: int, k: int) -> None:
    items = crowd(600, dimension, 3)
    matcher = Matcher(items, alpha)
    random = np.random.default_rng(4)
    for noise in (0.0, 0.02, 0.2):
        asked = items[random.integers(len(items))]
        vector = asked.embedding + noise * random.standard_normal(dimension).astype(np.float32)
        for anchors in (set(asked.anchors), {"a0", "a1"}, {"a299", "unknown"}, set[str]()):
            found = matcher.top(vector, anchors, k)
            expected = brute_force(items, alpha, vector, anchors, k)
            assert [match.item.id for match in found] == [row[0] for row in expected]
            np.testing.assert_allclose([match.score for match in found], [row[1] for row in expected], atol=1e-9)


def test_equal_memories_tie_by_id_wherever_they_stand() -> None:
    vector = unit_vector("same", 384)
    items = [replace(memory(f"m{number:04}"), embedding=vector, anchors=("a",)) for number in range(1003)]
    found = Matcher(items[::-1], 0.7).top(unit_vector("question", 384), ["a"], 7)
    assert [match.item.id for match in found] == [f"m{number:04}" for number in range(7)]
    assert len({match.score for match in found}) == 1


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


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_question_that_is_not_finite_is_refused(value: float) -> None:
    good = [memory(f"m{number}") for number in range(40)]
    unfit = good[7].embedding.copy()
    unfit[2] = value
    with pytest.raises(StoreError, match="finite"):
        Matcher(good, 0.5).top(unfit, ["a"], 3)
