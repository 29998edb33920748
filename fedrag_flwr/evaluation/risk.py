"""Risk against coverage: how often answers are wrong when only the most trusted are given (Geifman & El-Yaniv 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The curve of a confidence score.

    Parameters
    ----------
    coverage
        Share of the questions answered, rising from 1/n to 1, one entry for each distinct score.
    risk
        Share of wrong ones among them.
    """

    coverage: Floats
    risk: Floats

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

    Raises
    ------
    ValueError
        There is no question, or not one mark for each score.
    """
    if not scores or len(scores) != len(wrong):
        raise ValueError("a curve needs questions, and a mark for each")
    order = np.argsort(-np.asarray(scores), kind="stable")
    ranked = np.asarray(scores)[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    errors = np.cumsum(np.asarray(wrong, dtype=np.float64)[order])
    return RiskCoverage((ends + 1) / len(ranked), errors[ends] / (ends + 1))
