import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedrag_flwr.hypergraph.rows import project_rows

ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.floats(-1e3, 1e3, allow_nan=False, allow_subnormal=False),
)


def brute_force(row: np.ndarray) -> np.ndarray:
    """Try every support: on each the projection is a shift, and the nearest feasible one wins."""
    best, nearest = np.full(len(row), np.nan), np.inf
    for size in range(1, len(row) + 1):
        for support in itertools.combinations(range(len(row)), size):
            chosen = list(support)
            point = np.zeros(len(row))
            point[chosen] = row[chosen] + (1.0 - row[chosen].sum()) / size
            distance = float((point * (point - 2 * row)).sum())  # less row @ row, in which small ones would be lost
            if point.min() >= -1e-12 and distance < nearest:
                best, nearest = point, distance
    return best


@given(ROWS)
def test_the_projection_is_the_nearest_point_of_the_simplex(values: np.ndarray) -> None:
    projected = project_rows(values)
    for row, nearest in zip(values, projected, strict=True):
        assert nearest == pytest.approx(brute_force(row), abs=1e-9)


@given(ROWS, st.integers(0, 2**32 - 1))
def test_no_other_point_of_the_simplex_makes_a_sharp_angle(values: np.ndarray, seed: int) -> None:
    projected = project_rows(values)
    others = np.random.default_rng(seed).dirichlet(np.ones(values.shape[1]), len(values))
    assert (((values - projected) * (others - projected)).sum(axis=1) <= 1e-8).all()  # eq. 23


@given(ROWS)
def test_rows_are_on_the_simplex_and_projecting_again_changes_nothing(values: np.ndarray) -> None:
    projected = project_rows(values)
    assert (projected >= 0).all()
    assert projected.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert project_rows(projected) == pytest.approx(projected, abs=1e-12)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([7.0], [1.0]),
        ([0.0, 0.0], [0.5, 0.5]),
        ([0.2, 0.8], [0.2, 0.8]),
        ([5.0, 0.0, -5.0], [1.0, 0.0, 0.0]),
        ([1e12, 1e12 + 1, 0.0], [0.0, 1.0, 0.0]),
        ([-1e300, -1e300], [0.5, 0.5]),
    ],
)
def test_known_projections(row: list[float], expected: list[float]) -> None:
    assert project_rows(np.array([row]))[0] == pytest.approx(expected)


def test_no_rows_give_no_rows() -> None:
    assert project_rows(np.zeros((0, 4))).shape == (0, 4)
