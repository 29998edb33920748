"""Projected gradient descent over simplex rows, with steps for which the descent lemma holds (FD-RAG Appendix A)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.hypergraph.objective import SoftObjective
from fedrag_flwr.hypergraph.simplex import project_rows

Floats = NDArray[np.float64]
Rows = tuple[Floats, ...]  # the free rows of each part

TOLERANCE = 1e-3
PLATEAU_STEPS, PLATEAU_SHARE = 8, 0.02
_FIRST_GROWTH, _GROWTH = 4.0, 2.0
_PATIENCE = 3
_MOST_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Part:
    """One granularity's share of the problem.

    The objective's first n * k entries are the free rows of shape (n, k); `fixed` are the memberships of the rest.
    """

    objective: SoftObjective
    fixed: Floats

    def evaluate(self, rows: Floats) -> tuple[float, Callable[[], Floats]]:
        """Compute the objective, and give what computes its gradient in the free rows, shape (n, k)."""
        value, gradient = self.objective.evaluate(np.concatenate([rows.reshape(-1), self.fixed]))
        return value, lambda: gradient()[: rows.size].reshape(rows.shape)


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a descent ended and how it went.

    `rows` are the free rows of each part; `loss` has the initial value first and one more for each accepted step;
    `gradient_mapping` holds the norms of Definition 3 and `step_sizes` the steps, one for each accepted step.
    """

    rows: Rows
    loss: tuple[float, ...]
    gradient_mapping: tuple[float, ...]
    step_sizes: tuple[float, ...]


def descend(parts: tuple[Part, ...], start: Rows, settings: LearningSettings) -> Descent:
    """Minimise the sum of the parts over rows on the simplex, all parts with one step size.

    A step is accepted when the descent lemma (eq. 20 with L = 1 / step) holds for it, else it is halved; after a few
    steps without halving it grows. Stops when the gradient mapping is at most `TOLERANCE` times its first norm, when
    `PLATEAU_STEPS` steps bring less than `PLATEAU_SHARE` of what all steps brought, when no step descends, or after
    `settings.steps`.

    Parameters
    ----------
    parts
        The granularities.
    start
        Free rows of each part, shape (n, k), on the simplex.
    settings
        First step and most steps.
    """
    rows, step, growth, smooth = start, settings.learning_rate, _FIRST_GROWTH, 0
    value, gradient = _evaluate(parts, rows)
    gradients = gradient()
    loss, mappings, steps = [value], list[float](), list[float]()
    while len(steps) < settings.steps:
        moved = _move(parts, rows, value, gradients, step)
        if moved is None:
            break
        smooth = smooth + 1 if moved.step == step else 0
        growth = growth if moved.step == step else _GROWTH
        rows, value, gradients, step = moved.rows, moved.value, moved.gradients, moved.step
        loss.append(value)
        mappings.append(moved.mapping)
        steps.append(step)
        if moved.mapping <= TOLERANCE * mappings[0] or _flat(loss):
            break
        if growth == _FIRST_GROWTH or smooth >= _PATIENCE:
            step, smooth = step * growth, 0
    return Descent(rows, tuple(loss), tuple(mappings), tuple(steps))


def _flat(loss: list[float]) -> bool:
    """Whether the last steps brought little: how much differs with the size of the problem, so it is a share of all."""
    if len(loss) <= PLATEAU_STEPS:
        return False
    return loss[-1 - PLATEAU_STEPS] - loss[-1] < PLATEAU_SHARE * (loss[0] - loss[-1])


@dataclass(frozen=True, slots=True)
class _Moved:
    rows: Rows
    value: float
    gradients: Rows
    mapping: float
    step: float


def _evaluate(parts: tuple[Part, ...], rows: Rows) -> tuple[float, Callable[[], Rows]]:
    results = [part.evaluate(own) for part, own in zip(parts, rows, strict=True)]
    return sum((value for value, _ in results), 0.0), lambda: tuple(gradient() for _, gradient in results)


def _move(parts: tuple[Part, ...], rows: Rows, value: float, gradients: Rows, step: float) -> _Moved | None:
    """Take the largest of step, step / 2, ... that keeps the descent lemma; None when nothing moves or descends."""
    for _ in range(_MOST_HALVINGS):
        trial = tuple(project_rows(own - step * slope) for own, slope in zip(rows, gradients, strict=True))
        mapping = math.sqrt(sum(float(((a - b) ** 2).sum()) for a, b in zip(rows, trial, strict=True))) / step
        if not mapping:
            return None
        trial_value, gradient = _evaluate(parts, trial)
        if trial_value - value <= -step / 2.0 * mapping**2:  # a step too small to lower the rounded value is none
            return _Moved(trial, trial_value, gradient(), mapping, step)
        step /= 2.0
    return None
