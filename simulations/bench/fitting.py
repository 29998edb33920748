"""What several fits share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, unused-ignore]

from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.errors import SettingError
from fedrag_flwr.retrieval.base import Ranking
from fedrag_flwr.retrieval.controller import Controller, ControllerFeatures
from fedrag_flwr.retrieval.controller_fitting import Examples, FittingSettings, LabelledRankings, Moments, descend

FOLDS = 5  # parts of the questions, of which each is predicted by what was fitted on the others


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


def fit_controller(
    features: ControllerFeatures,
    questions: Sequence[LabelledRankings],
    settings: FittingSettings,
    rng: np.random.Generator,
    fitted_on: str = "",
) -> Controller:
    """Fit a controller on questions; raises SettingError where no candidate of the questions supports an answer, or all
    do.
    """
    examples = Examples.of(features, questions, settings, rng)
    if not examples.teach:
        raise SettingError("the questions have no candidates both with and without support", where="controller")
    scaling = Moments.of(examples.values).scaling
    weights = descend(np.zeros(len(features.names) + 1), examples, scaling, settings, settings.epochs, rng)
    return Controller(features, scaling, weights[:-1], float(weights[-1]), fitted_on)


def out_of_fold(
    features: ControllerFeatures,
    questions: Sequence[LabelledRankings],
    settings: FittingSettings,
    rng: np.random.Generator,
) -> list[Ranking]:
    """Rerank each question by a controller that was fitted without it.

    These rankings are what a next controller may be fitted on: from one that had seen the question they would look
    better than they are for a new one.
    """
    reranked: list[Ranking] = [()] * len(questions)
    for fold in np.array_split(rng.permutation(len(questions)), FOLDS):
        rest = np.setdiff1d(np.arange(len(questions)), fold)
        controller = fit_controller(features, [questions[row] for row in rest], settings, rng)
        for row in fold:
            reranked[row] = controller.rerank(questions[row].rankings, features.depth)
    return reranked
