"""Components kept in a byte each bound the cosine from above, and closely."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.memory.matching.postings import counted
from fedrag_flwr.memory.matching.rounded import DEEP, SHALLOW, Depth, Rounded


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def rounded(rows: NDArray[np.float32]) -> Rounded:
    return Rounded(rows[:, :DEEP], np.einsum("nd,nd->n", rows, rows))


@given(
    seed=st.integers(0, 10**6),
    dimension=st.sampled_from([1, 3, SHALLOW, SHALLOW + 1, DEEP, 300]),
    shape=st.sampled_from(["even", "one far out", "all equal", "zeros"]),
)
@settings(max_examples=80, deadline=None)
def test_bounds_are_never_below_cosines(seed: int, dimension: int, shape: str) -> None:
    random = np.random.default_rng(seed)
    wide = random.standard_normal((60, dimension)) / np.arange(1, dimension + 1)
    if shape == "one far out":
        wide[7] = 0.0
        wide[7, -1] = 1.0  # far beyond what the levels of that component span
    elif shape == "all equal":
        wide[:] = wide[0]
    elif shape == "zeros":
        wide[::2] = 0.0
    vectors = unit(wide)
    kept = rounded(vectors)
    another = unit(random.standard_normal((1, dimension)))[0]
    for question in (vectors[random.integers(60)], another, np.zeros(dimension)):
        asked = question.astype(np.float64)
        rows = random.permutation(60)[:40]
        for depth in get_args(Depth):
            bounds = kept.bounds(asked[:DEEP], float(asked @ asked), rows, depth)
            assert (bounds >= vectors[rows].astype(np.float64) @ asked - 1e-5).all()


@pytest.mark.parametrize("depth", get_args(Depth))
def test_where_nothing_is_left_out_only_rounding_is_added(depth: Depth) -> None:
    random = np.random.default_rng(5)
    vectors = unit(random.standard_normal((500, SHALLOW)))
    asked = vectors[3].astype(np.float64)
    rows = np.arange(500)
    bounds = rounded(vectors).bounds(asked, 1.0, rows, depth)
    assert (bounds - vectors.astype(np.float64) @ asked).max() < 0.03


@given(st.lists(st.lists(st.integers(0, 50), unique=True).map(sorted), max_size=5))
def test_counted_rows_are_sorted_and_each_once(parts: list[list[int]]) -> None:
    rows, counts = counted([np.array(part, dtype=np.int32) for part in parts])
    assert dict(zip(rows.tolist(), counts.tolist(), strict=True)) == Counter(row for part in parts for row in part)
    assert rows.tolist() == sorted(rows.tolist())
    assert rows.dtype == np.int64
