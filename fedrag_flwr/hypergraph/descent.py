"""Projected gradient descent over simplex rows, with steps for which the descent lemma holds (FD-RAG Appendix A)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.hypergraph.objective import SoftObjective
from fedrag_flwr.hypergraph.simplex import project_rows

Floats = NDArray[np.float64]

TOLERANCE = 1e-3
_GROWTH = 2.0
_PATIENCE = 3
_MOST_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Part:
    """One granularity's share of the problem.

    The objective's first n * k entries are the free rows of shape (n, k); `fixed` are the memberships of the rest.
    """

    objective: SoftObjective
    fixed: Floats

    def value(self, rows: Floats) -> float:
        """Compute the objective at these free rows."""
        return self.objective.value(self._weights(rows))

    def value_and_gradient(self, rows: Floats) -> tuple[float, Floats]:
        """Compute the objective and its gradient in the free rows."""
        value, gradient = self.objective.value_and_gradient(self._weights(rows))
        return value, gradient[: rows.size].reshape(rows.shape)

    def _weights(self, rows: Floats) -> Floats:
        return np.concatenate([rows.reshape(-1), self.fixed])


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a descent ended and how it went.

    `rows` are the free rows of each part; `loss` has the initial value first and one more for each accepted step;
    `gradient_mapping` holds the norms of Definition 3 and `step_sizes` the steps, one for each accepted step.
    """

    rows: tuple[Floats, ...]
    loss: tuple[float, ...]
    gradient_mapping: tuple[float, ...]
    step_sizes: tuple[float, ...]


def descend(parts: tuple[Part, ...], start: tuple[Floats, ...], settings: LearningSettings) -> Descent:
    """Minimise the sum of the parts over rows on the simplex, all parts with one step size.

    A step is accepted when the descent lemma (eq. 20 with L = 1 / step) holds for it; else it is halved. Stops when
    the gradient mapping is below `TOLERANCE` times its first norm, when no step descends, or after `settings.steps`.

    Parameters
    ----------
    parts
        The granularities.
    start
        Free rows of each part, shape (n, k), on the simplex.
    settings
        First step and most steps.
    """
    rows, step, smooth = start, settings.learning_rate, 0
    loss = [sum(part.value(own) for part, own in zip(parts, rows, strict=True))]
    mappings: list[float] = []
    steps: list[float] = []
    patience = 1
    while len(steps) < settings.steps and any(own.size for own in rows):
        gradients = [part.value_and_gradient(own)[1] for part, own in zip(parts, rows, strict=True)]
        accepted, halvings = False, 0
        while not accepted and halvings <= _MOST_HALVINGS:
            trial = tuple(project_rows(own - step * slope) for own, slope in zip(rows, gradients, strict=True))
            mapping = np.sqrt(sum(float(((a - b) ** 2).sum()) for a, b in zip(rows, trial, strict=True))) / step
            value = sum(part.value(own) for part, own in zip(parts, trial, strict=True))
            accepted = value <= loss[-1] - step / 2.0 * mapping**2
            if not accepted:
                step, halvings = step / 2.0, halvings + 1
        if not accepted or mapping == 0.0:
            break
        rows = trial
        loss.append(value)
        mappings.append(float(mapping))
        steps.append(step)
        if mapping <= TOLERANCE * mappings[0]:
            break
        patience = _PATIENCE if halvings else patience
        smooth = 0 if halvings else smooth + 1
        if smooth >= patience:
            step, smooth = step * _GROWTH, 0
    return Descent(rows, tuple(loss), tuple(mappings), tuple(steps))
