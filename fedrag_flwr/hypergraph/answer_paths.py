"""Hyperedges over evidence tuples as keys to passages: answer paths, diffusion, explanation (HKVM-RAG eq. 2 to 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.tuples import TupleTable, VertexSeeds, incidence
from fedrag_flwr.records import ChosenPath, EvidenceTuple, PathStep

if TYPE_CHECKING:
    from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConfidenceWeighting:
    """Weights ``1 + (boost - 1) a`` with `a` the weighted mean of three confidences (eq. 4: lambda; eq. 5: beta).

    Raises SettingError where a weight is negative, all are zero, or the boost is below 1.
    """

    factual: float
    salience: float
    bridge: float
    boost: float

    def __post_init__(self) -> None:
        parts = (self.factual, self.salience, self.bridge)
        if min(parts) < 0.0 or sum(parts) <= 0.0 or not 1.0 <= self.boost < np.inf:
            raise SettingError(
                "confidence weights are out of range", where="key space", fix="weights from 0, one above, boost from 1"
            )

    def weights(self, factual: Floats, salience: Floats, bridge: Floats) -> Floats:
        """Weigh keys by their confidences in [0, 1]; all shapes (n,)."""
        total = self.factual + self.salience + self.bridge
        mean = (self.factual * factual + self.salience * salience + self.bridge * bridge) / total
        return 1.0 + (self.boost - 1.0) * mean


PAPER = ConfidenceWeighting(factual=0.5, salience=0.0, bridge=0.5, boost=3.0)
"""The paper's default for hyperedges, and by analogy for pairs (section IV-D)."""

REPOSITORY_PATHS = ConfidenceWeighting(factual=0.2, salience=0.4, bridge=0.4, boost=2.0)
"""What the paper's published code weighs hyperedges with."""


FEWEST_TUPLES = 2
FEWEST_VERTICES = 3


@dataclass(frozen=True, slots=True)
class KeyEdges:
    """Hyperedges as keys."""

    names: tuple[str, ...]  # what each edge is about: the bridge vertex in lower case, or the passage; length e
    vertices: csr_array  # sparse 0/1 membership, shape (e, v)
    passages: csr_array  # sparse 0/1: passages to which an edge gives its score, shape (e, p)
    weights: Floats  # weight of each edge, shape (e,)

    def only(self, kept: NDArray[np.int64]) -> KeyEdges:
        """Some of the edges, by row."""
        names = tuple(self.names[edge] for edge in kept)
        return KeyEdges(names, self.vertices[kept], self.passages[kept], self.weights[kept])


@dataclass(frozen=True, slots=True)
class PathSettings:
    """How answer-path edges are weighted."""

    weighting: ConfidenceWeighting | None  # none: every edge weighs 1 (the static hypergraph)
    # Whether a tuple that begins and ends in its bridge counts twice there, as in the paper's published code.
    loops_twice: bool = False


PRESETS = {
    "static": PathSettings(None),
    "paper": PathSettings(PAPER),
    "repository": PathSettings(REPOSITORY_PATHS, loops_twice=True),
}


def answer_paths(table: TupleTable, settings: PathSettings) -> KeyEdges:
    """Gather the tuples that share a bridge vertex, whatever its case, into one hyperedge (eq. 2 and 3).

    An edge has at least two tuples and three vertices. It inherits the mean factual confidence and salience of its
    tuples and their greatest bridge potential.
    """
    bridges, bridge_of = np.unique(
        np.array([name.lower() for name in table.vertices], dtype=object), return_inverse=True
    )
    tuples = np.arange(len(table))
    begins, ends = bridge_of[table.heads], bridge_of[table.tails]
    also = np.ones(len(table), dtype=bool) if settings.loops_twice else begins != ends
    groups, members = np.concatenate([begins, ends[also]]), np.concatenate([tuples, tuples[also]])
    grouped = incidence(groups, members, np.ones(len(members)), (len(bridges), len(table)))
    vertices = _support(grouped @ _vertices_of(table))
    sizes, spans = _row_sums(grouped), _row_sums(vertices)
    kept = np.flatnonzero((sizes >= FEWEST_TUPLES) & (spans >= FEWEST_VERTICES))
    weights = np.ones(len(bridges))
    if settings.weighting is not None:
        highest = np.zeros(len(bridges))
        np.maximum.at(highest, groups, table.bridge[members])
        count = np.maximum(sizes, 1.0)
        weights = settings.weighting.weights(
            (grouped @ table.factual) / count, (grouped @ table.salience) / count, highest
        )
    places = incidence(tuples, table.places, np.ones(len(table)), (len(table), len(table.passages)))
    edges = KeyEdges(tuple(bridges.tolist()), vertices, _support(grouped @ places), weights)
    return edges.only(kept)


