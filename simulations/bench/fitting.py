"""What several fits share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, unused-ignore]

from fedrag_flwr.answering.logistic import Logistic


def fit_logistic(
    features: Sequence[str], values: ArrayLike, right: ArrayLike, weigh: ArrayLike | None = None, **options: Any
) -> Logistic:
    """A logistic regression over values of shape (n, features); `options` are scikit-learn's."""
    x = np.asarray(values, dtype=np.float64)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    model = LogisticRegression(max_iter=2_000, **options).fit((x - mean) / deviation, right, sample_weight=weigh)
    weights = model.coef_[0] / deviation
    bias = round(float(model.intercept_[0] - weights @ mean), 5)
    return Logistic(features=tuple(features), weights=tuple(weights.round(5).tolist()), bias=bias)
