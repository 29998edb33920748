"""Diffusion between vertices and hyperedges, from a question's seeds to passages (HKVM-RAG eq. 6)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.answer_paths import KeyEdges
from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.hypergraph.tuples import TupleTable
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


@dataclass(frozen=True, slots=True)
class DiffusionSettings:
    """How far scores spread.

    Parameters
    ----------
    seed_share
        Share of its seed that a vertex keeps at each step, in [0, 1] (rho).
    depth
        Steps, from 1 (T).
    negligible
        Seeds, and after each step vertices, below this share of the highest one count nothing; 0: all count. Over a
        large corpus nearly every vertex gets some score, and most of the time goes to those.
    """

    seed_share: float = 0.35
    depth: int = 1
    negligible: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.seed_share <= 1.0 or self.depth < 1 or not 0.0 <= self.negligible < 1.0:
            raise SettingError("diffusion settings are out of range", where="key space")


class HyperedgeKeys:
    """Hyperedges as keys: they take the mean score of their vertices, and give it back to vertices and passages.

    Parameters
    ----------
    name
        What the edges are, for the id.
    table
        The tuples.
    edges
        Hyperedges over the table's vertices and passages.
    settings
        Diffusion's.
    """

    def __init__(
        self, name: str, table: TupleTable, edges: KeyEdges, settings: DiffusionSettings | None = None
    ) -> None:
        from scipy.sparse import diags_array  # type: ignore[import-untyped, unused-ignore]

        self.table = table
        self.edges = edges
        self._settings = settings or DiffusionSettings()
        self.id = f"{name}(depth={self._settings.depth})"
        sizes = np.asarray(edges.vertices.sum(axis=1)).reshape(-1)
        degrees = np.asarray(edges.vertices.sum(axis=0)).reshape(-1)
        self._gather = (diags_array(edges.weights / np.maximum(sizes, 1.0)) @ edges.vertices).tocsr()
        self._spread = (diags_array(1.0 / np.maximum(degrees, 1.0)) @ edges.vertices.T).tocsr()
        self._give = edges.passages.T.tocsr()
        self._endpoints = table.endpoints()

    def scores(self, seeds: Floats) -> Floats:
        """Score the passages, shape (p,), from weights of seed vertices, shape (v,)."""
        vertices, edges = self._diffuse(seeds)
        return np.asarray(self._endpoints @ vertices + self._give @ edges, dtype=np.float64)

    def edge_scores(self, seeds: Floats) -> Floats:
        """Score the hyperedges after diffusion, shape (e,)."""
        return self._diffuse(seeds)[1]

    def _diffuse(self, seeds: Floats) -> tuple[Floats, Floats]:
        vertices = seeds = telling(seeds, self._settings.negligible)
        kept, share = self._settings.seed_share * seeds, 1.0 - self._settings.seed_share
        for _ in range(self._settings.depth):
            spread = self._spread @ (self._gather @ vertices)
            vertices = telling(kept + share * spread, self._settings.negligible)
        return np.asarray(vertices, dtype=np.float64), np.asarray(self._gather @ vertices, dtype=np.float64)


def telling(scores: Floats, negligible: float) -> Floats:
    """Scores without those below a share of the highest."""
    if not negligible or not len(scores):
        return scores
    return np.where(scores >= negligible * scores.max(), scores, 0.0)
