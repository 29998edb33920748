"""Percentile bootstrap intervals over questions, paired and stratified by device.

Few questions of a device tell too small a spread, by (n - 1) / n of its variance, so what is drawn is spread by as much
(J. N. K. Rao and C. F. J. Wu, Resampling inference with complex survey data, 1988).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedrag_flwr.errors import SettingError

_BLOCK = 1_000_000  # numbers
_FEW = 5  # questions of a device: from fewer its own spread cannot be told


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds of its bootstrap interval, in the unit of the values."""

    value: float
    low: float
    high: float


def mean_interval(
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    groups: Sequence[str] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """Bootstrap the mean of one value for each question.

    Parameters
    ----------
    values
        One value for each question, shape (n,).
    rng
        The source of randomness.
    groups
        The device of each question, shape (n,): the estimate is then the mean of the devices' means, and questions are
        drawn anew within each device. A device with fewer than five takes its spread from all questions.
    level
        Coverage, in (0, 1).
    resamples
        Number of bootstrap resamples.

    Raises
    ------
    SettingError
        There are no values, their shapes differ, or the level or the number of resamples is out of range.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not sample.size or (groups is not None and len(groups) != sample.size):
        raise SettingError("values and groups must be flat, not empty and of one length", where="bootstrap")
    if not 0.0 < level < 1.0 or resamples < 1:
        raise SettingError("level must lie in (0, 1) and resamples above 0", where="bootstrap")
    strata = _strata(sample, groups)
    value = float(np.mean([stratum.mean() for stratum in strata]))
    errors = np.mean([_errors(stratum, sample, resamples, rng) for stratum in strata], axis=0)
    draws = np.clip(value + errors, sample.min(), sample.max())
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    groups: Sequence[str] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """Bootstrap the difference of means `first` - `second` of two systems over the same questions.

    Parameters and errors as for `mean_interval`; question i is drawn for both systems at once.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.shape != right.shape:
        raise SettingError("a paired difference needs the same questions on both sides", where="bootstrap")
    return mean_interval(left - right, rng=rng, groups=groups, level=level, resamples=resamples)


def _strata(values: NDArray[np.float64], groups: Sequence[str] | None) -> list[NDArray[np.float64]]:
    if groups is None:
        return [values]
    names = np.asarray(groups)
    return [values[names == name] for name in sorted(set(groups))]


def _errors(
    values: NDArray[np.float64], sample: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """By how much means of so many values miss what they estimate, shape (resamples,); of few, as all values tell."""
    known = values if values.size >= _FEW else sample
    error = _resampled_means(known, values.size, resamples, rng) - known.mean()
    scaled: NDArray[np.float64] = error * np.sqrt(known.size / max(1, known.size - 1))
    return scaled


def _resampled_means(
    values: NDArray[np.float64], count: int, resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Means of `count` values that are drawn with replacement, shape (resamples,)."""
    block = max(1, _BLOCK // count)  # bounds the memory of one draw
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    return np.concatenate([values[rng.integers(0, values.size, (size, count))].mean(axis=1) for size in sizes])
