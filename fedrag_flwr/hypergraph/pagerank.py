"""Personalised PageRank over a sparse weighted graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError

if TYPE_CHECKING:
    from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PageRankSettings:
    """When a walk restarts and when the iteration stops (HKVM-RAG section IV-E).

    Parameters
    ----------
    restart_probability
        In (0, 1].
    iterations
        At most so many.
    tolerance
        Stop when an iteration moves less mass than this (L1).
    """

    restart_probability: float = 0.5
    iterations: int = 40
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        if not 0.0 < self.restart_probability <= 1.0 or self.iterations < 1 or self.tolerance < 0.0:
            raise SettingError("PageRank settings are out of range", where="key space")


class PageRank:
    """Personalised PageRank over one graph; what its columns hold is normalised once.

    Parameters
    ----------
    adjacency
        Sparse weights from 0, shape (v, v): entry (i, j) is the weight of the step from j to i. A vertex without any
        step loses its mass.
    settings
        Restart and stopping.
    """

    def __init__(self, adjacency: csr_array, settings: PageRankSettings | None = None) -> None:
        from scipy.sparse import diags_array

        totals = np.asarray(adjacency.sum(axis=0), dtype=np.float64).reshape(-1)
        inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0.0)
        self._transition = (adjacency @ diags_array(inverse)).tocsr()
        self._settings = settings or PageRankSettings()

    def scores(self, seeds: Floats) -> Floats:
        """Mass of each vertex when walks restart at seeds in proportion to their weights.

        Parameters
        ----------
        seeds
            Weights from 0, shape (v,); all zero gives zeros.
        """
        total = float(seeds.sum())
        if total <= 0.0:
            return np.zeros_like(seeds, dtype=np.float64)
        start = seeds / total
        restart, mass = self._settings.restart_probability * start, start
        for _ in range(self._settings.iterations):
            moved = restart + (1.0 - self._settings.restart_probability) * (self._transition @ mass)
            change = float(np.abs(moved - mass).sum())
            mass = moved
            if change < self._settings.tolerance:
                break
        return np.asarray(mass, dtype=np.float64)
