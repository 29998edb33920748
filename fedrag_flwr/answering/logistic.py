"""Logistic models over named features, as they come with the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, model_validator

Floats = NDArray[np.float64]


class Logistic(BaseModel):
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

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(self.features) != len(self.weights):
            raise ValueError("not one weight for each feature")
        return self

    def over(self, features: Sequence[str]) -> Self:
        """This model; raises ValueError where it looks at other features."""
        if self.features != tuple(features):
            raise ValueError("other features")
        return self

    def odds(self, values: ArrayLike) -> Floats:
        """Log-odds, of shape (n,) for values of shape (n, features)."""
        return np.asarray(np.asarray(values, dtype=np.float64) @ np.array(self.weights) + self.bias)

    def of(self, values: Sequence[float]) -> float:
        """The probability, in [0, 1], for one row of values."""
        return float(chances(self.odds(values)))


def chances(odds: ArrayLike) -> Floats:
    """Log-odds as probabilities."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(np.asarray(odds, dtype=np.float64), -30.0, 30.0))))
