"""What a hypergraph is learnt from and with: units, settings, and the hyperedges that memberships make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.rows import Floats, Indices
from fedrag_flwr.records import Granularity, Hyperedge

Grouping = Literal["learned", "random"]


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """FD-RAG's hyperparameters (5.1, C.2) and the product's bounds on work."""

    threshold: float = 0.5  # memberships above it are kept (mu)
    intra_weight: float = 0.6  # weight of the intra-hyperedge term (lambda)
    margin: float = 1.0  # distance beyond which dissimilar prototypes do not repel (gamma)
    units_per_edge: int = 4  # units for each candidate hyperedge (the paper: 4)
    candidates: int = 8  # nearest candidate hyperedges that a unit may join
    steps: int = 300  # most projected-gradient steps
    learning_rate: float = 0.05  # first step that backtracking tries
    # ``learned``, or ``random`` for an ablation: units dealt to hyperedges without regard to meaning.
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


def check_units(units: Sequence[Units]) -> None:
    """Check shapes and finiteness; raises SettingError with the granularity that is at fault."""
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


def keep_memberships(rows: Floats, threshold: float) -> tuple[NDArray[np.bool_], int]:
    """Choose the memberships above the threshold; a unit with none keeps its largest.

    Parameters
    ----------
    rows
        Memberships of shape (n, k).
    threshold
        mu.

    Returns
    -------
    tuple[NDArray[np.bool_], int]
        What is kept, shape (n, k) with at least one in each row, and how many rows kept only their largest.
    """
    kept = rows > threshold
    orphans = np.flatnonzero(~kept.any(axis=1))
    if len(orphans):
        kept[orphans, rows[orphans].argmax(axis=1)] = True
    return kept, len(orphans)


def content_id(granularity: Granularity, members: Iterable[str]) -> str:
    """Name a hyperedge by what it holds: 16 hex digits of a SHA-256 over granularity and sorted members."""
    content = json.dumps([granularity, *sorted(members)], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def gather(group: Units, members: Indices, weights: Floats) -> Hyperedge:
    """Make the hyperedge of some units; its members stand in the order of `group`.

    Parameters
    ----------
    group
        The units of its granularity.
    members
        Positions in `group`, shape (members,), each once and at least one.
    weights
        Their memberships in (0, 1], shape (members,).
    """
    order = np.argsort(members)
    members, weights = members[order], weights[order]
    ids = tuple(group.ids[position] for position in members)
    prototype = weights @ group.vectors[members].astype(np.float64) / weights.sum()
    return Hyperedge(
        content_id(group.granularity, ids),
        group.granularity,
        ids,
        tuple(float(weight) for weight in weights),
        prototype.astype(np.float32),
    )


def in_reading_order(group: Units, hyperedges: Iterable[Hyperedge]) -> list[Hyperedge]:
    """Order hyperedges by their first member, and keep one of those with equal members."""
    positions = {unit: position for position, unit in enumerate(group.ids)}
    unique = {edge.id: edge for edge in hyperedges}
    return sorted(unique.values(), key=lambda edge: ([positions[member] for member in edge.members], edge.id))
