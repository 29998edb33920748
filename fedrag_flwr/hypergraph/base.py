"""What hypergraph learning takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
