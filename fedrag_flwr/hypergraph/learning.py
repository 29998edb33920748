"""Learns a device's hypergraph from its units (FD-RAG eq. 4-8, Appendix A, C.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units
from fedrag_flwr.hypergraph.checking import check_settings, check_units
from fedrag_flwr.hypergraph.descent import Part, descend
from fedrag_flwr.hypergraph.incidence import gather, in_reading_order, keep_memberships
from fedrag_flwr.hypergraph.neighbours import nearest, seed_prototypes
from fedrag_flwr.hypergraph.objective import Entries, SoftObjective, hard_objective
from fedrag_flwr.hypergraph.products import Floats, Indices, Vectors, row_products
from fedrag_flwr.hypergraph.separation import choose_pairs
from fedrag_flwr.records import Hyperedge

_TEMPERATURE = 0.05


def learn(units: Sequence[Units], settings: LearningSettings, rng: np.random.Generator) -> Learning:
    """Gather units into hyperedges, both granularities in one descent.

    Each granularity of N units has ceil(N / units_per_edge) candidate hyperedges seeded by k-means; a unit may join
    the `candidates` nearest of them. Time and memory grow as N * candidates * dimension for a step. The same units,
    settings, generator state and number of threads give the same hyperedges.

    Parameters
    ----------
    units
        One group for each granularity; a group may be empty.
    settings
        Hyperparameters and bounds.
    rng
        Source of the seeds.

    Returns
    -------
    Learning
        Every unit is a member of at least one hyperedge.

    Raises
    ------
    SettingError
        If a setting is out of range, or units have wrong shapes, NaN or repeated ids.
    """
    check_settings(settings)
    check_units(units)
    if settings.grouping == "random":
        return deal(units, settings, rng)
    starts = [begin(group, settings, rng) for group in units if len(group.ids)]
    descent = descend(tuple(start.part for start in starts), tuple(start.rows for start in starts), settings)
    hyperedges: list[Hyperedge] = []
    orphans, objective = 0, 0.0
    for start, rows in zip(starts, descent.rows, strict=True):
        kept, lost = keep_memberships(rows, settings.threshold)
        mask = kept.reshape(-1)
        units_kept = start.order[start.entries.rows[mask]]
        entries = Entries(units_kept, start.entries.edges[mask], start.entries.edge_count)
        weights = rows.reshape(-1)[mask]
        hyperedges += _hyperedges(start.group, entries, weights)
        objective += hard_objective(start.group.vectors, weights, entries, settings)
        orphans += lost
    return Learning(tuple(hyperedges), descent.loss, descent.gradient_mapping, descent.step_sizes, orphans, objective)


def deal(units: Sequence[Units], settings: LearningSettings, rng: np.random.Generator) -> Learning:
    """Deal units to hyperedges of `units_per_edge` at random: what learning is measured against (FD-RAG fig. 3)."""
    hyperedges: list[Hyperedge] = []
    objective = 0.0
    for group in units:
        count = len(group.ids)
        if count:
            edges = rng.permutation(count) // settings.units_per_edge
            entries = Entries.of_candidates(edges[:, None], math.ceil(count / settings.units_per_edge))
            hyperedges += _hyperedges(group, entries, np.ones(count))
            objective += hard_objective(group.vectors, np.ones(count), entries, settings)
    return Learning(tuple(hyperedges), (), (), (), 0, objective)


@dataclass(frozen=True, slots=True)
class Start:
    """One granularity before the descent.

    Inside, units stand by their nearest seed, so that those which meet the same prototypes are near in memory: row i of
    the problem is unit `order[i]` of the group. `rows` are the first memberships, shape (n, k).
    """

    group: Units
    order: Indices
    entries: Entries
    rows: Floats
    part: Part


def begin(group: Units, settings: LearningSettings, rng: np.random.Generator) -> Start:
    """Seed one granularity's candidate hyperedges and give each unit its first memberships."""
    count = math.ceil(len(group.ids) / settings.units_per_edge)
    seeds = seed_prototypes(group.vectors, count, rng)
    candidates = nearest(group.vectors, seeds, settings.candidates)
    order = np.argsort(candidates[:, 0], kind="stable")
    vectors, candidates = group.vectors[order], candidates[order]
    entries = Entries.of_candidates(candidates, count)
    objective = SoftObjective(vectors, entries, seeds, settings, choose_pairs(seeds))
    rows = first_memberships(vectors, seeds, candidates)
    return Start(group, order, entries, rows, Part(objective, np.zeros(0)))


def first_memberships(vectors: Vectors, prototypes: Vectors, candidates: Indices) -> Floats:
    """Share each unit among its candidates by a softmax of their inner products, shape (n, k), all positive."""
    entries = Entries.of_candidates(candidates, len(prototypes))
    similarities = row_products(vectors, prototypes, entries.rows, entries.edges).reshape(candidates.shape)
    shares = np.exp((similarities - similarities.max(axis=1, keepdims=True)) / _TEMPERATURE)
    rows: Floats = shares / shares.sum(axis=1, keepdims=True)
    return rows


def _hyperedges(group: Units, entries: Entries, weights: Floats) -> list[Hyperedge]:
    order = np.argsort(entries.edges, kind="stable")
    cuts = np.flatnonzero(np.diff(entries.edges[order])) + 1
    return in_reading_order(
        group, (gather(group, entries.rows[part], weights[part]) for part in np.split(order, cuts) if len(part))
    )
