"""How likely an answer over evidence is to be right: a probability from what was read and what was said.

A logistic model, fitted on training questions (simulations/fit_trust.py). What memory answers has its own threshold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.inference.cognizer import Verdict
from fedrag_flwr.inference.reader import Reading
from fedrag_flwr.records import because
from fedrag_flwr.text.anchors import normalise_anchor

SHIPPED = Path(__file__).with_name("trust.json")
FEATURES = ("nearness", "odds", "margin", "agrees", "by-model", "yes-no")
_MOST_ODDS = 6.0


@dataclass(frozen=True, slots=True)
class Trust:
    """A logistic model over `FEATURES`.

    Parameters
    ----------
    weights
        One for each feature.
    bias
        Log-odds where all features are zero.
    """

    weights: tuple[float, ...]
    bias: float

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Self:
        """Read a model; raises StoreCorruptError where the file holds none of these features."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if tuple(told["features"]) != FEATURES:
                raise ValueError(told["features"])
            return cls(tuple(map(float, told["weights"])), float(told["bias"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreCorruptError("it holds no such model", where=path.name, fix="fit it anew") from error

    def of(self, features: Sequence[float]) -> float:
        """The probability, in [0, 1], that an answer with these features is right."""
        odds = self.bias + sum(weight * value for weight, value in zip(self.weights, features, strict=True))
        return 1.0 / (1.0 + math.exp(-max(min(odds, 30.0), -30.0)))


@cache
def shipped_trust() -> Trust:
    """The model that comes with the program."""
    return Trust.load()


def judged(verdict: Verdict, reading: Reading, least: float) -> Verdict:
    """The verdict with how far it is trusted; without its text where that is too little."""
    if not verdict.text:
        return verdict
    trust = shipped_trust().of(features_of(verdict, reading))
    if trust < least:
        return replace(verdict, text="").decided(because("trust", f"trust {trust:.2f} < {least:.2f}", trust, least))
    return verdict.decided(because("trust", f"trust {trust:.2f}", trust, least))


def features_of(verdict: Verdict, reading: Reading) -> tuple[float, ...]:
    """What is known of an answer over evidence, in the order of `FEATURES`."""
    told = _ranked(reading)
    best, second = (*told.values(), -_MOST_ODDS, -_MOST_ODDS)[:2]
    agrees = normalise_anchor(verdict.text) == next(iter(told), None)
    return (
        verdict.score,
        _bounded(best),
        min(best - second, _MOST_ODDS),
        float(agrees),
        float(verdict.cost.llm_calls > 0),
        float(reading.agrees is not None),
    )


def _ranked(reading: Reading) -> Mapping[str, float]:
    """The spans' texts with the log-odds that each answers, likeliest first; one that stands twice counts once."""
    order = sorted(range(len(reading.spans)), key=lambda row: -float(reading.likely[row]))
    told: dict[str, float] = {}
    for row in order:
        told.setdefault(normalise_anchor(reading.spans[row].text), float(reading.likely[row]))
    return told


def _bounded(odds: float) -> float:
    return max(min(odds, _MOST_ODDS), -_MOST_ODDS)
