"""Matching is the exact arg max of FD-RAG eq. 11 to 13."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError, StoreMismatchError
from fedrag_flwr.memory import Matcher
from fedrag_flwr.records import MemoryItem, Vector
from tests.memory.store_samples import memory, unit_vector

ANCHORS = ("a", "b", "c", "d", "e")


def brute_force(
    items: list[MemoryItem], alpha: float, vector: Vector, anchors: set[str], k: int
) -> list[tuple[str, float, float, float]]:
    question = vector.astype(np.float64)
    if np.linalg.norm(question) > 0:
        question = question / np.linalg.norm(question)
    scored = []
    for item in items:
        row = item.embedding / max(np.linalg.norm(item.embedding), np.float32(1e-30))
        similarity = float((row.astype(np.float64) * question).sum())
        together = len(anchors) + len(set(item.anchors))
        cover = 2.0 * len(anchors & set(item.anchors)) / together if together else 0.0
        scored.append((item.id, alpha * similarity + (1 - alpha) * cover, similarity, cover))
    return sorted(scored, key=lambda found: (-found[1], found[0]))[:k]


@st.composite
def memories(draw: st.DrawFn) -> list[MemoryItem]:
    # few distinct vectors and anchor sets, so that ties are common
    count = draw(st.integers(0, 40))
    made = []
    for number in draw(st.permutations(range(count))):
        anchors = draw(st.frozensets(st.sampled_from(ANCHORS), max_size=3))
        vector = unit_vector(f"v{draw(st.integers(0, 4))}", 16)
        made.append(replace(memory(f"m{number}"), embedding=vector, anchors=tuple(anchors)))
    return made


@given(
    items=memories(),
    alpha=st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]),
    name=st.sampled_from(["v0", "v1", "other"]),
    anchors=st.frozensets(st.sampled_from([*ANCHORS, "unknown"]), max_size=4),
    k=st.integers(0, 45),
)
@settings(max_examples=80, deadline=None)
def test_it_equals_a_loop_over_all(
    items: list[MemoryItem], alpha: float, name: str, anchors: frozenset[str], k: int
) -> None:
    vector = unit_vector(name, 16)
    found = Matcher(items, alpha).top(vector, anchors, k)
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


def test_it_equals_a_loop_over_many() -> None:
    random = np.random.default_rng(3)
    items = [
        replace(
            memory(f"m{number}"),
            embedding=unit_vector(f"{number}", 384),
            anchors=tuple(f"a{anchor}" for anchor in random.integers(0, 300, 6)),
        )
        for number in range(2000)
    ]
    matcher = Matcher(items, 0.6)
    for number in range(5):
        vector = unit_vector(f"question {number}", 384)
        anchors = {f"a{anchor}" for anchor in random.integers(0, 300, 4)}
        found = matcher.top(vector, anchors, 10)
        assert [match.item.id for match in found] == [row[0] for row in brute_force(items, 0.6, vector, anchors, 10)]


def test_equal_memories_tie_by_id_wherever_they_stand() -> None:
    vector = unit_vector("same", 384)
    items = [replace(memory(f"m{number:04}"), embedding=vector, anchors=("a",)) for number in range(1003)]
    found = Matcher(items[::-1], 0.7).top(unit_vector("question", 384), ["a"], 7)
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
