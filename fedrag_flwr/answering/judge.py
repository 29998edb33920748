"""Judging: is an answer borne by what was read, and how likely is it right? One calibrated probability.

A logistic model over what is known of an answer. It is fitted on the demo's training questions
(simulations/answers/fit_confidence.py). A model by which answers are written may have weights of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from fedrag_flwr.answering.read import Draft
from fedrag_flwr.answering.recall import Recalled, names_of
from fedrag_flwr.answering.windows import content_words
from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.numbers import told_words
from fedrag_flwr.text.segment import under_title
from fedrag_flwr.text.support import forms

SHIPPED = Path(__file__).with_name("confidence.json")
READ_FEATURES = (
    *("log-probability", "least", "unknown", "words", "borne", "names told", "asked told", "best told", "log-odds", "gap"),
    *("wrong kind", "in question", "yes or no", "sentences"),
)
RECALL_FEATURES = ("score", "similarity", "relation")
ANY = "any"  # the model of drafts by a generator that nothing was fitted for
_LEAST, _MOST = -6.0, 6.0
_NUMBER = re.compile(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|half)\b", re.I)
_NUMERIC = frozenset({"DATE", "YEAR", "TIME", "CARDINAL", "QUANTITY", "PERCENT", "MONEY"})


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model.

    Parameters
    ----------
    features
        What it looks at.
    weights
        One for each feature.
    bias
        Log-odds where all features are zero.
    """

    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    def of(self, values: Sequence[float]) -> float:
        """The probability, in [0, 1], that an answer with these features is right."""
        odds = self.bias + sum(weight * value for weight, value in zip(self.weights, values, strict=True))
        return 1.0 / (1.0 + math.exp(-max(min(odds, 30.0), -30.0)))


@dataclass(frozen=True, slots=True)
class Judge:
    """Gives answers their confidence.

    Parameters
    ----------
    reading
        By the SHA-256 of the model that wrote, or `ANY`.
    recall
        Of answers from memory.
    """

    reading: Mapping[str, Logistic]
    recall: Logistic

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Self:
        """Read the models; raises StoreCorruptError where the file holds none over these features."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            reading = {name: _logistic(one, READ_FEATURES) for name, one in told["reading"].items()}
            if ANY not in reading:
                raise KeyError(ANY)
            return cls(reading, _logistic(told["recall"], RECALL_FEATURES))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreCorruptError("it holds no such model", where=path.name, fix="fit it anew") from error

    def of_draft(self, features: Sequence[float], generator_id: str) -> float:
        """How likely a draft is right, by the model that wrote it."""
        fitted = next((one for name, one in self.reading.items() if name != ANY and name in generator_id), None)
        return (fitted or self.reading[ANY]).of(features)

    def of_memory(self, recalled: Recalled) -> float:
        """How likely a memory's answer is right."""
        return self.recall.of(recall_features(recalled))


@cache
def shipped_judge() -> Judge:
    """The judge that comes with the program."""
    return Judge.load()


def recall_features(recalled: Recalled) -> tuple[float, ...]:
    """What is known of a memory that answers, in the order of `RECALL_FEATURES`."""
    return recalled.match.score, recalled.match.similarity, recalled.relation


def read_features(
    question: str,
    analysis: QuestionAnalysis,
    draft: Draft,
    units: Sequence[EvidenceUnit],
    log_odds: Sequence[float],
) -> tuple[float, ...]:
    """What is known of an answer over units, in the order of `READ_FEATURES`."""
    texts = [under_title(unit.title, unit.text) for unit in units]
    told = set(told_words(" ".join(texts)))
    asked, names = content_words(question), names_of(question)
    answer = content_words(draft.text) or frozenset(told_words(draft.text))
    odds = sorted((max(min(one, _MOST), _LEAST) for one in log_odds), reverse=True) or [_LEAST]
    closed = draft.text.casefold() in {"yes", "no"}
    best = max((len(asked & content_words(text)) / max(len(asked), 1) for text in texts), default=0.0)
    return (
        max(draft.logprob, _LEAST) if math.isfinite(draft.logprob) else -1.0,
        max(draft.least, _LEAST) if math.isfinite(draft.least) else -2.0,
        max(draft.unknown, 2 * _LEAST) / 2 if math.isfinite(draft.unknown) else -2.0,
        min(len(draft.text.split()), 40) / 10,
        1.0 if closed else len(answer & told) / max(len(answer), 1),
        len(names & {form for text in texts for form in forms(text)}) / len(names) if names else 1.0,
        len(asked & told) / max(len(asked), 1),
        best,
        odds[0],
        odds[0] - (odds[1] if len(odds) > 1 else _LEAST),
        float(_wrong_kind(analysis, draft.text)),
        float(bool(answer) and answer <= asked and not closed),
        float(closed),
        float(len(draft.text.split()) > 12),
    )


def _wrong_kind(analysis: QuestionAnalysis, text: str) -> bool:
    """Whether a number is asked for and none is told, or yes or no."""
    if analysis.answer_type == "YESNO":
        return text.split(maxsplit=1)[:1] != [] and text.split()[0].strip(",.;").casefold() not in {"yes", "no"}
    return analysis.answer_type in _NUMERIC and _NUMBER.search(text) is None


class _Kept(BaseModel):
    """A logistic model as it stands in the file."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float


def _logistic(told: object, features: tuple[str, ...]) -> Logistic:
    kept = _Kept.model_validate(told)
    if kept.features != features or len(kept.weights) != len(features):
        raise ValueError("other features")
    return Logistic(features, kept.weights, kept.bias)
