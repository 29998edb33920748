"""Answer metrics: EM and F1 as HotpotQA's official script computes them, and containment accuracy (FD-RAG 5.1)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable

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
