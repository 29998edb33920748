"""Checks a mechanism from outside: what epsilon do exact probabilities, and mere draws, show at least?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.randomised_response import keep_probability, probabilities

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def best_possible(size: int, epsilon: float) -> float:
    """Success of the best guess at a name from one surrogate alone, all names of its group being equally likely.

    It is e^epsilon / (e^epsilon + size - 1), the probability that the name stays (eq. 16): as no other output is
    likelier under any name, guessing the surrogate itself is the maximum-likelihood attack.
    """
    return keep_probability(size, epsilon)


def log_posterior(counts: Counts, epsilon: float, log_prior: Floats | None = None) -> Floats:
    """What surrogates and context together say about the true member of a group.

    Parameters
    ----------
    counts
        How often each member was seen as a surrogate, of independent draws, shape (..., size).
    epsilon
        Budget of one draw: a member gains this much log-likelihood each time that it is seen.
    log_prior
        Log-probability of each member from elsewhere, up to a constant, shape (size,); uniform where it is missing.

    Returns
    -------
    Unnormalised log-posterior, shape (..., size).

    Raises
    ------
    SettingError
        If the prior is not finite or of another size than the group.
    """
    seen: Floats = epsilon * counts.astype(np.float64)
    if log_prior is None:
        return seen
    if log_prior.shape != seen.shape[-1:] or not np.isfinite(log_prior).all():
        raise SettingError("it needs one finite number for each member of the group", where="log-prior")
    return seen + log_prior


def draw_counts(size: int, index: int, epsilon: float, uploads: int, trials: int, rng: np.random.Generator) -> Counts:
    """Draw what a reader of independently perturbed uploads sees: each member's count, shape (trials, size)."""
    return rng.multinomial(uploads, probabilities(size, index, epsilon), size=trials)


def restored(log_posteriors: Floats, index: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Tell where the likeliest member, one of the equally likely by lot, is the true one.

    Parameters
    ----------
    log_posteriors
        Shape (trials, size).
    index
        The true member.
    rng
        Decides between equals.

    Returns
    -------
    Shape (trials,).
    """
    best = log_posteriors.max(axis=1, keepdims=True)
    lots = np.where(log_posteriors >= best - 1e-9, rng.random(log_posteriors.shape), -1.0)
    right: NDArray[np.bool_] = lots.argmax(axis=1) == index
    return right


def expected_success(size: int, index: int, epsilon: float, log_prior: Floats) -> float:
    """Exact success of the most likely guess from one surrogate and a prior, over all that the mechanism may draw.

    Parameters
    ----------
    log_prior
        Shape (size,); equally likely members share a success.
    """
    posteriors = log_posterior(np.eye(size, dtype=np.int64), epsilon, log_prior)
    ties = posteriors >= posteriors.max(axis=1, keepdims=True) - 1e-9
    guessed = ties[:, index] / ties.sum(axis=1)
    return float(probabilities(size, index, epsilon) @ guessed)


def crossfit(successes: Floats) -> Floats:
    """Success of an attacker who has learnt on other names which of several attacks to trust.

    Parameters
    ----------
    successes
        Success of each attack on each name, shape (names, attacks).

    Returns
    -------
    Shape (names,): names at even places with the attack that is best on the odd ones, and the other way round.
    """
    found = np.zeros(len(successes))
    for fold in range(2):
        learnt = successes[1 - fold :: 2]
        best = int(learnt.mean(axis=0).argmax()) if len(learnt) else 0
        found[fold::2] = successes[fold::2, best]
    return found


def largest_log_ratio(rows: NDArray[np.float64]) -> float:
    """Exact epsilon of a mechanism: the largest log-ratio of an output's probabilities over all pairs of inputs.

    Parameters
    ----------
    rows
        Distribution of the output for each input, shape (inputs, outputs).

    Returns
    -------
    Infinity where an output is possible under one input and impossible under another.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rows)
        ratios = logs.max(axis=0) - logs.min(axis=0)
    return float(np.where((rows == 0).all(axis=0), 0.0, ratios).max())


def empirical_epsilon(first: Counts, second: Counts, level: float = 0.001) -> float:
    """Lower confidence bound on the epsilon of a mechanism from draws under two inputs.

    Clopper-Pearson bounds on each output's probability under each input, at a level that all of them share
    (Bonferroni), so that the bound exceeds the true epsilon with a probability of at most `level`.

    Parameters
    ----------
    first, second
        How often each output came under each input, shape (outputs,).
    level
        Probability of a wrong bound.
    """
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]

    share = level / (4 * len(first))  # two bounds for each output, in two directions
    low, high = [], []
    for seen in (first, second):
        draws = seen.sum()
        low.append(np.where(seen > 0, stats.beta.ppf(share, np.maximum(seen, 1), draws - seen + 1), 0.0))
        high.append(np.where(seen < draws, stats.beta.ppf(1 - share, seen + 1, np.maximum(draws - seen, 1)), 1.0))
    with np.errstate(divide="ignore"):
        return float(max(np.log(low[0] / high[1]).max(), np.log(low[1] / high[0]).max()))
