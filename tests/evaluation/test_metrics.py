"""EM, F1, ranking measures and risk-coverage curves, against other implementations and their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.evaluation import accuracy, exact_match, f1, normalise_answer
from fedrag_flwr.evaluation.metrics import hit_at, ndcg_at, precision_at, reciprocal_rank, risk_coverage

WORDS = (
    *("the", "The", "A", "an", "yes", "no", "noanswer", "Titan", "moon", "moon's", "U.S.", "1,000", "–", "é", "co-op"),
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=30)
GOLDS = st.lists(TEXTS, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("prediction", "gold", "normalised", "em", "token_f1", "acc"),
    [
        ("Titan", "Titan", "titan", 1, 1, 1),
        ("The moon Titan.", "Titan", "moon titan", 0, 0.666667, 1),
        ("yes", "Yes.", "yes", 1, 1, 1),
        ("yes, it is", "yes", "yes it is", 0, 0, 1),
        ("It is so, yes", "yes", "it is so yes", 0, 0, 0),
        ("no", "No Doubt", "no", 0, 0, 0),
        ("No Doubt", "no", "no doubt", 0, 0, 1),
        ("noanswer", "no answer", "noanswer", 0, 0, 0),
        ("United States of America", "the U.S.", "united states of america", 0, 0, 0),
        ("July 20, 1969", "20 July 1969", "july 20 1969", 0, 1, 0),
        ("Barack Hussein Obama II", "Barack Obama", "barack hussein obama ii", 0, 0.666667, 0),
        ("a a b b", "b b b", "b b", 0, 0.8, 0),
        ("the cat the mat", "cat mat mat", "cat mat", 0, 0.8, 0),
        ("1,000", "1000", "1000", 1, 1, 1),
        ("11000", "1000", "11000", 0, 0, 0),
        ("well-known", "well known", "wellknown", 0, 0, 0),
        ("Théodore", "Theodore", "théodore", 0, 0, 0),
        ("", "the", "", 1, 0, 1),
        ("Titan", "the", "titan", 0, 0, 0),
        ("", "Titan", "", 0, 0, 0),
    ],
)
def test_one_gold(prediction: str, gold: str, normalised: str, em: float, token_f1: float, acc: float) -> None:
    assert normalise_answer(prediction) == normalised
    assert exact_match(prediction, [gold]) == em
    assert f1(prediction, [gold]) == pytest.approx(token_f1, abs=1e-6)
    assert accuracy(prediction, [gold]) == acc


def test_the_best_alias_counts() -> None:
    golds = ["20 July 1969", "July 20, 1969", "1969-07-20"]
    assert exact_match("July 20 1969", golds) == 1
    assert f1("on 1969-07-20", golds) == pytest.approx(2 / 3)
    assert accuracy("It was on July 20, 1969.", golds) == 1
    assert (exact_match("x", []), f1("x", []), accuracy("x", [])) == (0, 0, 0)


@given(TEXTS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise_answer(normalise_answer(text)) == normalise_answer(text)


@given(TEXTS, GOLDS)
def test_bounds_and_order(prediction: str, golds: list[str]) -> None:
    assert exact_match(prediction, golds) <= accuracy(prediction, golds)
    assert 0 <= f1(prediction, golds) <= 1
    if exact_match(prediction, golds) and normalise_answer(prediction):
        assert f1(prediction, golds) == 1


@given(TEXTS, GOLDS)
def test_order_of_aliases_does_not_matter(prediction: str, golds: list[str]) -> None:
    shuffled = sorted(golds)
    for metric in (exact_match, f1, accuracy):
        assert metric(prediction, golds) == metric(prediction, shuffled)


@given(TEXTS, TEXTS)
def test_f1_is_symmetric(left: str, right: str) -> None:
    assert f1(left, [right]) == pytest.approx(f1(right, [left]))


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
