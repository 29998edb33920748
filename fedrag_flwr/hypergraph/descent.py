"""Projected gradient descent over simplex rows, with steps for which the descent lemma holds (FD-RAG Appendix A)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.hypergraph.objective import SoftObjective
from fedrag_flwr.hypergraph.rows import project_rows

Floats = NDArray[np.float64]
Rows = tuple[Floats, ...]  # the free rows of each part

TOLERANCE = 1e-3
PLATEAU_STEPS, PLATEAU_SHARE = 8, 0.02
_FIRST_GROWTH, _GROWTH = 4.0, 2.0
_PATIENCE = 3
_MOST_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Part:
    """A share of the problem that no other part's rows enter: a granularity, or a block of its units.

    The objective's first n * k entries are the free rows of shape (n, k); `fixed` are the memberships of the rest.
    `share` is what the objective weighs in the sum of all parts.
    """

    objective: SoftObjective
    fixed: Floats
    share: float = 1.0

    def evaluate(self, rows: Floats) -> tuple[float, Callable[[], Floats]]:
        """Compute the objective, and give what computes its gradient in the free rows, shape (n, k)."""
        value, gradient = self.objective.evaluate(np.concatenate([rows.reshape(-1), self.fixed]))
        return value, lambda: gradient()[: rows.size].reshape(rows.shape)


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a descent ended and how it went.

    `rows` are the free rows of each part; `loss` has the initial value first and one more for each accepted step;
    `gradient_mapping` holds the norms of Definition 3 over the parts that still move and `step_sizes` the steps, one
    for each accepted step.
    """

    rows: Rows
    loss: tuple[float, ...]
    gradient_mapping: tuple[float, ...]
    step_sizes: tuple[float, ...]


def descend(parts: Sequence[Part], start: Sequence[Floats], settings: LearningSettings) -> Descent:
    """Minimise the weighted sum of the parts over rows on the simplex.

    As no row is in two parts, the sum is least where each part is: they descend one after the other, each with steps of
    its own and, where it is small, within a core's cache. A part's step is accepted when the descent lemma (eq. 20 with
    L = 1 / step) holds for it, else it is halved; after a few steps without halving it grows. A part stops when its
    gradient mapping is at most `TOLERANCE` times its first norm, when `PLATEAU_STEPS` steps bring less than
    `PLATEAU_SHARE` of what all steps brought, when no step descends, or after `settings.steps`.

    The record is of the sum: its t-th step is the t-th of every part that still moves, and its step size the one for
    which eq. 20 says what it says of the parts together.

    Parameters
    ----------
    parts
        Granularities or blocks of them.
    start
        Free rows of each part, shape (n, k), on the simplex.
    settings
        First step and most steps.
    """
    runs = [_descend_part(part, rows, settings) for part, rows in zip(parts, start, strict=True)]
    shares = [part.share for part in parts]
    return runs[0] if shares == [1.0] else _together(runs, shares)


def _together(runs: list[Descent], shares: list[float]) -> Descent:
    """The record of a weighted sum: a part that has ended keeps its loss and no longer moves."""
    length = max((len(run.step_sizes) for run in runs), default=0)
    loss, squares, drops = np.zeros(length + 1), np.zeros(length), np.zeros(length)
    for run, share in zip(runs, shares, strict=True):
        taken = len(run.step_sizes)
        loss += share * np.pad(run.loss, (0, length - taken), mode="edge")
        mapping = np.square(run.gradient_mapping)
        squares[:taken] += share**2 * mapping
        drops[:taken] += share * np.multiply(run.step_sizes, mapping)
    rows = tuple(run.rows[0] for run in runs)
    return Descent(rows, tuple(loss.tolist()), tuple(np.sqrt(squares).tolist()), tuple((drops / squares).tolist()))


def _descend_part(part: Part, rows: Floats, settings: LearningSettings) -> Descent:
    step, growth, smooth = settings.learning_rate, _FIRST_GROWTH, 0
    value, gradient = part.evaluate(rows)
    slope = gradient()
    loss, mappings, steps = [value], list[float](), list[float]()
    while len(steps) < settings.steps:
        moved = _move(part, rows, value, slope, step)
        if moved is None:
            break
        smooth = smooth + 1 if moved.step == step else 0
        growth = growth if moved.step == step else _GROWTH
        rows, value, slope, step = moved.rows, moved.value, moved.slope, moved.step
        loss.append(value)
        mappings.append(moved.mapping)
        steps.append(step)
        if moved.mapping <= TOLERANCE * mappings[0] or _flat(loss):
            break
        if growth == _FIRST_GROWTH or smooth >= _PATIENCE:
            step, smooth = step * growth, 0
    return Descent((rows,), tuple(loss), tuple(mappings), tuple(steps))


def _flat(loss: list[float]) -> bool:
    """Whether the last steps brought little: how much differs with the size of the problem, so it is a share of all."""
    if len(loss) <= PLATEAU_STEPS:
        return False
    return loss[-1 - PLATEAU_STEPS] - loss[-1] < PLATEAU_SHARE * (loss[0] - loss[-1])


@dataclass(frozen=True, slots=True)
class _Moved:
    rows: Floats
    value: float
    slope: Floats
    mapping: float
    step: float


def _move(part: Part, rows: Floats, value: float, slope: Floats, step: float) -> _Moved | None:
    """Take the largest of step, step / 2, ... that keeps the descent lemma; None when nothing moves or descends."""
    for _ in range(_MOST_HALVINGS):
        trial = project_rows(rows - step * slope)
        mapping = math.sqrt(float(((rows - trial) ** 2).sum())) / step
        if not mapping:
            return None
        trial_value, gradient = part.evaluate(trial)
        if trial_value - value <= -step / 2.0 * mapping**2:  # a step too small to lower the rounded value is none
            return _Moved(trial, trial_value, gradient(), mapping, step)
        step /= 2.0
    return None
