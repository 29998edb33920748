"""Risk-coverage curves beside their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.evaluation.metrics import risk_coverage

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
