"""One answer against the gold: right or wrong, and how nearly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import accuracy, exact_match, f1
from fedrag_flwr.records import Answer, Decision, failed

ABSTAINED = "abstained"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One question's outcome.

    `answer` is None where the question went missing with its device, or an error stood in the answer's place: then
    `failure` says which.
    """

    gold: GoldQuestion
    answer: Answer | None
    acc: float
    f1: float
    em: float
    failure: tuple[Decision, ...] = ()

    @property
    def abstained(self) -> bool:
        """Whether the system declined to answer."""
        return self.answer is not None and self.answer.path == ABSTAINED

    @property
    def right(self) -> bool:
        """Whether the answer counts as right (ACC)."""
        return self.acc == 1.0


def is_unanswerable(gold: GoldQuestion) -> bool:
    """Tell whether abstaining is the only right answer."""
    return not gold.answer and not gold.aliases


def judge(gold: GoldQuestion, answer: Answer | None) -> Verdict:
    """Judge one answer: an answerable question wants a gold answer or alias, an unanswerable one an abstention."""
    if answer is None or failed(answer):
        return Verdict(gold, None, 0.0, 0.0, 0.0, () if answer is None else answer.decisions)
    if is_unanswerable(gold) or answer.path == ABSTAINED:
        right = float(is_unanswerable(gold) and answer.path == ABSTAINED)
        return Verdict(gold, answer, right, right, right)
    golds = (gold.answer, *gold.aliases)
    return Verdict(gold, answer, accuracy(answer.text, golds), f1(answer.text, golds), exact_match(answer.text, golds))


def judge_all(gold: Sequence[GoldQuestion], answers: Sequence[Answer]) -> list[Verdict]:
    """Judge each gold question once, in order; of several answers to one question the first counts."""
    first = {answer.question_id: answer for answer in reversed(answers)}
    return [judge(question, first.get(question.question_id)) for question in gold]
