from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.hypergraph import LearningSettings
from fedrag_flwr.hypergraph.objective import (
    BALANCE,
    Entries,
    SoftObjective,
    choose_pairs,
    hard_objective,
    inter_term,
)
from tests.hypergraph.samples import cloud, generator


def candidates(rng: np.random.Generator, count: int, edges: int, width: int) -> Entries:
    return Entries.of_candidates(np.array([rng.permutation(edges)[:width] for _ in range(count)]), edges)


@pytest.mark.parametrize("all_pairs", [True, False])
@pytest.mark.parametrize("margin", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("intra_weight", [0.0, 0.6, 1.0])
def test_the_gradient_agrees_with_finite_differences(all_pairs: bool, margin: float, intra_weight: float) -> None:
    rng = generator(3)
    vectors = cloud(24, dimension=6).vectors.astype(np.float64)
    entries = candidates(rng, 24, 8, 4)
    seeds = vectors[:8]
    pairs = None if all_pairs else choose_pairs(seeds, all_pairs=0, neighbours=3)
    assert (pairs is None) == all_pairs
    objective = SoftObjective(
        vectors, entries, seeds, LearningSettings(margin=margin, intra_weight=intra_weight), pairs
    )
    weights = rng.dirichlet(np.ones(4), 24).reshape(-1)
    _, gradient = objective.value_and_gradient(weights)
    step = 1e-6
    for entry in range(len(weights)):
        shift = np.zeros(len(weights))
        shift[entry] = step
        difference = objective.value_and_gradient(weights + shift)[0] - objective.value_and_gradient(weights - shift)[0]
        assert gradient[entry] == pytest.approx(difference / (2 * step), abs=1e-7)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_the_gradient_is_finite_on_the_simplex_boundary(seed: int) -> None:
    rng = generator(seed)
    vectors = np.repeat(cloud(6, dimension=4, seed=seed).vectors.astype(np.float64), 2, axis=0)
    entries = candidates(rng, 12, 3, 3)
    one_hot = np.eye(3)[rng.integers(3, size=12)].reshape(-1)
    value, gradient = SoftObjective(vectors, entries, vectors[:3], LearningSettings(), None).value_and_gradient(one_hot)
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()


def written_out(vectors: np.ndarray, groups: list[list[int]], setting: LearningSettings) -> float:
    """Eq. 5-8 with loops, for memberships of 1."""
    prototypes = [vectors[group].mean(axis=0) for group in groups]
    intra = inter = 0.0
    for group, prototype in zip(groups, prototypes, strict=True):
        intra += sum(float(np.linalg.norm(vectors[n] - prototype)) for n in group) / len(group) / len(groups)
    for first in prototypes:
        for second in prototypes:
            distance = float(np.linalg.norm(first - second))
            cosine = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
            term = cosine * distance + (1 - cosine) * max(setting.margin - distance, 0.0)
            inter += term / len(groups) ** 2
    return setting.intra_weight * intra + (1 - setting.intra_weight) * inter


def one_hot(groups: list[list[int]]) -> tuple[Entries, np.ndarray]:
    rows = np.array([n for group in groups for n in group])
    edges = np.array([edge for edge, group in enumerate(groups) for _ in group])
    return Entries(rows, edges, len(groups)), np.ones(len(rows))


GROUPS = [[0, 1, 2], [3, 4], [5], [6, 7, 8, 9]]


@pytest.mark.parametrize("margin", [0.5, 1.0, 1.5])
def test_the_hard_objective_is_the_papers(margin: float) -> None:
    vectors = cloud(10, dimension=5).vectors.astype(np.float64)
    entries, weights = one_hot(GROUPS)
    setting = LearningSettings(margin=margin)
    expected = written_out(vectors, GROUPS, setting)
    assert hard_objective(vectors, weights, entries, setting) == pytest.approx(expected, abs=1e-6)


def test_the_soft_objective_at_hard_memberships_is_near_the_papers_plus_the_balance() -> None:
    vectors = cloud(10, dimension=5).vectors.astype(np.float64)
    entries, weights = one_hot(GROUPS)
    setting = LearningSettings()
    seeds = np.array([vectors[group].mean(axis=0) for group in GROUPS])
    value, _ = SoftObjective(vectors, entries, seeds, setting, None).value_and_gradient(weights)
    balance = BALANCE * np.mean([(len(group) / setting.units_per_edge - 1) ** 2 for group in GROUPS])
    assert value == pytest.approx(written_out(vectors, GROUPS, setting) + balance, abs=0.03)


def test_an_empty_hyperedge_counts_in_the_mean_and_nowhere_else() -> None:
    vectors = cloud(10, dimension=5).vectors.astype(np.float64)
    entries, weights = one_hot([[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]])
    setting = LearningSettings(intra_weight=1.0)
    wider = Entries(entries.rows, entries.edges * 2, 4)
    assert hard_objective(vectors, weights, wider, setting) == pytest.approx(
        hard_objective(vectors, weights, entries, setting) / 2
    )


def test_nothing_costs_nothing() -> None:
    empty = Entries(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0)
    assert hard_objective(np.zeros((0, 3)), np.zeros(0), empty, LearningSettings()) == 0.0
    assert inter_term(np.zeros((0, 3)), 1.0, None)[0] == 0.0


def test_listing_all_pairs_gives_the_mean_without_the_diagonal() -> None:
    prototypes = cloud(12, dimension=6).vectors.astype(np.float64)
    pairs = choose_pairs(prototypes, all_pairs=0, neighbours=20)
    assert pairs is not None
    assert len(pairs.first) == 12 * 11
    listed, listed_slope = inter_term(prototypes, 1.0, pairs)
    everything, slope = inter_term(prototypes, 1.0, None)
    assert listed * 11 / 12 == pytest.approx(everything, abs=1e-9)
    assert listed_slope * 11 / 12 == pytest.approx(slope, abs=1e-9)
