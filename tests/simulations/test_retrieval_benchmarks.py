"""The benchmarks of retrieval: what their measures count, and federated training of the reranker."""

import numpy as np
import pytest

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import RankedPassage, Ranking
from simulations.bench.tables import Order, recalls
from simulations.benchmarks.controller import KEY, KEY_SPACES, Split, examples_of, federated, measures, pooled, variants
from simulations.benchmarks.retrieval import rank_by_spaces
from simulations.corpora.candidates import FIRST_STAGES, RARE, SECOND_HOP, SPACES, RankedQuestion

NAMES = tuple(f"{place:02d}" for place in range(10))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("00", "01", "02"), {"R@2": 100, "all@2": 100, "R@5": 100, "all@5": 100, "support@5": 0}),
        (("05", "06", "00"), {"R@2": 0, "all@2": 0, "R@5": 50, "all@5": 0, "support@5": 100}),
        (("02", "03", "04", "06", "07", "00", "01"), {"R@2": 0, "all@2": 0, "R@5": 0, "all@5": 0, "support@5": 0}),
        ((), {"R@2": 0, "all@2": 0, "R@5": 0, "all@5": 0, "support@5": 0}),
    ],
)
def test_measures_count_supporting_passages_and_answers(order: Order, expected: dict[str, float]) -> None:
    assert recalls([order], [("00", "01")], (2, 5), [("05",)]).iloc[0].to_dict() == expected


def test_support_is_no_number_where_no_passage_holds_the_answer() -> None:
    assert np.isnan(recalls([NAMES], [("00",)], (5,), [()])["support@5"][0])


def test_every_key_space_ranks_a_pool() -> None:
    facts = [
        ("Ada Morrow", "mapped", "Ossel"),
        ("Ossel", "flows through", "Lindmoor"),
        ("Lindmoor", "has", "Salt Archive"),
        ("Jonas Keel", "painted", "Tarn Bridge"),
        ("Tarn Bridge", "crosses", "Ossel"),
    ]
    passages = [
        Passage(f"p{n}", f"p{n}", head, f"{head} {told} {tail}.", ()) for n, (head, told, tail) in enumerate(facts)
    ]
    tuples = [EvidenceTuple(*fact, f"p{n}") for n, fact in enumerate(facts)]
    question = GoldQuestion("q", "What did Ada Morrow map?", "Ossel", (), "bridge", ("p0",), "dev")
    found = rank_by_spaces([question], passages, tuples)
    assert {f"{name}{kind}" for name in SPACES for kind in ("", RARE)} < found.keys()
    assert found[KEY].iloc[0][["R@5", "support@5"]].to_list() == [100.0, 100.0]


def questions(seed: int, count: int) -> list[RankedQuestion]:
    """Two passages support each answer; the first stages lead with one, key spaces with the other."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        order = rng.permutation(NAMES).tolist()
        gold, rest = tuple(order[:2]), order[2:]

        def led_by(name: str, others: list[str] = rest, pair: tuple[str, ...] = gold) -> Ranking:
            left = rng.permutation([*others, *(one for one in pair if one != name)]).tolist()
            return tuple(RankedPassage(one, 1.0 / (1 + place)) for place, one in enumerate((name, *left)))

        rankings = {name: led_by(gold[0]) for name in FIRST_STAGES}
        rankings |= {name: led_by(gold[1]) for name in (SECOND_HOP, *SPACES, *KEY_SPACES)}
        made.append(RankedQuestion(f"q{number}", gold, gold[:1], NAMES, NAMES, rankings))
    return made


def test_two_sources_that_each_know_one_half_are_better_together() -> None:
    split = Split(questions(1, 40), questions(2, 40))
    _, orders = variants(split)
    found = {name: float(measures(order, split.dev)["R@2"].mean()) for name, order in orders.items()}
    assert found[f"dense + {KEY}"] == 100.0
    assert found["oracle: answer paths"] == 100.0
    for alone in ("dense", "dense alone, reordered", "support scorer", KEY):
        assert found[alone] < 70.0


def test_federated_training_ends_where_pooled_training_does() -> None:
    parts = [examples_of(questions(seed, 15)) for seed in range(4)]
    one, other = federated(parts), pooled(parts)
    assert one.scaling.mean == pytest.approx(other.scaling.mean)
    for question in questions(9, 30):
        rankings = [question.rankings[name] for name in one.features.sources]
        for controller in (one, other):
            assert {found.passage_id for found in controller.rerank(rankings, 2)} == set(question.gold)
