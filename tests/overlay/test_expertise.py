"""What a peer learns of its neighbours: credit, decay, bounded memory and reputation."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.overlay.expertise import Expertise, ExpertiseState, LearningRules
from fedrag_flwr.records import Outcome

ALL = {7: 1.0}
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(("good", "junk", "miss"))


def _credit(memory: Expertise[str], topics: dict[int, float] | None = None) -> list[float]:
    return memory.scores(["a", "b"], topics or ALL, [0.0, 0.0])


def test_who_led_to_a_good_answer_comes_first_on_that_topic_alone() -> None:
    memory = Expertise[str]()
    memory.learn("a", {7: 0.8, 8: 0.2}, 0, "good")
    one, other = _credit(memory)
    assert one > other
    assert memory.credit("a", 7) == pytest.approx(0.8)
    assert len(set(_credit(memory, {9: 1.0}))) == 1


@pytest.mark.parametrize(
    ("rules", "distance", "credit"),
    [
        *((LearningRules(), distance, credit) for distance, credit in ((0, 1.0), (1, 0.5), (3, 0.125))),
        *((LearningRules(discount=0.0), distance, credit) for distance, credit in ((0, 1.0), (1, 0.0))),
    ],
)
def test_who_only_led_on_gets_less(rules: LearningRules, distance: int, credit: float) -> None:
    memory = Expertise[str](rules)
    memory.learn("a", ALL, distance, "good")
    assert memory.credit("a", 7) == pytest.approx(credit)


def test_credit_halves_with_its_half_life() -> None:
    memory = Expertise[str](LearningRules(half_life=10))
    memory.learn("a", ALL, 0, "good")
    for _ in range(20):
        memory.tick()
    assert memory.credit("a", 7) == pytest.approx(0.25)


def test_junk_costs_reputation_until_nobody_asks_and_time_forgives() -> None:
    memory = Expertise[str](LearningRules(half_life=10, trusted=0.3))
    memory.learn("a", ALL, 0, "good")
    reputations = [memory.reputation("a")]
    for _ in range(6):
        memory.learn("a", ALL, 0, "junk")
        reputations.append(memory.reputation("a"))
    assert reputations == sorted(reputations, reverse=True)
    assert not memory.trusts("a")
    assert memory.trusts("b")
    for _ in range(100):
        memory.tick()
    assert memory.trusts("a")


def test_without_reputation_junk_changes_no_score() -> None:
    memory = Expertise[str](LearningRules(reputation=False))
    for _ in range(9):
        memory.learn("a", ALL, 0, "junk")
    assert memory.trusts("a")
    assert len(set(_credit(memory))) == 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 3), OUTCOMES), max_size=200))
def test_memory_stays_bounded_and_scores_stay_finite(told: list[tuple[int, int, int, Outcome]]) -> None:
    memory = Expertise[int](LearningRules(most=20))
    for neighbour, topic, distance, outcome in told:
        memory.tick()
        memory.learn(neighbour, {topic: 1.0}, distance, outcome)
        assert len(memory._credit) <= 20
        assert 0 < memory.reputation(neighbour) <= 1
        [score] = memory.scores([neighbour], {topic: 1.0}, [5.0])
        assert 0 < score < 1_000_000


def test_what_counts_least_is_forgotten_first() -> None:
    memory = Expertise[str](LearningRules(most=10))
    for topic in range(10):
        for _ in range(topic + 1):
            memory.learn("a", {topic: 1.0}, 0, "good")
    for _ in range(5):
        memory.learn("b", {0: 1.0}, 0, "good")
    assert memory.credit("a", 0) == 0
    assert memory.credit("b", 0) == 5.0
    assert memory.credit("a", 9) == 10.0


def test_judgements_are_bounded_and_the_most_faded_go_first() -> None:
    memory = Expertise[int](LearningRules(most=20, half_life=10))
    for neighbour in range(200):
        memory.tick()
        memory.learn(neighbour, ALL, 0, "junk")
        assert len(memory.state()["judged"]) <= 20
    assert memory.reputation(199) < memory.reputation(190) < memory.reputation(0) == 1.0


def test_judgements_that_were_kept_without_a_bound_are_bounded_by_the_next_lesson() -> None:
    many: ExpertiseState = {"now": 0, "credit": [], "judged": [(peer, 0.0, 1.0, 0) for peer in range(200)]}
    memory = Expertise[int].restored(LearningRules(most=20), many)
    memory.learn(0, ALL, 0, "good")
    assert len(memory.state()["judged"]) <= 20
    assert memory.reputation(0) < 1.0


def test_a_neighbour_that_did_not_know_loses_worth_on_that_topic_but_no_reputation() -> None:
    memory = Expertise[str]()
    for _ in range(50):
        memory.learn("a", ALL, 0, "miss")
    one, other = _credit(memory)
    assert 0 < one < other
    assert memory.reputation("a") == 1.0
    assert len(set(_credit(memory, {9: 1.0}))) == 1


def test_without_misses_a_peer_learns_of_successes_alone() -> None:
    memory = Expertise[str](LearningRules(miss=0.0))
    memory.learn("a", ALL, 0, "miss")
    assert len(set(_credit(memory))) == 1


def test_what_was_learnt_is_kept_as_json() -> None:
    memory = Expertise[str]()
    memory.tick()
    memory.learn("a", {7: 0.8, 8: 0.2}, 1, "good")
    memory.learn("b", ALL, 0, "junk")
    again = Expertise[str].restored(memory.rules, json.loads(json.dumps(memory.state())))
    assert again.scores(["a", "b"], ALL, [0.0, 1.0]) == memory.scores(["a", "b"], ALL, [0.0, 1.0])
