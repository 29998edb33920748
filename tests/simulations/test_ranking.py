"""Measures of rankings and of a confidence agree with what is counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.bench.ranking import hit_at, ndcg_at, precision_at, reciprocal_rank, risk_coverage

BY_HAND = [
    ([], 0.0, 0.0, 0.0),
    ([True], 1.0, 0.2, 1.0),
    ([False, True, True], 0.5, 0.4, 1.0),
    ([False] * 5 + [True], 1 / 6, 0.0, 0.0),
]


@pytest.mark.parametrize(("relevant", "mrr", "precision", "hit"), BY_HAND)
def test_by_hand(relevant: list[bool], mrr: float, precision: float, hit: float) -> None:
    assert reciprocal_rank(relevant) == pytest.approx(mrr)
    assert precision_at(relevant, 5) == pytest.approx(precision)
    assert hit_at(relevant, 5) == hit


@given(st.integers(0, 19), st.integers(20, 25), st.integers(1, 12))
def test_ndcg_is_scikit_learns(place: int, count: int, k: int) -> None:
    from sklearn.metrics import ndcg_score  # type: ignore[import-untyped, unused-ignore]

    relevant, falling = [one == place for one in range(count)], list(range(count, 0, -1))
    assert ndcg_at(relevant, k) == pytest.approx(ndcg_score([relevant], [falling], k=k))


rows = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.booleans()), min_size=1, max_size=40)


@given(rows)
def test_each_point_is_the_share_of_wrong_answers_above_a_score(rows: list[tuple[float, bool]]) -> None:
    scores, wrong = [score for score, _ in rows], [bad for _, bad in rows]
    curve = risk_coverage(scores, wrong)
    shares, risks = [], []
    for bar in sorted(set(scores), reverse=True):
        above = [bad for score, bad in rows if score >= bar]
        shares.append(len(above) / len(rows))
        risks.append(float(np.mean(above)))
    assert curve.coverage.tolist() == pytest.approx(shares)
    assert curve.risk.tolist() == pytest.approx(risks)
    assert 0.0 <= curve.area <= 1.0
    assert curve.at(1.0) == pytest.approx(np.mean(wrong))


# (scores, wrong, area)
CASES = [
    ([0.9, 0.8, 0.2, 0.1], [False, False, True, True], (0 + 0 + 1 / 3 + 1 / 2) / 4),
    ([0.9, 0.8, 0.2, 0.1], [True, True, False, False], (1 + 1 + 2 / 3 + 1 / 2) / 4),
    ([0.5, 0.5], [True, False], 0.5),
    ([0.5], [False], 0.0),
]


@pytest.mark.parametrize(("scores", "wrong", "area"), CASES)
def test_the_area(scores: list[float], wrong: list[bool], area: float) -> None:
    assert risk_coverage(scores, wrong).area == pytest.approx(area)


def test_nothing_has_no_curve() -> None:
    with pytest.raises(ValueError, match="questions"):
        risk_coverage([], [])
