"""The controller trained by federated averaging, on pooled examples, and by each device alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.records import ControllerUpdate
from fedrag_flwr.retrieval import Controller, ControllerFeatures, Examples, FittingSettings, Moments, Scaling, descend
from simulations.parts.candidate_rankings import SECOND_HOP, RankedQuestion
from simulations.parts.controller_variants import KEY, labelled
from strategies.controller_fedavg import fedavg

FEATURES = ControllerFeatures(("dense", "BM25", KEY, SECOND_HOP))  # the sources of a device's own controller
SETTINGS = FittingSettings()
ROUNDS = 20
POOLED, ALONE = "pooled", "each alone"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trained:
    """One way of training: its controllers, one for each device where they differ."""

    name: str
    controllers: tuple[Controller, ...]


def examples_of(questions: Sequence[RankedQuestion], seed: int) -> Examples:
    """The candidates of questions."""
    rng = np.random.default_rng(seed)
    return Examples.of(FEATURES, labelled(questions, FEATURES.sources, {}), SETTINGS, rng)


def pooled(parts: Sequence[Examples], seed: int) -> Controller:
    """Fit on the examples of all devices together."""
    values = np.concatenate([part.values for part in parts])
    together = Examples(values, np.concatenate([part.supports for part in parts]))
    scaling = Moments.of(values).scaling
    start = np.zeros(len(FEATURES.names) + 1)
    weights = descend(start, together, scaling, SETTINGS, SETTINGS.epochs, np.random.default_rng(seed))
    return _controller(weights, scaling)


def federated(parts: Sequence[Examples], seed: int, rounds: int = ROUNDS) -> Controller:
    """Fit by the steps of `controller-fedavg`: common scaling, then rounds of local epochs and Flower's average."""
    moments = [Moments.of(part.values) for part in parts]
    shared = fedavg([_update(part, np.concatenate([m.mean, m.square])) for part, m in zip(parts, moments, strict=True)])
    width = len(FEATURES.names)
    scaling = Moments(shared[:width], shared[width:]).scaling
    weights = np.zeros(width + 1)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        weights = fedavg(
            [_update(part, descend(weights, part, scaling, SETTINGS, SETTINGS.epochs // rounds, rng)) for part in parts]
        )
    return _controller(weights, scaling)


def ways(devices: Sequence[Sequence[RankedQuestion]], seed: int) -> list[Trained]:
    """Train in all three ways."""
    parts = [examples_of(questions, seed) for questions in devices]
    return [
        Trained("federated", (federated(parts, seed),)),
        Trained(POOLED, (pooled(parts, seed),)),
        Trained("pooled, other order", (pooled(parts, seed + 1),)),
        Trained(ALONE, tuple(pooled([part], seed) for part in parts)),
    ]


def _update(part: Examples, values: Floats) -> ControllerUpdate:
    return ControllerUpdate("", len(part), tuple(values.tolist()))


def _controller(weights: Floats, scaling: Scaling) -> Controller:
    return Controller(FEATURES, scaling, weights[:-1], float(weights[-1]))