def _vertices_of(table: TupleTable) -> csr_array:
    tuples = np.arange(len(table))
    ends = np.concatenate([table.heads, table.tails])
    return incidence(np.tile(tuples, 2), ends, np.ones(len(ends)), (len(table), len(table.vertices)))


def _support(matrix: csr_array) -> csr_array:
    """The places of a sparse matrix that hold more than nothing, each with a one."""
    held = matrix.tocsr()
    held.eliminate_zeros()
    held.data = np.ones_like(held.data)
    return held


def _row_sums(matrix: csr_array) -> Floats:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).reshape(-1)


@dataclass(frozen=True, slots=True)
class DiffusionSettings:
    """How far scores spread."""

    seed_share: float = 0.35  # share of its seed that a vertex keeps at each step, in [0, 1] (rho)
    depth: int = 1  # steps, from 1 (T)

    def __post_init__(self) -> None:
        if not 0.0 <= self.seed_share <= 1.0 or self.depth < 1:
            raise SettingError("diffusion settings are out of range", where="key space")


class HyperedgeKeys:
    """Hyperedges as keys: they take the mean score of their vertices, and give it back to vertices and passages."""

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
        self._place = {name: number for number, name in enumerate(table.passages)}

    def scores(self, seeds: Floats) -> Floats:
        """Score the passages, shape (p,), from weights of seed vertices, shape (v,)."""
        vertices, edges = self._diffuse(seeds)
        return np.asarray(self._endpoints @ vertices + self._give @ edges, dtype=np.float64)

    def edge_scores(self, seeds: Floats) -> Floats:
        """Score the hyperedges after diffusion, shape (e,)."""
        return self._diffuse(seeds)[1]

    def edges_of(self, passage: str) -> NDArray[np.int32]:
        """The hyperedges that lead to a passage; none to one that is not in the table."""
        place = self._place.get(passage)
        return np.zeros(0, dtype=np.int32) if place is None else self._give[[place]].indices

    def _diffuse(self, seeds: Floats) -> tuple[Floats, Floats]:
        vertices = seeds
        kept, share = self._settings.seed_share * seeds, 1.0 - self._settings.seed_share
        for _ in range(self._settings.depth):
            vertices = kept + share * (self._spread @ (self._gather @ vertices))
        return np.asarray(vertices, dtype=np.float64), np.asarray(self._gather @ vertices, dtype=np.float64)


@dataclass(frozen=True)
class PathExplainer:
    """Finds the answer-path hyperedge that gives a passage most of its score, and the tuples that make the path."""

    keys: HyperedgeKeys  # answer paths over the tuples
    seeds: VertexSeeds  # finds the vertices that a question mentions
    tuples: Mapping[str, Sequence[EvidenceTuple]]  # those that the keys were made of, by passage

    @cached_property
    def _vertex(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.keys.table.vertices)}

    def explain(self, question: str, passages: Sequence[str]) -> list[ChosenPath | None]:
        """For each passage the strongest path to it; None where the question reaches it by none."""
        seeds = self.seeds.seeds(question)
        scores = self.keys.edge_scores(seeds)
        return [self._explain(name, seeds, scores) for name in passages]

    def _explain(self, passage: str, seeds: Floats, scores: Floats) -> ChosenPath | None:
        leading, edges = self.keys.edges_of(passage), self.keys.edges
        if not len(leading) or float(scores[leading].max()) <= 0.0:
            return None
        edge = int(leading[np.argmax(scores[leading])])
        bridge = edges.names[edge]

        def near(one: EvidenceTuple) -> tuple[float, float]:
            others = [float(seeds[self._vertex[end]]) for end in (one.head, one.tail) if end.lower() != bridge]
            return max(others, default=0.0), one.factual * one.confidence

        own = max(self._at(bridge, passage), key=near)
        reached = (self.keys.table.passages[place] for place in np.sort(edges.passages[[edge]].indices))
        mentioned = (one for name in reached if name != passage for one in self._at(bridge, name) if near(one)[0] > 0.0)
        first = max(mentioned, key=near, default=None)
        chain = [own] if first is None else [first, own]
        steps = tuple(PathStep(one.head, one.relation, one.tail, one.passage_id) for one in chain)
        ends = dict.fromkeys(end for one in chain for end in (one.head, one.tail))
        asked = tuple(end for end in ends if seeds[self._vertex[end]] > 0.0)
        return ChosenPath(passage, bridge, float(edges.weights[edge]), float(scores[edge]), asked, steps)

    def _at(self, bridge: str, passage: str) -> list[EvidenceTuple]:
        """The tuples of a passage that share the bridge."""
        return [one for one in self.tuples.get(passage, ()) if bridge in (one.head.lower(), one.tail.lower())]
