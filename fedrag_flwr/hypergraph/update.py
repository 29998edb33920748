"""Brings a learnt hypergraph up to date with added and vanished units, in time proportional to the change."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
from fedrag_flwr.hypergraph.learn import first_memberships
from fedrag_flwr.hypergraph.neighbours import nearest, seed_prototypes
from fedrag_flwr.hypergraph.objective import Entries, SoftObjective, choose_pairs
from fedrag_flwr.hypergraph.rows import Floats, Indices, Vectors
from fedrag_flwr.records import Hyperedge


def update(
    previous: Sequence[Hyperedge],
    units: Sequence[Units],
    added_ids: Collection[str],
    settings: LearningSettings,
    rng: np.random.Generator,
) -> Learning:
    """Place added units and drop vanished ones; what nothing touches stays as it is, ids included; raises as `learn`.

    Units in `previous` keep their memberships. Members that are no longer in `units` leave, and a hyperedge without
    members goes. Added units may join the nearest of the existing hyperedges and of ceil(added / units_per_edge) new
    ones seeded among them; only their rows are optimised, over the hyperedges that they may join.

    `added_ids` are new units and those whose vector changed; what no previous hyperedge holds is added as well.

    Returns
    -------
    Learning
        All hyperedges; loss and orphans are of the part that was optimised.
    """
    check_units(units)
    added = frozenset(added_ids)
    changes = [_change(previous, group, added, settings, rng) for group in units]
    open_changes = [change for change in changes if change.rows.size]
    descent = descend(
        [change.part(settings) for change in open_changes], [change.rows for change in open_changes], settings
    )
    learnt = dict(zip((change.group.granularity for change in open_changes), descent.rows, strict=True))
    hyperedges: list[Hyperedge] = []
    orphans = 0
    for change in changes:
        rows = learnt.get(change.group.granularity, change.rows)
        kept, lost = keep_memberships(rows, settings.threshold)
        hyperedges += in_reading_order(change.group, change.finish(rows, kept))
        orphans += lost
    return Learning(tuple(hyperedges), descent.loss, descent.gradient_mapping, descent.step_sizes, orphans)


@dataclass(frozen=True, slots=True)
class _Bundle:
    """What is left of a previous hyperedge: `edge` is unchanged, or None where members left; a new one has neither."""

    edge: Hyperedge | None
    members: Indices
    weights: Floats


@dataclass(frozen=True, slots=True)
class _Change:
    """One granularity's change: `candidates` and `rows` of shape (added, k) point into `bundles`."""

    group: Units
    bundles: tuple[_Bundle, ...]
    prototypes: Vectors
    added: Indices
    candidates: Indices
    rows: Floats

    def part(self, settings: LearningSettings) -> Part:
        """Pose the problem of placing the added units among the touched hyperedges, whose memberships are fixed."""
        touched, local = np.unique(self.candidates, return_inverse=True)
        bundles = [self.bundles[position] for position in touched]
        stay = np.concatenate([bundle.members for bundle in bundles])
        fixed = np.concatenate([bundle.weights for bundle in bundles])
        free = Entries.of_candidates(local.reshape(self.candidates.shape).astype(np.int64), len(touched))
        homes = np.repeat(np.arange(len(touched), dtype=np.int64), [len(bundle.members) for bundle in bundles])
        rows = np.concatenate([free.rows, len(self.added) + np.arange(len(stay), dtype=np.int64)])
        entries = Entries(rows, np.concatenate([free.edges, homes]), len(touched))
        vectors, seeds = self.group.vectors[np.concatenate([self.added, stay])], self.prototypes[touched]
        return Part(SoftObjective(vectors, entries, seeds, settings, choose_pairs(seeds)), fixed)

    def finish(self, rows: Floats, kept: NDArray[np.bool_]) -> list[Hyperedge]:
        """Make the hyperedges, the untouched ones as they were."""
        units, ranks = np.nonzero(kept)
        homes, weights, joining = self.candidates[units, ranks], rows[units, ranks], self.added[units]
        joined: dict[int, list[int]] = {}
        for entry, home in enumerate(homes.tolist()):
            joined.setdefault(home, []).append(entry)
        finished = []
        for position, bundle in enumerate(self.bundles):
            new = np.asarray(joined.get(position, []), dtype=np.int64)
            if bundle.edge is not None and not len(new):
                finished.append(bundle.edge)
            elif len(new) or len(bundle.members):
                members = np.concatenate([bundle.members, joining[new]])
                finished.append(gather(self.group, members, np.concatenate([bundle.weights, weights[new]])))
        return finished


def _change(
    previous: Sequence[Hyperedge],
    group: Units,
    added: frozenset[str],
    settings: LearningSettings,
    rng: np.random.Generator,
) -> _Change:
    positions = {unit: position for position, unit in enumerate(group.ids)}
    bundles, prototypes, covered = [], [], set(added)
    for edge in previous:
        if edge.granularity != group.granularity:
            continue
        stay = [place for place, unit in enumerate(edge.members) if unit in positions and unit not in added]
        if not stay:
            continue
        members = np.asarray([positions[edge.members[place]] for place in stay], dtype=np.int64)
        weights = np.asarray([edge.weights[place] for place in stay])
        whole = len(stay) == len(edge.members)
        bundles.append(_Bundle(edge if whole else None, members, weights))
        prototypes.append(edge.prototype if whole else weights @ group.vectors[members] / weights.sum())
        covered.update(edge.members[place] for place in stay)
    new = [place for unit, place in positions.items() if unit in added or unit not in covered]
    return _with_candidates(group, bundles, prototypes, np.asarray(new, dtype=np.int64), settings, rng)


def _with_candidates(
    group: Units,
    bundles: list[_Bundle],
    prototypes: list[NDArray[np.floating]],
    added: Indices,
    settings: LearningSettings,
    rng: np.random.Generator,
) -> _Change:
    existing = np.asarray(prototypes, dtype=np.float32).reshape(len(prototypes), group.vectors.shape[1])
    if not len(added):
        empty = np.zeros((0, 1))
        return _Change(group, tuple(bundles), existing, added, empty.astype(np.int64), empty)
    vectors = group.vectors[added]
    seeds = seed_prototypes(vectors, math.ceil(len(added) / settings.units_per_edge), rng)
    joint = np.concatenate([existing, seeds])
    bundles = bundles + [_Bundle(None, np.zeros(0, dtype=np.int64), np.zeros(0)) for _ in seeds]
    candidates = nearest(vectors, joint, settings.candidates)
    rows = first_memberships(vectors, joint, candidates)
    return _Change(group, tuple(bundles), joint, added, candidates, rows)
