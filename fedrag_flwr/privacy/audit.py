"""Checks a mechanism from outside: what epsilon do exact probabilities, and mere draws, show at least?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


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
