"""From soft memberships to hyperedges: the threshold, orphans, prototypes and content ids (FD-RAG eq. 4-5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.records import Granularity, Hyperedge

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


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
