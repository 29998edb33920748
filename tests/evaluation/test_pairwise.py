"""The judge: swapped positions, ties, win rates, and agreement with a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from fedrag_flwr.evaluation.pairwise import CRITERIA, Judge, Pair, Winner, WinRates, agreement, count_wins
from fedrag_flwr.models.base import Completion, Grammar, Heard, Prompt, Scores
from tests.strategies.federation import small_models

LONG, SHORT = "Salt and copper, which go out by ship.", "Salt."
PAIR = Pair("What does the town export?", LONG, SHORT)


@dataclass
class Biased:
    """A judge that likes one place, and the longer answer as well if that is its rule."""

    rule: str
    id: str = "biased"
    asked: list[str] = field(default_factory=list)

    def complete(
        self,
        prompt: Prompt,
        *,
        grammar: Grammar | None = None,
        max_tokens: int = 64,
        n: int = 1,
        seed: int = 0,
        heard: Heard | None = None,
    ) -> list[Completion]:
        raise AssertionError("a judge writes nothing")

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        assert tuple(continuations) == ("1", "2")
        self.asked.append(prompt.user)
        one, two = (line.partition(": ")[2] for line in prompt.user.splitlines()[1:3])
        longer = {"longer": 0.5, "place": 0.04}[self.rule] * (1 if len(one) > len(two) else -1)
        return Scores(np.array([-1.0 + longer, -4.0 - longer]), 1, 0.0)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


# (rule, pair, verdict, calls)
CASES: list[tuple[str, Pair, Winner, int]] = [
    ("longer", PAIR, "first", 2),
    ("longer", Pair(PAIR.question, SHORT, LONG), "second", 2),
    ("place", PAIR, "tie", 2),
    ("longer", Pair(PAIR.question, SHORT, SHORT), "tie", 0),
]


@pytest.mark.parametrize(("rule", "pair", "verdict", "calls"), CASES)
def test_the_liking_for_a_place_cancels(rule: str, pair: Pair, verdict: Winner, calls: int) -> None:
    model = Biased(rule)
    assert Judge(lambda: model).compare(pair, "overall") == verdict
    assert len(model.asked) == calls


def test_each_criterion_is_asked_in_its_own_words() -> None:
    model = Biased("longer")
    rates = Judge(lambda: model).rates([PAIR, PAIR])
    assert rates == dict.fromkeys(CRITERIA, WinRates(2, 0, 0))
    assert len({line.splitlines()[-1] for line in model.asked}) == len(CRITERIA)


def test_a_real_model_gives_a_verdict_that_turns_with_the_pair() -> None:
    judge = Judge(small_models().generator)
    turned: dict[Winner, Winner] = {"first": "second", "second": "first", "tie": "tie"}
    swapped = judge.compare(Pair(PAIR.question, PAIR.second, PAIR.first), "overall")
    assert swapped == turned[judge.compare(PAIR, "overall")]


def test_a_tie_is_half_a_win() -> None:
    rates = count_wins(["first", "tie", "second", "tie", "first"])
    assert (rates.rate, rates.tied) == (0.6, 0.4)
    assert count_wins([]).rate == 0.5


def test_agreement_counts_what_both_decide() -> None:
    winners: list[Winner] = ["first", "second", "first", "tie", "second"]
    assert agreement(winners, [1.0, 1.0, 0.5, 1.0, 0.0], [0.0, 0.0, 0.5, 0.0, 1.0]) == pytest.approx(2 / 3)
    assert agreement(["tie"], [1.0], [0.0]) is None
