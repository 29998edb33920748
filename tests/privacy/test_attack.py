"""What can be restored from surrogates: never more than the mechanism allows, and no less than the best guess gets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy import probabilities
from fedrag_flwr.privacy.attack import (
    best_possible,
    crossfit,
    draw_counts,
    expected_success,
    log_posterior,
    restored,
)

SIZES, EPSILONS = st.integers(2, 30), st.floats(0.05, 8.0)


def _prior(size: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return 3.0 * np.random.default_rng(seed).standard_normal(size)


@pytest.mark.parametrize(
    ("size", "epsilon", "share"),
    [(5, 0.1, 0.216), (5, 0.5, 0.292), (5, 1.0, 0.405), (5, 2.0, 0.649), (26, 1.0, 0.098), (11, 0.1, 0.100)],
)
def test_the_best_possible_attack(size: int, epsilon: float, share: float) -> None:
    assert best_possible(size, epsilon) == pytest.approx(share, abs=5e-4)
    assert best_possible(size, epsilon) == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + size - 1))


@given(SIZES, EPSILONS, st.integers(0, 2**32 - 1))
def test_no_belief_beats_the_mechanism_over_equally_likely_names(size: int, epsilon: float, seed: int) -> None:
    beliefs = _prior(size, seed)
    average = np.mean([expected_success(size, index, epsilon, beliefs) for index in range(size)])
    assert average <= best_possible(size, epsilon) + 1e-12
    uniform = [expected_success(size, index, epsilon, np.zeros(size)) for index in range(size)]
    assert uniform == pytest.approx([best_possible(size, epsilon)] * size)


@given(SIZES, EPSILONS, st.integers(0, 2**32 - 1))
def test_a_true_prior_gives_the_best_success_there_is(size: int, epsilon: float, seed: int) -> None:
    log_prior = _prior(size, seed)
    prior = np.exp(log_prior) / np.exp(log_prior).sum()
    joint = prior[:, None] * np.stack([probabilities(size, index, epsilon) for index in range(size)])
    success = [expected_success(size, index, epsilon, log_prior) for index in range(size)]
    assert prior @ success == pytest.approx(joint.max(axis=0).sum(), abs=1e-9)
    assert prior @ success <= math.exp(epsilon) * prior.max() + 1e-12  # what epsilon-LDP promises


@pytest.mark.parametrize(("uploads", "share"), [(0, 0.2), (1, 0.405), (5, 0.55), (10, 0.70), (50, 0.98)])
def test_fresh_noise_at_each_upload_can_be_averaged_away(uploads: int, share: float) -> None:
    rng = np.random.default_rng(uploads)
    counts = draw_counts(5, 3, 1.0, uploads, 20_000, rng)
    assert (counts.sum(axis=1) == uploads).all()
    assert restored(log_posterior(counts, 1.0), 3, rng).mean() == pytest.approx(share, abs=0.015)


def test_exact_and_drawn_success_agree() -> None:
    rng = np.random.default_rng(2)
    prior = _prior(7, 9)
    for index in range(7):
        drawn = restored(log_posterior(draw_counts(7, index, 1.5, 1, 20_000, rng), 1.5, prior), index, rng)
        assert drawn.mean() == pytest.approx(expected_success(7, index, 1.5, prior), abs=0.015)


def test_trust_is_learnt_on_other_names_only() -> None:
    successes = np.array([[1.0, 0.0], [0.2, 0.9], [1.0, 0.0], [0.2, 0.9]])
    assert crossfit(successes).tolist() == [0.0, 0.2, 0.0, 0.2]
    assert crossfit(np.tile([0.1, 0.6], (5, 1))).tolist() == [0.6] * 5


@pytest.mark.parametrize("prior", [np.zeros(4), np.full(5, np.nan), np.full(5, -np.inf)])
def test_a_prior_must_fit_the_group(prior: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    with pytest.raises(SettingError, match="log-prior"):
        log_posterior(np.zeros((3, 5), dtype=np.int64), 1.0, prior)
