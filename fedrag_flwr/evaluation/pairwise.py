"""A local model as judge of two answers, on DGRAG's four criteria (4.3), positions swapped and ties counted.

A small model is a weak judge: it prefers what stands in one place, or what is longer. So each criterion is asked twice
with the answers in either order; what counts is how far its log-odds of the two places move when the answers change
them, in which its liking for a place cancels (Zhao et al. 2021 calibrate so). Where they hardly move it is a tie. The
share of verdicts that agree with token F1 is reported beside the win rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fedrag_flwr.models.base import Generator, Prompt

Criterion = Literal["comprehensiveness", "diversity", "empowerment", "overall"]
Winner = Literal["first", "second", "tie"]

CRITERIA: Mapping[Criterion, str] = {
    "comprehensiveness": "covers all relevant sides and details of the question",
    "diversity": "offers more different perspectives on the question",
    "empowerment": "better helps the reader to understand the question and its topic",
    "overall": "is the better answer, all in all",
}
TIE = 0.1  # nats by which the log-odds of the places must move for an answer to be preferred
_SYSTEM = "You compare two answers to a question and reply with the number of the one that fits the criterion better."
_EXAMPLES = (
    (
        "Question: Why do bridges have expansion joints?\n"
        "Answer 1: Warm steel grows and cold steel shrinks; joints leave room, or the deck would buckle.\n"
        "Answer 2: For safety.\n"
        "Which answer covers all relevant sides and details of the question?",
        "1",
    ),
    (
        "Question: What does the town of Linwick export?\n"
        "Answer 1: I do not know.\n"
        "Answer 2: Salt and copper.\n"
        "Which answer is the better answer, all in all?",
        "2",
    ),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question."""

    question: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class WinRates:
    """How often the first answer won, lost and tied on one criterion."""

    wins: int
    losses: int
    ties: int

    @property
    def rate(self) -> float:
        """Share of wins, a tie being half of one; 0.5 where nothing was judged."""
        total = self.wins + self.losses + self.ties
        return (self.wins + 0.5 * self.ties) / total if total else 0.5

    @property
    def tied(self) -> float:
        """Share of ties."""
        total = self.wins + self.losses + self.ties
        return self.ties / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares answers.

    Parameters
    ----------
    generator
        Gives the local model; called when it is first needed.
    """

    generator: Callable[[], Generator]

    def compare(self, pair: Pair, criterion: Criterion) -> Winner:
        """The answer that is preferred over both orders; equal answers tie without being asked about."""
        if pair.first.strip() == pair.second.strip():
            return "tie"
        straight = self._leaning(pair.question, pair.first, pair.second, criterion)
        swapped = self._leaning(pair.question, pair.second, pair.first, criterion)
        lean = (straight - swapped) / 2
        if abs(lean) < TIE:
            return "tie"
        return "first" if lean > 0 else "second"

    def rates(self, pairs: Sequence[Pair]) -> dict[Criterion, WinRates]:
        """Win rates of the first answers on all criteria."""
        return {criterion: count_wins([self.compare(pair, criterion) for pair in pairs]) for criterion in CRITERIA}

    def _leaning(self, question: str, one: str, two: str, criterion: Criterion) -> float:
        """Log-odds that the model replies with the first place's number."""
        scores = self.generator().score(judging_prompt(question, one, two, criterion), ("1", "2")).logprobs
        return float(scores[0] - scores[1])


def judging_prompt(question: str, one: str, two: str, criterion: Criterion) -> Prompt:
    """Ask which of two answers fits a criterion better."""
    return Prompt(
        _SYSTEM,
        f"Question: {question}\nAnswer 1: {one or 'I do not know.'}\nAnswer 2: {two or 'I do not know.'}\n"
        f"Which answer {CRITERIA[criterion]}?",
        _EXAMPLES,
    )


def count_wins(winners: Sequence[Winner]) -> WinRates:
    """Count verdicts."""
    return WinRates(winners.count("first"), winners.count("second"), winners.count("tie"))


def agreement(winners: Sequence[Winner], first_scores: Sequence[float], second_scores: Sequence[float]) -> float | None:
    """Share of verdicts that prefer the answer with the higher score, where both decide; None where there are none.

    Parameters
    ----------
    winners
        Verdicts.
    first_scores, second_scores
        For instance token F1 of the first and the second answers.
    """
    decided = [
        (winner == "first") == (one > two)
        for winner, one, two in zip(winners, first_scores, second_scores, strict=True)
        if winner != "tie" and one != two
    ]
    return sum(decided) / len(decided) if decided else None
