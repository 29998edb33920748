"""EM, F1, ranking measures and risk-coverage curves, against other implementations and their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.evaluation.metrics import accuracy, exact_match, f1, normalise_answer

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
