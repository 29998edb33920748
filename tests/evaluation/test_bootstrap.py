"""Bootstrap intervals: parity with SciPy, coverage, and what must not be asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.bootstrap import mean_interval, paired_difference, share_interval

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_parity_with_scipy_within_devices() -> None:
    data = rng(5)
    groups = ["a"] * 60 + ["b"] * 25
    values = np.concatenate([data.random(60) ** 2, data.random(25)])
    ours = mean_interval(values, rng=rng(1), groups=groups, resamples=20_000)
    theirs = stats.bootstrap(
        (values[:60], values[60:]),
        lambda a, b, axis: (np.mean(a, axis=axis) + np.mean(b, axis=axis)) / 2,
        method="percentile",
        n_resamples=20_000,
        rng=rng(2),
    ).confidence_interval
    assert ours.value == pytest.approx((values[:60].mean() + values[60:].mean()) / 2)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_pairing_is_tighter_than_its_parts() -> None:
    data = rng(3)
    hard = data.random(200)
    first, second = (hard < 0.6).astype(float), (hard < 0.5).astype(float)
    paired = paired_difference(first, second, rng=rng())
    alone = mean_interval(first, rng=rng())
    assert paired.value == pytest.approx(first.mean() - second.mean())
    assert paired.low > 0
    assert paired.high - paired.low < alone.high - alone.low


def test_coverage_is_near_the_level() -> None:
    data = rng(11)
    hits = 0
    for _ in range(300):
        interval = mean_interval(data.random(80) < 0.6, rng=data, resamples=300)
        hits += interval.low <= 0.6 <= interval.high
    assert 0.9 <= hits / 300 <= 0.985


@pytest.mark.parametrize("sizes", [(3, 5, 8, 11, 13), (2,) * 20, (1,) * 40, (1, 20, 19)])
def test_coverage_holds_over_devices_with_few_questions(sizes: tuple[int, ...]) -> None:
    data, groups = rng(12), [str(device) for device, size in enumerate(sizes) for _ in range(size)]
    hits = 0
    for _ in range(400):
        difference = (data.random(40) < 0.4).astype(float) - (data.random(40) < 0.4)
        interval = mean_interval(difference, rng=data, groups=groups, resamples=300)
        hits += interval.low <= 0.0 <= interval.high
    assert 0.915 <= hits / 400 <= 0.985


@pytest.mark.parametrize(("won", "lost"), [(0.02, 0.0), (0.05, 0.0), (0.083, 0.0), (0.05, 0.03), (0.2, 0.1)])
@pytest.mark.parametrize("paired", [False, True])
def test_coverage_holds_where_few_are_right(won: float, lost: float, paired: bool) -> None:
    data, hits = rng(13), 0
    for _ in range(400):
        groups = [str(device) for device in data.integers(0, 5, 40)]
        drawn = data.random(40)
        first, second = (drawn < won).astype(float), (drawn > 1 - lost).astype(float)
        if paired:
            interval = paired_difference(first, second, rng=data, groups=groups, resamples=200)
        else:
            interval = mean_interval(first, rng=data, groups=groups, resamples=200)
        hits += interval.low <= won - (lost if paired else 0.0) <= interval.high
    assert hits / 400 >= 0.93


def test_what_never_happened_in_forty_questions_may_happen_in_the_next() -> None:
    none = mean_interval([0.0] * 40, rng=rng(), resamples=50)
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(stats.binomtest(0, 40).proportion_ci(method="wilson").high)
    few = mean_interval([1.0] * 3 + [0.0] * 37, rng=rng(), resamples=50)
    wilson = stats.binomtest(3, 40).proportion_ci(method="wilson")
    assert share_interval(3, 40) == pytest.approx((wilson.low, wilson.high))
    assert share_interval(0, 0) == (0.0, 1.0)
    assert few.low <= wilson.low + 1e-12
    assert few.high >= wilson.high - 1e-12
    equal = paired_difference([1.0, 0.0] * 20, [1.0, 0.0] * 20, rng=rng(), resamples=50)
    assert 0.03 < equal.high < 0.09


@given(SHARES)
def test_the_interval_holds_the_value(values: list[float]) -> None:
    groups = [str(number % 3) for number in range(len(values))]
    interval = mean_interval(values, rng=rng(), groups=groups, resamples=200)
    assert interval.low - 1e-9 <= interval.value <= interval.high + 1e-9
    same = paired_difference(values, values, rng=rng(), groups=groups, resamples=50)
    assert same.value == 0
    assert same.low == pytest.approx(-same.high)


@pytest.mark.parametrize(
    ("values", "groups", "resamples"), [([], None, 10), ([1, 2], ["a"], 10), ([1], None, 0), ([[1]], None, 9)]
)
def test_bad_arguments(values: list[float], groups: list[str] | None, resamples: int) -> None:
    with pytest.raises(SettingError):
        mean_interval(values, rng=rng(), groups=groups, resamples=resamples)


def test_a_pair_needs_the_same_questions() -> None:
    with pytest.raises(SettingError):
        paired_difference([1.0], [1.0, 0.0], rng=rng())
