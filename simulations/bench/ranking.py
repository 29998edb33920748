"""Measures of rankings, and of a confidence: ranks, risk and coverage."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def reciprocal_rank(relevant: Sequence[bool]) -> float:
    """Return 1 over the place of the first relevant one, 0 where there is none."""
    return next((1.0 / place for place, one in enumerate(relevant, 1) if one), 0.0)


def precision_at(relevant: Sequence[bool], k: int) -> float:
    """Return the share of the first k places that are relevant; places that are not filled are not."""
    return sum(relevant[:k]) / k


def hit_at(relevant: Sequence[bool], k: int) -> float:
    """Return 1.0 if any of the first k is relevant, else 0.0."""
    return float(any(relevant[:k]))


def ndcg_at(relevant: Sequence[bool], k: int) -> float:
    """Return nDCG of the first k places where one alone can be relevant (Järvelin and Kekäläinen 2002)."""
    return next((1.0 / math.log2(place + 1) for place, one in enumerate(relevant[:k], 1) if one), 0.0)


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The curve of a confidence score."""

    coverage: Floats  # share of the questions answered, rising from 1/n to 1, one entry for each distinct score
    risk: Floats  # share of wrong ones among them

    @property
    def area(self) -> float:
        """The area under the curve, in [0, 1]; smaller is better."""
        widths = np.diff(np.concatenate([[0.0], self.coverage]))
        return float(widths @ self.risk)

    def at(self, coverage: float) -> float:
        """The risk where at least this share is answered."""
        place = int(np.searchsorted(self.coverage, coverage - 1e-12))
        return float(self.risk[min(place, len(self.risk) - 1)])


def risk_coverage(scores: Sequence[float], wrong: Sequence[bool]) -> RiskCoverage:
    """Draw the curve of scores, each with whether its answer was wrong; questions of equal score stand together.

    Raises ValueError: there is no question, or not one mark for each score.
    """
    if not scores or len(scores) != len(wrong):
        raise ValueError("a curve needs questions, and a mark for each")
    order = np.argsort(-np.asarray(scores), kind="stable")
    ranked = np.asarray(scores)[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    errors = np.cumsum(np.asarray(wrong, dtype=np.float64)[order])
    return RiskCoverage((ends + 1) / len(ranked), errors[ends] / (ends + 1))
