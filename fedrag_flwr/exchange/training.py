"""A device's part in training the controller on encrypted sums: it alone, with its peers, sees moments and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.exchange.sums import GroupSums
from fedrag_flwr.ordering.sources import FEATURES
from fedrag_flwr.records import ControllerRequest, ControllerUpdate, SumParts
from fedrag_flwr.retrieval import Moments

_CONSTANT = 1e-5  # a feature's variance below which rounding may have made it
Floats = NDArray[np.float64]
Train = Callable[[ControllerRequest], ControllerUpdate]


@dataclass(frozen=True, slots=True)
class PrivateTraining:
    """Puts a plain step of training between reading a sum and giving a term.

    Parameters
    ----------
    sums
        Of this device's groups.
    """

    sums: GroupSums

    def train(self, request: ControllerRequest, noise: float, train: Train, run: str) -> ControllerUpdate:
        """One step: read the sums, train as on plain numbers, and encrypt what comes of it.

        Parameters
        ----------
        request
            Its numbers stand in encrypted sums.
        noise
            Standard deviation of what is added to each encrypted number.
        train
            Takes the plain step.
        run
            Whose sums they are.

        Raises
        ------
        CipherError
            The sums are not of this group.
        """
        update = train(self._plain(request, run))
        if not update.examples:
            return update
        weighed = np.append(np.array(update.values), 1.0) * update.examples
        term = self.sums.give(request.step, request.server, weighed, run, noise)
        return replace(update, examples=1, values=(), term=term)

    def _plain(self, request: ControllerRequest, run: str) -> ControllerRequest:
        width = len(FEATURES.names)
        mean, deviation, weights = np.zeros(0), np.zeros(0), np.zeros(width + 1)
        if request.moments_sum:
            moments = self._average(request.moments_sum, 2 * width, run)
            scaling = Moments(moments[:width], _unless_constant(moments[:width], moments[width:])).scaling
            mean, deviation = scaling.mean, scaling.deviation
        if request.weights_sum:
            weights = self._average(request.weights_sum, width + 1, run)
        return replace(
            request,
            encrypted=False,
            moments_sum=(),
            weights_sum=(),
            mean=tuple(mean.tolist()),
            deviation=tuple(deviation.tolist()),
            weights=tuple(weights.tolist()),
        )

    def _average(self, total: SumParts, count: int, run: str) -> Floats:
        numbers = self.sums.read(total, count + 1, run)
        if numbers[-1] < 0.5:
            raise CipherError("a sum over no example", where="sum")
        return np.asarray(numbers[:-1] / numbers[-1], dtype=np.float64)


def _unless_constant(mean: Floats, square: Floats) -> Floats:
    """The mean squares, those of constant features without what rounding added."""
    return np.where(square - mean**2 < _CONSTANT, mean**2, square)
