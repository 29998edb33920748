"""Ranking measures, against scikit-learn's and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.evaluation.metrics import hit_at, ndcg_at, precision_at, reciprocal_rank

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


@given(st.lists(st.booleans(), min_size=2, max_size=20).filter(any), st.integers(1, 12))
def test_ndcg_is_scikit_learns(relevant: list[bool], k: int) -> None:
    from sklearn.metrics import ndcg_score  # type: ignore[import-untyped, unused-ignore]

    falling = list(range(len(relevant), 0, -1))
    assert ndcg_at(relevant, k, sum(relevant)) == pytest.approx(ndcg_score([relevant], [falling], k=k))
