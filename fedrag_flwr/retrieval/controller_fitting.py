"""Fits controllers on questions whose supporting passages are known (HKVM-RAG section IV-F)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.retrieval.base import Ranking
from fedrag_flwr.retrieval.controller import ControllerFeatures, Scaling

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FittingSettings:
    """How a controller is fitted; the defaults are the paper's."""

    epochs: int = 80  # passes over the examples
    learning_rate: float = 0.01  # step of stochastic gradient descent
    l2: float = 1e-4  # weight of half the squared norm of the weights
    negative_ratio: int = 8  # most passages without support for each one with it, of one question

    def __post_init__(self) -> None:
        if min(self.epochs, self.negative_ratio) < 1 or self.learning_rate <= 0.0 or self.l2 <= 0.0:
            raise SettingError("fitting settings are out of range", where="controller")


@dataclass(frozen=True, slots=True)
class LabelledRankings:
    """A question's rankings, one for each source, and the passages that support its answer."""

    rankings: tuple[Ranking, ...]
    supporting: frozenset[str]


@dataclass(frozen=True, slots=True)
class Examples:
    """Candidate passages of many questions: features, (n, features), and whether each supports its answer, (n,)."""

    values: Floats
    supports: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        features: ControllerFeatures,
        questions: Iterable[LabelledRankings],
        settings: FittingSettings,
        rng: np.random.Generator,
    ) -> Self:
        """Describe the candidates of questions, with at most so many negatives for each positive of a question.

        A question none of whose candidates supports it teaches nothing about their order and is left out.
        """
        values, labels = [np.zeros((0, len(features.names)))], [np.zeros(0, dtype=np.bool_)]
        for question in questions:
            found = features.of(question.rankings)
            supports = np.array([name in question.supporting for name in found.ids], dtype=np.bool_)
            positive, negative = np.flatnonzero(supports), np.flatnonzero(~supports)
            most = settings.negative_ratio * len(positive)
            if len(negative) > most:
                negative = rng.choice(negative, most, replace=False)
            kept = np.sort(np.concatenate([positive, negative])) if len(positive) else positive
            values.append(found.values[kept])
            labels.append(supports[kept])
        return cls(np.concatenate(values), np.concatenate(labels))

    def __len__(self) -> int:
        return len(self.supports)

    @property
    def teach(self) -> bool:
        """Whether there is a passage with support and one without."""
        return bool(self.supports.any() and not self.supports.all())


@dataclass(frozen=True, slots=True)
class Moments:
    """Means of features and of their squares, each of shape (features,): weighted means of them are a pool's."""

    mean: Floats
    square: Floats

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Take the moments of features, shape (n, features), n from 1."""
        return cls(values.mean(axis=0), (values**2).mean(axis=0))

    @property
    def scaling(self) -> Scaling:
        """The scaling to mean 0 and deviation 1; a feature that does not vary is left undivided."""
        variance = np.maximum(self.square - self.mean**2, 0.0)
        return Scaling(self.mean, np.sqrt(np.where(variance > 1e-12, variance, 1.0)))


def descend(
    start: Floats,
    examples: Examples,
    scaling: Scaling,
    settings: FittingSettings,
    epochs: int,
    rng: np.random.Generator,
) -> Floats:
    """Stochastic gradient descent on the logistic loss with an L2 penalty (scikit-learn's `SGDClassifier`).

    Parameters
    ----------
    start
        Weights and, last, bias: shape (features + 1,).
    examples
        Some with support and some without.
    scaling
        Of the features.
    settings
        Step and penalty.
    epochs
        Passes over the examples, each in an order drawn anew.
    rng
        Draws the orders.

    Returns
    -------
    Floats
        Weights and bias, shape (features + 1,).
    """
    from sklearn.linear_model import SGDClassifier  # type: ignore[import-untyped, unused-ignore]

    descent = SGDClassifier(
        loss="log_loss",
        alpha=settings.l2,
        learning_rate="constant",
        eta0=settings.learning_rate,
        max_iter=epochs,
        tol=None,
        average=(epochs - epochs // 2) * len(examples) + 1 if epochs > 1 else False,
        random_state=int(rng.integers(2**31)),
    )
    descent.fit(scaling.of(examples.values), examples.supports, coef_init=start[None, :-1], intercept_init=start[-1:])
    return np.append(descent.coef_[0], descent.intercept_[0])
