import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.hypergraph.neighbours import nearest, seed_prototypes
from fedrag_flwr.hypergraph.objective import choose_pairs, near_separation
from fedrag_flwr.hypergraph.rows import row_products, weighted_sums
from simulations.benchmarks.hypergraph import separation
from tests.hypergraph.samples import cloud, generator


def doubles(count: int, dimension: int = 6, seed: int = 0) -> np.ndarray:
    return cloud(count, dimension=dimension, seed=seed).vectors.astype(np.float64)


@pytest.mark.parametrize("margin", [0.0, 0.7, 1.5])
def test_all_pairs_give_equation_7_but_for_the_rounding(margin: float) -> None:
    prototypes = doubles(12)
    pairs = choose_pairs(prototypes, 20)
    assert len(pairs.first) == 12 * 11 // 2
    assert pairs.total == 12 * 12
    assert near_separation(prototypes, margin, pairs)[0] == pytest.approx(separation(prototypes, margin), abs=0.02)


def test_near_pairs_are_those_of_the_nearest_seeds_each_once() -> None:
    seeds = doubles(60)
    pairs = choose_pairs(seeds, 3)
    similarities = seeds @ seeds.T
    np.fill_diagonal(similarities, -np.inf)
    near = {tuple(sorted((i, int(j)))) for i in range(60) for j in np.argsort(-similarities[i])[:3]}
    listed = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert set(listed) == near
    assert len(listed) == len(near)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_prototypes_have_nothing_to_separate(count: int) -> None:
    prototypes = doubles(2)[:count]
    assert separation(prototypes, 1.0) == pytest.approx(0.0, abs=1e-7)
    if count:
        value, gradient = near_separation(prototypes, 1.0, choose_pairs(prototypes))
        assert value == 0.0
        assert not gradient().any()


def test_evenly_spaced_prototypes_stand_for_all() -> None:
    prototypes = doubles(600, seed=3)
    assert separation(prototypes, 1.0, most_rows=150) == pytest.approx(separation(prototypes, 1.0), rel=0.03)


def laid_out(rows: int, width: int, more: int) -> np.ndarray:
    """Rows in runs of one length, as candidates are laid out, and then others."""
    return np.concatenate([np.repeat(np.arange(rows), width), (rows + np.arange(more)) % 20])


FIRSTS = st.one_of(
    st.builds(laid_out, st.integers(0, 20), st.integers(1, 700), st.integers(0, 9)),
    st.lists(st.integers(0, 19), max_size=60).map(lambda rows: np.array(rows, dtype=np.int64)),
)


@settings(deadline=None)
@given(FIRSTS, st.integers(0, 10_000))
def test_products_of_chosen_rows_are_those_of_all_rows(first: np.ndarray, seed: int) -> None:
    rng = generator(seed)
    left, right = rng.normal(size=(20, 5)), rng.normal(size=(7, 5))
    second = rng.integers(7, size=len(first))
    assert row_products(left, right, first, second) == pytest.approx((left @ right.T)[first, second], abs=1e-12)


def test_sums_by_group_are_those_of_a_loop() -> None:
    rng = generator()
    vectors, weights, rows = rng.normal(size=(9, 4)), rng.normal(size=30), rng.integers(9, size=30)
    groups = np.sort(rng.integers(6, size=30))
    expected = np.zeros((6, 4))
    np.add.at(expected, groups, weights[:, None] * vectors[rows])
    assert weighted_sums(weights, rows, groups, 6, vectors) == pytest.approx(expected, abs=1e-12)


def test_among_many_points_nearly_all_of_the_nearest_are_found() -> None:
    points, queries = np.split(cloud(3_500, topics=80).vectors, [3_000])
    found = nearest(queries, points, 8)
    exact = np.argsort(-(queries @ points.T), axis=1)[:, :8]
    assert np.mean([len(set(a) & set(b)) / 8 for a, b in zip(found, exact, strict=True)]) >= 0.95
    similarities = np.take_along_axis(queries @ points.T, found, axis=1)
    assert (np.diff(similarities, axis=1) <= 1e-6).all()


@pytest.mark.parametrize("count", [1, 1_024, 1_500])
def test_equal_points_are_found_too(count: int) -> None:
    points = np.tile(np.eye(4, dtype=np.float32)[:1], (count, 1))
    found = nearest(points, points, 8)
    assert found.shape == (count, min(8, count))
    assert all(len(set(row)) == len(row) for row in found.tolist())


@pytest.mark.parametrize("topics", [1, 50])
def test_seeds_of_many_units_are_spread_in_blocks(topics: int) -> None:
    vectors = cloud(9_000, dimension=8, topics=topics).vectors
    vectors = vectors if topics > 1 else np.tile(vectors[:1], (9_000, 1))
    seeds = seed_prototypes(vectors, 90, generator())
    assert seeds.shape == (90, 8)
    assert np.linalg.norm(seeds, axis=1) == pytest.approx(1.0, abs=1e-5)
