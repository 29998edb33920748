"""The dense reference of hypergraph learning: eq. 4-8 in torch with memberships as weights, for small corpora only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.base import LearningSettings, Units, check_settings, check_units
from fedrag_flwr.hypergraph.diffusion import keep_memberships
from fedrag_flwr.hypergraph.objective import Entries, hard_objective
from fedrag_flwr.hypergraph.rows import project_rows

if TYPE_CHECKING:
    from torch import Tensor

MOST_UNITS = 4_096


def learn_dense(
    group: Units, settings: LearningSettings, rng: np.random.Generator
) -> tuple[NDArray[np.float64], tuple[float, ...]]:
    """Learn one granularity's full incidence by projected gradient with the fixed `learning_rate`, as the paper does.

    Starts from positive random rows (C.2) and takes exactly `settings.steps` steps; `candidates` plays no part.

    Parameters
    ----------
    group
        At most `MOST_UNITS` units.
    settings
        Hyperparameters.
    rng
        Source of the first memberships.

    Returns
    -------
    tuple[NDArray[np.float64], tuple[float, ...]]
        The soft incidence of shape (n, ceil(n / units_per_edge)), and the loss before each step and at the end.

    Raises
    ------
    SettingError
        As `learn`; or if there are more units than a dense incidence is for.
    """
    import torch

    check_settings(settings)
    check_units([group])
    if len(group.ids) > MOST_UNITS:
        raise SettingError(
            f"{len(group.ids)} units are too many for a dense incidence", where="learn_dense", fix="use learn"
        )
    count = math.ceil(len(group.ids) / settings.units_per_edge)
    start = rng.uniform(0.01, 1.0, (len(group.ids), count))
    rows = start / np.maximum(start.sum(axis=1, keepdims=True), 1e-12)
    vectors = torch.from_numpy(group.vectors)
    losses: list[float] = []
    for step in range(settings.steps + 1):
        memberships = torch.from_numpy(rows.astype(group.vectors.dtype)).requires_grad_()
        loss = _loss(vectors, memberships, settings)
        losses.append(float(loss.detach()))
        if step < settings.steps and rows.size:
            loss.backward()  # type: ignore[no-untyped-call]
            assert memberships.grad is not None
            rows = project_rows(rows - settings.learning_rate * memberships.grad.numpy())
    return rows, tuple(losses)


def dense_hard_objective(group: Units, rows: NDArray[np.float64], settings: LearningSettings) -> float:
    """Compute eq. 8 after sparsifying a dense incidence of shape (n, m) as `learn` does."""
    kept, _ = keep_memberships(rows, settings.threshold)
    units, edges = np.nonzero(kept)
    entries = Entries(units.astype(np.int64), edges.astype(np.int64), rows.shape[1])
    return hard_objective(group.vectors, rows[kept], entries, settings)


def dense_soft_loss(group: Units, rows: NDArray[np.float64], settings: LearningSettings) -> float:
    """Compute what `learn_dense` minimises, for any memberships of shape (n, m), in double precision."""
    import torch

    vectors = torch.from_numpy(group.vectors.astype(np.float64))
    return float(_loss(vectors, torch.from_numpy(rows), settings))


def _loss(vectors: Tensor, memberships: Tensor, settings: LearningSettings) -> Tensor:
    import torch

    mass = memberships.sum(dim=0).clamp_min(1e-9)
    prototypes = memberships.T @ vectors / mass[:, None]
    intra = ((memberships * _distances(vectors, prototypes)).sum(dim=0) / mass).mean()
    between = _distances(prototypes, prototypes)
    units = torch.nn.functional.normalize(prototypes, dim=1)
    cosines = units @ units.T
    inter = (cosines * between + (1.0 - cosines) * (settings.margin - between).clamp_min(0.0)).mean()
    return settings.intra_weight * intra + (1.0 - settings.intra_weight) * inter


def _distances(left: Tensor, right: Tensor) -> Tensor:
    squares = (left**2).sum(dim=1)[:, None] + (right**2).sum(dim=1)[None, :] - 2.0 * left @ right.T
    return squares.clamp_min(1e-12).sqrt()
