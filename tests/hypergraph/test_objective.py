import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.hypergraph.objective import BALANCE, Entries, SoftObjective, choose_pairs
from simulations.benchmarks.hypergraph import dense_hard_objective, dense_soft_loss, hard_objective, learn_dense
from tests.hypergraph.samples import cloud, generator


def candidates(rng: np.random.Generator, count: int, edges: int, width: int) -> Entries:
    return Entries.of_candidates(np.array([rng.permutation(edges)[:width] for _ in range(count)]), edges)


@pytest.mark.parametrize("neighbours", [3, 20])
@pytest.mark.parametrize("margin", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("intra_weight", [0.0, 0.6, 1.0])
def test_the_gradient_agrees_with_finite_differences(neighbours: int, margin: float, intra_weight: float) -> None:
    rng = generator(3)
    vectors = cloud(24, dimension=6).vectors.astype(np.float64)
    entries = candidates(rng, 24, 8, 4)
    seeds = vectors[:8]
    pairs = choose_pairs(seeds, neighbours)
    objective = SoftObjective(
        vectors, entries, seeds, LearningSettings(margin=margin, intra_weight=intra_weight), pairs
    )
    weights = rng.dirichlet(np.ones(4), 24).reshape(-1)
    gradient = objective.evaluate(weights)[1]()
    step = 1e-6
    for entry in range(len(weights)):
        shift = np.zeros(len(weights))
        shift[entry] = step
        difference = objective.evaluate(weights + shift)[0] - objective.evaluate(weights - shift)[0]
        assert gradient[entry] == pytest.approx(difference / (2 * step), abs=1e-7)


@given(st.integers(0, 10_000))
def test_the_gradient_is_finite_on_the_simplex_boundary(seed: int) -> None:
    rng = generator(seed)
    vectors = np.repeat(cloud(6, dimension=4, seed=seed).vectors.astype(np.float64), 2, axis=0)
    entries = candidates(rng, 12, 3, 3)
    one_hot = np.eye(3)[rng.integers(3, size=12)].reshape(-1)
    pairs = choose_pairs(vectors[:3])
    value, gradient = SoftObjective(vectors, entries, vectors[:3], LearningSettings(), pairs).evaluate(one_hot)
    assert math.isfinite(value)
    assert np.isfinite(gradient()).all()


def test_single_precision_changes_next_to_nothing() -> None:
    rng = generator(4)
    vectors = cloud(400, dimension=32).vectors
    entries = candidates(rng, 400, 100, 8)
    weights = rng.dirichlet(np.ones(8), 400).reshape(-1)
    found = []
    for rows in (vectors, vectors.astype(np.float64)):
        objective = SoftObjective(rows, entries, rows[:100], LearningSettings(), choose_pairs(rows[:100]))
        found.append(objective.evaluate(weights))
    (value, gradient), (exact_value, exact_gradient) = found
    assert value == pytest.approx(exact_value, rel=1e-6)
    assert gradient() == pytest.approx(exact_gradient(), abs=1e-4 * float(np.abs(exact_gradient()).max()))


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


def dense(groups: list[list[int]]) -> np.ndarray:
    rows = np.zeros((sum(map(len, groups)), len(groups)))
    for edge, group in enumerate(groups):
        rows[group, edge] = 1.0
    return rows


@pytest.mark.parametrize("margin", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("intra_weight", [0.0, 0.6, 1.0])
def test_the_dense_reference_is_the_papers_with_one_hyperedge_a_unit(margin: float, intra_weight: float) -> None:
    group = cloud(10, dimension=5)
    setting = LearningSettings(margin=margin, intra_weight=intra_weight)
    expected = written_out(group.vectors.astype(np.float64), GROUPS, setting)
    assert dense_soft_loss(group, dense(GROUPS), setting) == pytest.approx(expected, abs=1e-5)
    assert dense_hard_objective(group, dense(GROUPS), setting) == pytest.approx(expected, abs=1e-5)


def weighted_out(vectors: np.ndarray, rows: np.ndarray, counted: np.ndarray, setting: LearningSettings) -> float:
    """Eq. 5-8 with loops: prototypes of the memberships in `rows`, and eq. 6's means over what counts as a member."""
    prototypes, intra, inter = [], 0.0, 0.0
    for weights, parts in zip(rows.T, counted.T, strict=True):
        if not weights.any():
            continue  # no members, and no prototype
        prototype = sum(weight * vector for weight, vector in zip(weights, vectors, strict=True)) / sum(weights)
        prototypes.append(prototype)
        norms = (float(np.linalg.norm(vector - prototype)) for vector in vectors)
        intra += sum(part * norm for part, norm in zip(parts, norms, strict=True)) / sum(parts) / rows.shape[1]
    for first in prototypes:
        for second in prototypes:
            distance = float(np.linalg.norm(first - second))
            cosine = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
            term = cosine * distance + (1 - cosine) * max(setting.margin - distance, 0.0)
            inter += term / len(prototypes) ** 2
    return setting.intra_weight * intra + (1 - setting.intra_weight) * inter


@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 1.5]), st.sampled_from([0.0, 0.6, 1.0]))
def test_the_dense_reference_takes_memberships_as_weights(seed: int, margin: float, intra_weight: float) -> None:
    group = cloud(12, dimension=4, seed=seed)
    vectors, rows = group.vectors.astype(np.float64), generator(seed).dirichlet(np.full(3, 0.5), 12)
    setting = LearningSettings(margin=margin, intra_weight=intra_weight, threshold=0.2)
    assert dense_soft_loss(group, rows, setting) == pytest.approx(weighted_out(vectors, rows, rows, setting), abs=1e-5)
    kept = rows > 0.2  # each unit in one to three hyperedges
    expected = weighted_out(vectors, rows * kept, kept, setting)
    assert dense_hard_objective(group, rows, setting) == pytest.approx(expected, abs=1e-5)


def test_the_loss_that_the_dense_reference_records_is_that_of_its_rows() -> None:
    group = cloud(12, dimension=4)
    for steps in (0, 5):
        setting = LearningSettings(steps=steps)
        rows, losses = learn_dense(group, setting, generator())
        assert len(losses) == steps + 1
        expected = weighted_out(group.vectors.astype(np.float64), rows, rows, setting)
        assert losses[-1] == pytest.approx(expected, abs=1e-4)  # in single precision nothing is at distance 0 of itself


def test_the_soft_objective_at_hard_memberships_is_near_the_papers_plus_the_balance() -> None:
    vectors = cloud(10, dimension=5).vectors.astype(np.float64)
    entries, weights = one_hot(GROUPS)
    setting = LearningSettings()
    seeds = np.array([vectors[group].mean(axis=0) for group in GROUPS])
    value, _ = SoftObjective(vectors, entries, seeds, setting, choose_pairs(seeds)).evaluate(weights)
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
