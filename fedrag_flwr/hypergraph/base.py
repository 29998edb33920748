"""Refuses units and settings that no hypergraph can be learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.records import Granularity, Hyperedge

Grouping = Literal["learned", "random"]


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """FD-RAG's hyperparameters (5.1, C.2) and the product's bounds on work.

    Parameters
    ----------
    threshold
        Memberships above it are kept (mu).
    intra_weight
        Weight of the intra-hyperedge term (lambda).
    margin
        Distance beyond which dissimilar prototypes do not repel (gamma).
    units_per_edge
        Units for each candidate hyperedge (the paper: 4).
    candidates
        Nearest candidate hyperedges that a unit may join.
    steps
        Most projected-gradient steps.
    learning_rate
        First step that backtracking tries.
    grouping
        ``learned``, or ``random`` for an ablation: units dealt to hyperedges without regard to meaning.
    """

    threshold: float = 0.5
    intra_weight: float = 0.6
    margin: float = 1.0
    units_per_edge: int = 4
    candidates: int = 8
    steps: int = 300
    learning_rate: float = 0.05
    grouping: Grouping = "learned"


@dataclass(frozen=True, slots=True)
class Units:
    """The units of one granularity: ids and an (n, dimension) float32 matrix of unit rows."""

    granularity: Granularity
    ids: tuple[str, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Learning:
    """The learnt hyperedges of both granularities and the record of how they were learnt."""

    hyperedges: tuple[Hyperedge, ...]
    loss: tuple[float, ...]  # after each accepted step, the initial value first
    gradient_mapping: tuple[float, ...]  # norm at each step, over the parts that still move
    step_sizes: tuple[float, ...]
    orphans: int  # units that no membership above the threshold kept; each keeps its largest
    hard_objective: float  # eq. 8 on the sparsified incidence


def check_settings(settings: LearningSettings) -> None:
    """Check that every hyperparameter is in range.

    Raises
    ------
    SettingError
        Names the first that is not.
    """
    ranges = (
        ("threshold", 0.0 <= settings.threshold < 1.0, "from 0 to below 1"),
        ("intra_weight", 0.0 <= settings.intra_weight <= 1.0, "from 0 to 1"),
        ("margin", 0.0 <= settings.margin < np.inf, "0 or more"),
        ("units_per_edge", settings.units_per_edge >= 1, "1 or more"),
        ("candidates", settings.candidates >= 1, "1 or more"),
        ("steps", settings.steps >= 0, "0 or more"),
        ("learning_rate", 1e-9 <= settings.learning_rate < np.inf, "1e-9 or more"),
    )
    for name, in_range, bounds in ranges:
        if not in_range:
            raise SettingError("hypergraph setting is out of range", where=name, fix=f"choose a number {bounds}")


def check_units(units: Sequence[Units]) -> None:
    """Check shapes, finiteness, and that ids and granularities occur once.

    Raises
    ------
    SettingError
        Names the granularity that is at fault.
    """
    granularities = [group.granularity for group in units]
    if len(set(granularities)) != len(granularities):
        raise SettingError("a granularity occurs twice", where="units", fix="join its units in one group")
    for group in units:
        where = f"{group.granularity} units"
        if group.vectors.ndim != 2 or len(group.vectors) != len(group.ids):
            raise SettingError(
                f"{len(group.ids)} ids do not fit vectors of shape {group.vectors.shape}",
                where=where,
                fix="give one row of the encoder's dimension for each id",
            )
        if not np.isfinite(group.vectors).all():
            raise SettingError("vectors hold NaN or infinity", where=where, fix="check the encoder's output")
        if len(set(group.ids)) != len(group.ids):
            raise SettingError("unit ids occur twice", where=where, fix="give every unit its own id")
