"""Learns a device's hypergraph from its units (FD-RAG eq. 4-8, Appendix A, C.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from fedrag_flwr.hypergraph.base import (
    Learning,
    LearningSettings,
    Units,
    check_units,
    gather,
    in_reading_order,
    keep_memberships,
)
from fedrag_flwr.hypergraph.descent import Part, descend
from fedrag_flwr.hypergraph.neighbours import Block, nearest, seed_blocks
from fedrag_flwr.hypergraph.objective import Entries, SoftObjective, choose_pairs
from fedrag_flwr.hypergraph.rows import Floats, Indices, Vectors, row_products
from fedrag_flwr.records import Hyperedge

_TEMPERATURE = 0.05


def learn(units: Sequence[Units], settings: LearningSettings, rng: np.random.Generator) -> Learning:
    """Gather units into hyperedges, with one record of both; raises SettingError for wrong shapes or NaN.

    Each granularity of N units has ceil(N / units_per_edge) candidate hyperedges seeded by k-means. More than 2,048
    units are cut into blocks of near ones, about 1,024 or 64 hyperedges each; a unit may join the `candidates` nearest
    of its block. So blocks are learnt each by itself, in time that grows as N * candidates * dimension. The same units,
    settings, generator state and number of threads give the same hyperedges.

    Returns
    -------
    Learning
        Every unit is a member of at least one hyperedge.
    """
    check_units(units)
    if settings.grouping == "random":
        return deal(units, settings, rng)
    starts = [begin(group, settings, rng) for group in units if len(group.ids)]
    blocks = [block for start in starts for block in start.blocks]
    descent = descend([block.part for block in blocks], [block.rows for block in blocks], settings)
    learnt = iter(descent.rows)
    hyperedges: list[Hyperedge] = []
    orphans = 0
    for start in starts:
        entries, weights, lost = start.sparsify(list(islice(learnt, len(start.blocks))), settings.threshold)
        hyperedges += _hyperedges(start.group, entries, weights)
        orphans += lost
    return Learning(tuple(hyperedges), descent.loss, descent.gradient_mapping, descent.step_sizes, orphans)


def deal(units: Sequence[Units], settings: LearningSettings, rng: np.random.Generator) -> Learning:
    """Deal units to hyperedges of `units_per_edge` at random: what learning is measured against (FD-RAG fig. 3)."""
    hyperedges: list[Hyperedge] = []
    for group in units:
        count = len(group.ids)
        if count:
            edges = rng.permutation(count) // settings.units_per_edge
            entries = Entries.of_candidates(edges[:, None], math.ceil(count / settings.units_per_edge))
            hyperedges += _hyperedges(group, entries, np.ones(count))
    return Learning(tuple(hyperedges), (), (), (), 0)


@dataclass(frozen=True, slots=True)
class BlockStart:
    """A block of near units before the descent.

    Inside, units stand by their nearest seed, so that those which meet the same prototypes are near in memory: row i of
    the problem is unit `order[i]` of the group. `rows` are the first memberships, shape (n, k).
    """

    order: Indices
    entries: Entries
    rows: Floats
    part: Part


@dataclass(frozen=True, slots=True)
class Start:
    """One granularity before the descent: `edge_count` candidate hyperedges, each in one block."""

    group: Units
    blocks: tuple[BlockStart, ...]
    edge_count: int

    def sparsify(self, rows: Sequence[Floats], threshold: float) -> tuple[Entries, Floats, int]:
        """Keep the memberships above the threshold: their units in `group`, their weights, and how many are orphans."""
        units, edges, weights, before, orphans = [], [], [], 0, 0
        for block, learnt in zip(self.blocks, rows, strict=True):
            kept, lost = keep_memberships(learnt, threshold)
            mask = kept.reshape(-1)
            units.append(block.order[block.entries.rows[mask]])
            edges.append(before + block.entries.edges[mask])
            weights.append(learnt.reshape(-1)[mask])
            before, orphans = before + block.entries.edge_count, orphans + lost
        return Entries(np.concatenate(units), np.concatenate(edges), self.edge_count), np.concatenate(weights), orphans


def begin(group: Units, settings: LearningSettings, rng: np.random.Generator) -> Start:
    """Seed one granularity's candidate hyperedges and give each unit its first memberships among those of its block."""
    count = math.ceil(len(group.ids) / settings.units_per_edge)
    blocks = [
        _begin_block(group.vectors, block, settings, len(block.seeds) / count)
        for block in seed_blocks(group.vectors, count, rng)
    ]
    return Start(group, tuple(blocks), count)


def _begin_block(vectors: Vectors, block: Block, settings: LearningSettings, share: float) -> BlockStart:
    candidates = nearest(vectors[block.rows], block.seeds, settings.candidates)
    by_seed = np.argsort(candidates[:, 0], kind="stable")
    order, candidates = block.rows[by_seed], candidates[by_seed]
    own, entries = vectors[order], Entries.of_candidates(candidates, len(block.seeds))
    objective = SoftObjective(own, entries, block.seeds, settings, choose_pairs(block.seeds))
    rows = first_memberships(own, block.seeds, candidates)
    return BlockStart(order, entries, rows, Part(objective, np.zeros(0), share))


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
