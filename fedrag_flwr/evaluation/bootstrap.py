"""Percentile bootstrap intervals over questions, paired and stratified by device.

Few questions of a device tell too small a spread, by (n - 1) / n of its variance, so what is drawn is spread by as much
(J. N. K. Rao and C. F. J. Wu, Resampling inference with complex survey data, 1988).

Where nearly all questions are right, or nearly all wrong, drawing them anew hardly ever shows the others: of zeros and
ones an interval therefore also holds the score interval (E. B. Wilson, Probable inference, 1927), of their differences
the adjusted one of A. Agresti and Y. Min (Improved confidence intervals for comparing matched proportions, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AllowInfNan

from fedrag_flwr.errors import SettingError

Finite = Annotated[float, AllowInfNan(False)]
_Strata = Sequence[NDArray[np.float64]]  # the values of each device

_BLOCK = 1_000_000  # numbers
_LEVEL = 0.95  # coverage of all intervals
_Z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
_FEW = 5  # questions of a device: from fewer its own spread cannot be told


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds of its interval, in the unit of the values."""

    value: Finite
    low: Finite
    high: Finite


def mean_interval(
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    groups: Sequence[str] | None = None,
    resamples: int = 2000,
) -> Interval:
    """Bootstrap the mean of one value for each question.

    `values` and `groups`, the device of each question, have shape (n,). With groups the estimate is the mean of the
    devices' means, and questions are drawn anew within each device; one with fewer than five takes its spread from all
    questions. Raises SettingError: there are no values, their shapes differ, or the number of resamples is out of
    range.
    """
    return _interval(np.asarray(values, dtype=np.float64), _wilson, rng, groups, resamples)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    groups: Sequence[str] | None = None,
    resamples: int = 2000,
) -> Interval:
    """Bootstrap the difference of means `first` - `second` of two systems over the same questions.

    Parameters and errors as for `mean_interval`; question i is drawn for both systems at once.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.shape != right.shape:
        raise SettingError("a paired difference needs the same questions on both sides", where="bootstrap")
    return _interval(left - right, _agresti_min, rng, groups, resamples)


def share_interval(right: float, of: int) -> tuple[float, float]:
    """Wilson's score interval of a share of `of` things; all of [0, 1] where there are none.

    For a mean of values within [0, 1] that adds up to `right` it is wider than needed, never narrower.
    """
    return _score_bounds(right / of, of, _Z) if of else (0.0, 1.0)


def _interval(
    values: NDArray[np.float64],
    bounds: Callable[[_Strata, float], tuple[float, ...]],
    rng: np.random.Generator,
    groups: Sequence[str] | None,
    resamples: int,
) -> Interval:
    if values.ndim != 1 or not values.size or (groups is not None and len(groups) != values.size):
        raise SettingError("values and groups must be flat, not empty and of one length", where="bootstrap")
    if resamples < 1:
        raise SettingError("there must be one resample or more", where="bootstrap")
    strata = _strata(values, groups)
    value = float(np.mean([stratum.mean() for stratum in strata]))
    errors = np.mean([_errors(stratum, values, resamples, rng) for stratum in strata], axis=0)
    draws = np.clip(value + errors, values.min(), values.max())
    low, high = np.quantile(draws, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    told = (float(low), float(high), *bounds(strata, _Z))
    return Interval(value, min(told), max(told))


def _wilson(strata: _Strata, z: float) -> tuple[float, ...]:
    """Bounds of a mean of zeros and ones; none of other values."""
    return _score_bounds(_share(strata, 1.0), _weight(strata), z) if _are(strata, (0.0, 1.0)) else ()


def _score_bounds(share: float, count: float, z: float) -> tuple[float, float]:
    middle, spread = share + z * z / (2 * count), (share * (1 - share) / count + (z / (2 * count)) ** 2) ** 0.5
    low, high = ((middle + side * spread) / (1 + z * z / count) for side in (-z, z))
    return max(0.0, low), min(1.0, high)


def _agresti_min(strata: _Strata, z: float) -> tuple[float, ...]:
    """Bounds of a mean difference of zeros and ones; none of other values."""
    if not _are(strata, (-1.0, 0.0, 1.0)):
        return ()
    count = _weight(strata)
    won, lost = ((_share(strata, sign) * count + 0.5) / (count + 2) for sign in (1.0, -1.0))
    half = z * ((won + lost - (won - lost) ** 2) / (count + 2)) ** 0.5
    return max(-1.0, won - lost - half), min(1.0, won - lost + half)


def _are(strata: _Strata, values: Sequence[float]) -> bool:
    return all(np.isin(stratum, values).all() for stratum in strata)


def _share(strata: _Strata, value: float) -> float:
    return float(np.mean([(stratum == value).mean() for stratum in strata]))


def _weight(strata: _Strata) -> float:
    """How many questions would tell as much if all weighed the same: devices do, however many questions they have."""
    return len(strata) / float(np.mean([1 / stratum.size for stratum in strata]))


def _strata(values: NDArray[np.float64], groups: Sequence[str] | None) -> _Strata:
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
