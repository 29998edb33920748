"""Learns a device's hypergraph from its units (FD-RAG eq. 4-8, Appendix A, C.2)."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units, check_settings, check_units
from fedrag_flwr.hypergraph.descent import Part, descend
from fedrag_flwr.hypergraph.diffusion import gather, in_reading_order, keep_memberships
from fedrag_flwr.hypergraph.neighbours import Block, nearest, seed_blocks
from fedrag_flwr.hypergraph.objective import Entries, SoftObjective, choose_pairs, hard_objective
from fedrag_flwr.hypergraph.rows import Floats, Indices, Vectors, row_products
from fedrag_flwr.records import Hyperedge

_TOKEN = re.compile(r"[A-Za-z0-9_\-\u4e00-\u9fff]+")
_ENTITY = re.compile(r"\b[A-Z][A-Za-z0-9_-]*(?:\s+[A-Z][A-Za-z0-9_-]*){0,4}\b")


def tokens(text: str) -> list[str]:
    """The runs of letters, digits, ``_``, ``-`` and Han characters of a text, in lower case."""
    return [found.lower() for found in _TOKEN.findall(text)]


def entities(question: str) -> set[str]:
    """The runs of one to five capitalised words of a question, in lower case."""
    return {found.lower() for found in _ENTITY.findall(question)}


class VertexSeeds:
    """Finds the vertices of a key space that a question mentions.

    Parameters
    ----------
    vertices
        Their names, length v.
    by_rarity
        Count a token by how few vertices have it, ``log(1 + v / holders)``, instead of all alike. Among the candidates
        of one question all alike is the paper's way; in a whole corpus "the" and "of" would seed most of it.
    sharpness
        Power, from 1, to which a share of tokens is raised: the higher, the less a vertex weighs that has only part of
        its tokens from the question.

    Raises
    ------
    SettingError
        The sharpness is below 1.
    """

    def __init__(self, vertices: Sequence[str], *, by_rarity: bool = False, sharpness: float = 1.0) -> None:
        if not 1.0 <= sharpness < math.inf:
            raise SettingError("the sharpness of seeds is below 1", where="key space")
        self._sharpness = sharpness
        rows_of: dict[str, list[int]] = defaultdict(list)
        named: dict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(vertices):
            named[name.lower()].append(row)
            for word in set(tokens(name)):
                rows_of[word].append(row)
        self._holders = {word: np.array(rows, dtype=np.int64) for word, rows in rows_of.items()}
        self._weights = {
            word: math.log1p(len(vertices) / len(rows)) if by_rarity else 1.0 for word, rows in self._holders.items()
        }
        self._named = dict(named)
        whole = self._shared(self._holders, len(vertices))
        self._whole = np.where(whole > 0.0, whole, 1.0)

    def seeds(self, question: str) -> Floats:
        """Weigh the vertices, shape (v,).

        A vertex that is an entity of the question weighs 1, whatever its case; another weighs the share of its distinct
        tokens that the question has, raised to the sharpness.
        """
        weights = (self._shared(set(tokens(question)), len(self._whole)) / self._whole) ** self._sharpness
        for name in entities(question):
            weights[self._named.get(name, [])] = 1.0
        return weights

    def _shared(self, words: Iterable[str], count: int) -> Floats:
        """The weight of those words that each vertex has."""
        shared = np.zeros(count)
        for word in words:
            if word in self._holders:
                shared[self._holders[word]] += self._weights[word]
        return shared


_TEMPERATURE = 0.05


def learn(units: Sequence[Units], settings: LearningSettings, rng: np.random.Generator) -> Learning:
    """Gather units into hyperedges, with one record of both granularities.

    Each granularity of N units has ceil(N / units_per_edge) candidate hyperedges seeded by k-means. More than 2,048
    units are cut into blocks of near ones, about 1,024 or 64 hyperedges each; a unit may join the `candidates` nearest
    of its block. So blocks are learnt each by itself, in time that grows as N * candidates * dimension. The same units,
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
    blocks = [block for start in starts for block in start.blocks]
    descent = descend([block.part for block in blocks], [block.rows for block in blocks], settings)
    learnt = iter(descent.rows)
    hyperedges: list[Hyperedge] = []
    orphans, objective = 0, 0.0
    for start in starts:
        entries, weights, lost = start.sparsify(list(islice(learnt, len(start.blocks))), settings.threshold)
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
