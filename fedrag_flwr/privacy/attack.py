"""What a reader who knows the mechanism can restore: the other side of randomised response (FD-RAG D.3)."""

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
