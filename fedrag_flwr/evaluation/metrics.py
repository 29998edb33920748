"""Measures of answers: normalised match, and verdicts."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.records import Answer, Decision, failed

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalise_answer(text: str) -> str:
    """Lower the case, drop ASCII punctuation and English articles, and join the tokens by single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, golds: Iterable[str]) -> float:
    """Return 1.0 if the normalised prediction equals any normalised gold answer, else 0.0."""
    found = normalise_answer(prediction)
    return float(any(found == normalise_answer(gold) for gold in golds))


def f1(prediction: str, golds: Iterable[str]) -> float:
    """Return the best token F1 of the prediction over the gold answers, in [0, 1].

    A closed answer (yes, no, noanswer) on either side scores only when both sides are equal.
    """
    found = normalise_answer(prediction)
    return max((_token_f1(found, normalise_answer(gold)) for gold in golds), default=0.0)


def accuracy(prediction: str, golds: Iterable[str]) -> float:
    """Return 1.0 if any gold answer is contained in the prediction as whole tokens, else 0.0.

    A closed gold answer (yes, no, noanswer) must be the prediction's first token; a gold answer that normalises to
    nothing must be matched exactly.
    """
    found = normalise_answer(prediction)
    return float(any(_contains(found, normalise_answer(gold)) for gold in golds))


def _contains(prediction: str, gold: str) -> bool:
    if not gold:
        return not prediction
    if gold in _CLOSED:
        return prediction.split(" ", 1)[0] == gold
    return f" {gold} " in f" {prediction} "


def _token_f1(prediction: str, gold: str) -> float:
    if prediction != gold and not _CLOSED.isdisjoint((prediction, gold)):
        return 0.0
    predicted, expected = prediction.split(), gold.split()
    same = (Counter(predicted) & Counter(expected)).total()
    if same == 0:
        return 0.0
    precision, recall = same / len(predicted), same / len(expected)
    return 2 * precision * recall / (precision + recall)


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
