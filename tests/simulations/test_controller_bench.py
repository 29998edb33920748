"""The controller's benchmark: what its measures count, and that federated training ends where pooled training does."""

from __future__ import annotations

import numpy as np
import pytest

from fedrag_flwr.retrieval import RankedPassage, Ranking
from simulations.parts.candidate_rankings import FIRST_STAGES, SECOND_HOP, SPACES, RankedQuestion
from simulations.parts.controller_federation import examples_of, federated, pooled
from simulations.parts.controller_variants import KEY, KEY_SPACES, Order, Split, measures, variants

NAMES = tuple(f"{place:02d}" for place in range(10))


def ranking(names: tuple[str, ...]) -> Ranking:
    return tuple(RankedPassage(name, 1.0 / (1 + place)) for place, name in enumerate(names))


def questions(seed: int, count: int) -> list[RankedQuestion]:
    """Two passages support each answer; the first stages lead with one, key spaces with the other."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        order = rng.permutation(NAMES).tolist()
        gold, rest = tuple(order[:2]), order[2:]

        def led_by(name: str, others: list[str] = rest, pair: tuple[str, ...] = gold) -> Ranking:
            left = rng.permutation([*others, *(one for one in pair if one != name)]).tolist()
            return ranking((name, *left))

        rankings = {name: led_by(gold[0]) for name in FIRST_STAGES}
        rankings |= {name: led_by(gold[1]) for name in (SECOND_HOP, *SPACES, *KEY_SPACES)}
        made.append(RankedQuestion(f"q{number}", gold, gold[:1], NAMES, NAMES, True, rankings))
    return made


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("00", "01", "02"), {"R@2": 100, "R@5": 100, "all@5": 100, "all@10": 100, "support@5": 0}),
        (("05", "06", "00"), {"R@2": 0, "R@5": 50, "all@5": 0, "all@10": 0, "support@5": 100}),
        (("02", "03", "04", "06", "07", "00", "01"), {"R@2": 0, "R@5": 0, "all@5": 0, "all@10": 100, "support@5": 0}),
        ((), {"R@2": 0, "R@5": 0, "all@5": 0, "all@10": 0, "support@5": 0}),
    ],
)
def test_measures(order: Order, expected: dict[str, float]) -> None:
    question = RankedQuestion("q", ("00", "01"), ("05",), NAMES, NAMES, True, {})
    assert {name: values[0] for name, values in measures([order], [question]).items()} == expected


def test_support_is_no_number_where_no_passage_holds_the_answer() -> None:
    question = RankedQuestion("q", ("00",), (), NAMES, NAMES, True, {})
    assert np.isnan(measures([NAMES], [question])["support@5"][0])


def test_two_sources_that_each_know_one_half_are_better_together() -> None:
    split = Split(questions(1, 40), questions(2, 40), seed=3)
    orders = variants(split).orders
    found = {name: float(measures(order, split.dev)["R@2"].mean()) for name, order in orders.items()}
    assert found[f"dense + {KEY}"] == 100.0
    assert found["oracle: answer paths"] == 100.0
    for alone in ("dense", "dense alone, reordered", "support scorer", KEY):
        assert found[alone] < 70.0


def test_federated_training_ends_where_pooled_training_does() -> None:
    parts = [examples_of(questions(seed, 15), seed) for seed in range(4)]
    one, other = federated(parts, 5), pooled(parts, 5)
    assert one.scaling.mean == pytest.approx(other.scaling.mean)
    asked = questions(9, 30)
    for question in asked:
        rankings = [question.rankings[name] for name in one.features.sources]
        assert {found.passage_id for found in one.rerank(rankings, 2)} == set(question.gold)
        assert {found.passage_id for found in other.rerank(rankings, 2)} == set(question.gold)
