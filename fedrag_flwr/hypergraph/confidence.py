"""How an extractor's confidences weigh keys (HKVM-RAG eq. 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConfidenceWeighting:
    """Weights ``1 + (boost - 1) a`` with `a` the weighted mean of three confidences (eq. 4: lambda; eq. 5: beta).

    Raises
    ------
    SettingError
        A weight is negative, all are zero, or the boost is below 1.
    """

    factual: float
    salience: float
    bridge: float
    boost: float

    def __post_init__(self) -> None:
        parts = (self.factual, self.salience, self.bridge)
        if min(parts) < 0.0 or sum(parts) <= 0.0 or not 1.0 <= self.boost < np.inf:
            raise SettingError(
                "confidence weights are out of range", where="key space", fix="weights from 0, one above, boost from 1"
            )

    def weights(self, factual: Floats, salience: Floats, bridge: Floats) -> Floats:
        """Weigh keys by their confidences in [0, 1]; all shapes (n,)."""
        total = self.factual + self.salience + self.bridge
        mean = (self.factual * factual + self.salience * salience + self.bridge * bridge) / total
        return 1.0 + (self.boost - 1.0) * mean


PAPER = ConfidenceWeighting(factual=0.5, salience=0.0, bridge=0.5, boost=3.0)
"""The paper's default for hyperedges, and by analogy for pairs (section IV-D)."""

REPOSITORY_PATHS = ConfidenceWeighting(factual=0.2, salience=0.4, bridge=0.4, boost=2.0)
"""What the paper's published code weighs hyperedges with."""

REPOSITORY_PAIRS = ConfidenceWeighting(factual=0.25, salience=0.55, bridge=0.2, boost=2.0)
"""What the paper's published code weighs pairwise edges with."""
