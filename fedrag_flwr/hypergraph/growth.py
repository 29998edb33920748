"""Answer-path keys over a corpus that changes: what a document changes is what its tuples touch (HKVM-RAG eq. 2 to 6).

The hyperedges and scores are those of `answer_paths` and `HyperedgeKeys` over the tuples as they are. A change costs in
proportion to the hyperedges whose bridge stands in one of the changed tuples, and to the rows of their vertices.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.answer_paths import FEWEST_TUPLES, FEWEST_VERTICES, PRESETS, PathSettings
from fedrag_flwr.hypergraph.diffusion import DiffusionSettings, telling
from fedrag_flwr.hypergraph.learn import entities, tokens
from fedrag_flwr.hypergraph.rows import RowLists, with_room
from fedrag_flwr.records import EvidenceTuple

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class GrowingSeeds:
    """Finds the vertices that a question mentions, among vertices that come and go.

    Parameters
    ----------
    sharpness
        As of `VertexSeeds`.

    Raises
    ------
    SettingError
        The sharpness is below 1.
    """

    def __init__(self, sharpness: float = 1.0) -> None:
        if not 1.0 <= sharpness < math.inf:
            raise SettingError("the sharpness of seeds is below 1", where="key space")
        self._sharpness = sharpness
        self._words: dict[str, int] = {}
        self._holders: list[array[int]] = []  # of each word, all vertices that ever had it
        self._held = np.zeros(0, dtype=np.int64)  # by how many living vertices, of each word
        self._words_of = RowLists()
        self._named: dict[str, list[int]] = defaultdict(list)
        self._alive = np.zeros(0, dtype=bool)
        self._count = 0
        self._rarity: Floats | None = None  # of words; None: vertices came or went
        self._wholes: Floats | None = None  # of vertices: the rarity of all their words together; None as well

    def add(self, first: int, names: Sequence[str]) -> None:
        """Learn the words of new vertices, numbered upwards from `first`; they do not live yet."""
        owners, columns = [], []
        for number, name in enumerate(names):
            self._named[name.lower()].append(first + number)
            for word in set(tokens(name)):
                place = self._words.setdefault(word, len(self._holders))
                if place == len(self._holders):
                    self._holders.append(array("q"))
                self._holders[place].append(first + number)
                owners.append(number)
                columns.append(place)
        rows = np.arange(first, first + len(names))
        self._words_of.write(rows, np.array(owners, dtype=np.int64), _ints(columns), np.ones(len(owners)))
        self._held = with_room(self._held, len(self._holders))
        self._alive = with_room(self._alive, first + len(names))
        self._rarity = self._wholes = None

    def live(self, vertices: Rows, alive: NDArray[np.bool_]) -> None:
        """Say which of some distinct vertices live, that is, stand in a tuple."""
        changed = vertices[self._alive[vertices] != alive]
        owners, words, _ = self._words_of.entries(changed)
        steps = np.where(self._alive[changed], -1, 1)
        np.add.at(self._held, words, steps[owners])
        self._count += int(steps.sum())
        self._alive[changed] = ~self._alive[changed]
        self._rarity = self._wholes = None

    def seeds(self, question: str, count: int) -> Floats:
        """Weigh the first so many vertices as `VertexSeeds` weighs those that live, shape (count,)."""
        asked = {self._words[word] for word in tokens(question) if word in self._words}
        rarity = self._rarities()
        weights = np.zeros(count)
        for word in sorted(asked):
            weights[np.frombuffer(self._holders[word], dtype=np.int64)] += rarity[word]
        named = _ints([row for name in entities(question) for row in self._named.get(name, ())])
        found = np.flatnonzero(weights > 0.0)
        weights[found] = self._alive[found] * (weights[found] / self._whole(rarity)[found]) ** self._sharpness
        weights[named] = self._alive[named]
        return weights

    def _whole(self, rarity: Floats) -> Floats:
        if self._wholes is None:
            self._wholes = self._words_of.pull(np.arange(len(self._alive)), rarity)
        return self._wholes

    def _rarities(self) -> Floats:
        if self._rarity is None:
            self._rarity = np.log1p(self._count / np.maximum(self._held[: len(self._holders)], 1))
        return self._rarity


def _ints(values: Sequence[int]) -> Rows:
    return np.array(values, dtype=np.int64)


class GrowingPaths:
    """Answer-path hyperedges as keys over passages, kept up to date passage by passage.

    Vertices, passages and hyperedges are numbered as they first come. One that is gone keeps its number, scores 0, and
    counts nowhere. What asks more than once for one question holds `lock`, as a change does.

    Parameters
    ----------
    seeds
        Finds the vertices that a question mentions; kept up to date here.
    settings
        How edges are weighted.
    diffusion
        How far scores spread.
    """

    def __init__(
        self,
        seeds: GrowingSeeds,
        settings: PathSettings = PRESETS["paper"],
        diffusion: DiffusionSettings | None = None,
    ) -> None:
        self.seeds = seeds
        self.lock = threading.RLock()
        self.passages: list[str] = []
        self.vertices: list[str] = []
        self.bridges: list[str] = []
        self._settings = settings
        self.diffusion = diffusion or DiffusionSettings()
        self.id = f"weighted(depth={self.diffusion.depth})"
        self._passage: dict[str, int] = {}
        self._vertex: dict[str, int] = {}
        self._bridge: dict[str, int] = {}
        self._tuples = _Columns()
        self._of_passage: dict[int, range] = {}  # rows of its tuples
        self._at: list[list[int]] = []  # of each bridge, the rows of its tuples
        self._members = RowLists()  # edge -> vertices
        self._edges_of = RowLists()  # vertex -> edges
        self._bridge_of = np.zeros(0, dtype=np.int64)  # of each vertex
        self._uses = np.zeros(0, dtype=np.int64)  # of each vertex, the passages that have a tuple of it
        self._ends = RowLists()  # passage -> vertices, by the confidence of tuples
        self._met = RowLists()  # passage -> bridges of its tuples
        self.weights = np.zeros(0)  # of edges; 0 where a bridge has too few tuples or vertices for one
        self._factors = np.zeros(0)  # their weights over their numbers of vertices
        self._shares = np.zeros(0)  # of vertices: 1 over the number of their edges

    # --- changing -------------------------------------------------------------------------------

    def update(self, removed: Iterable[str], added: Mapping[str, Sequence[EvidenceTuple]]) -> None:
        """Take passages out and put passages with their tuples in; one that changed is in both.

        Raises
        ------
        SettingError
            A passage is added that is here already, a tuple names another passage than its own, or a confidence lies
            outside [0, 1]; then nothing is changed.
        """
        with self.lock:
            self._update(removed, added)

    def _update(self, removed: Iterable[str], added: Mapping[str, Sequence[EvidenceTuple]]) -> None:
        gone = [self._passage[name] for name in set(removed) if self._passage.get(name) in self._of_passage]
        if any(self._passage.get(name) in self._of_passage for name in added.keys() - set(removed)):
            raise SettingError("a passage is added that is here already", where="key space")
        if any(one.passage_id != name for name, own in added.items() for one in own):
            raise SettingError("a tuple names another passage than its own", where="key space")
        shares = _confidences(added)
        lost = _ints(list(chain.from_iterable(self._of_passage.pop(place) for place in gone)))
        came = self._append(added, shares)
        if not len(lost) and not len(came):
            return
        self._exchange(_ints(gone), came)
        self._refresh(self._regroup(lost, came))

    def _append(self, added: Mapping[str, Sequence[EvidenceTuple]], shares: Floats) -> Rows:
        """Number what is new and append its tuples; their rows."""
        first, start = len(self.vertices), self._tuples.count
        heads: list[int] = []
        tails: list[int] = []
        places: list[int] = []
        for name, own in added.items():
            place = _number(self._passage, self.passages, name)
            self._of_passage[place] = range(start + len(heads), start + len(heads) + len(own))
            for one in own:
                heads.append(_number(self._vertex, self.vertices, one.head))
                tails.append(_number(self._vertex, self.vertices, one.tail))
                places.append(place)
        new = self.vertices[first:]
        self.seeds.add(first, new)
        self._bridge_of, self._uses = (with_room(kind, len(self.vertices)) for kind in (self._bridge_of, self._uses))
        self._bridge_of[first : len(self.vertices)] = [_number(self._bridge, self.bridges, one.lower()) for one in new]
        self._at += [[] for _ in range(len(self.bridges) - len(self._at))]
        self._tuples.append(heads, tails, places, shares)
        return np.arange(start, self._tuples.count)

    def _exchange(self, gone: Rows, came: Rows) -> None:
        """Take passages out and put those of new tuples in: their vertices and bridges, and which vertices live."""
        table, size = self._tuples, max(len(self.vertices), len(self.bridges), 1)
        passages = np.unique(np.concatenate([gone, table.places[came]]))
        before = self._ends.entries(passages)[1]
        owners = np.tile(np.searchsorted(passages, table.places[came]), 2)
        ends = np.concatenate([table.heads[came], table.tails[came]])
        once, which = np.unique(owners * size + ends, return_inverse=True)  # a passage has one entry for a vertex
        confidence = np.zeros(len(once))
        np.add.at(confidence, which, np.tile(table.confidence[came], 2))
        holders, vertices = np.divmod(once, size)
        self._ends.write(passages, holders, vertices, confidence)
        met, bridges = np.divmod(np.unique(owners * size + self._bridge_of[ends]), size)
        self._met.write(passages, met, bridges, np.ones(len(met)))
        np.subtract.at(self._uses, before, 1)
        np.add.at(self._uses, vertices, 1)
        touched = np.unique(np.concatenate([before, vertices]))
        self.seeds.live(touched, self._uses[touched] > 0)

    def _regroup(self, lost: Rows, came: Rows) -> Rows:
        """Take tuples out of their bridges' groups and put others in; the bridges that changed."""
        dead = set(lost.tolist())
        touched: set[int] = set()
        for row in lost.tolist():
            touched.update(self._ends_of(row))
        for edge in touched:
            self._at[edge] = [row for row in self._at[edge] if row not in dead]
        for row in came.tolist():
            for edge in self._ends_of(row):
                self._at[edge].append(row)
                touched.add(edge)
        return _ints(sorted(touched))

    def _ends_of(self, row: int) -> Sequence[int]:
        """The bridges of a tuple: its ends, whatever their case; a loop has one, twice where loops count twice."""
        ends = [int(self._bridge_of[one[row]]) for one in (self._tuples.heads, self._tuples.tails)]
        return ends if ends[0] != ends[1] or self._settings.loops_twice else ends[:1]

    def _refresh(self, edges: Rows) -> None:
        """Make the hyperedges of some bridges anew out of their tuples (eq. 2 to 5)."""
        table, count = self._tuples, len(self.vertices)
        sizes = _ints([len(self._at[edge]) for edge in edges.tolist()])
        rows = _ints(list(chain.from_iterable(self._at[edge] for edge in edges.tolist())))
        groups = np.repeat(np.arange(len(edges)), sizes)
        pairs = np.unique(np.tile(groups, 2) * count + np.concatenate([table.heads[rows], table.tails[rows]]))
        owners, members = np.divmod(pairs, max(count, 1))
        spans = np.bincount(owners, minlength=len(edges))
        stands = (sizes >= FEWEST_TUPLES) & (spans >= FEWEST_VERTICES)
        kept = stands[owners]
        owners, members = owners[kept], members[kept]
        before = self._members.entries(edges)[1]
        vertices = np.unique(np.concatenate([before, members]))
        ones = np.ones(len(owners))
        self._edges_of.exchange(vertices, edges, np.searchsorted(vertices, members), edges[owners], ones)
        self._members.write(edges, owners, members, ones)
        self._shares = with_room(self._shares, count)
        self._shares[vertices] = 1.0 / np.maximum(self._edges_of.lengths(vertices), 1)
        self.weights, self._factors = (with_room(kind, len(self.bridges)) for kind in (self.weights, self._factors))
        self.weights[edges] = np.where(stands, self._weigh(groups, rows, sizes), 0.0)
        self._factors[edges] = self.weights[edges] / np.maximum(spans, 1)

    def _weigh(self, groups: Rows, rows: Rows, sizes: Rows) -> Floats:
        if self._settings.weighting is None:
            return np.ones(len(sizes))
        highest = np.zeros(len(sizes))
        np.maximum.at(highest, groups, self._tuples.bridge[rows])
        mean = np.maximum(sizes, 1)
        factual = np.bincount(groups, weights=self._tuples.factual[rows], minlength=len(sizes)) / mean
        salience = np.bincount(groups, weights=self._tuples.salience[rows], minlength=len(sizes)) / mean
        return self._settings.weighting.weights(factual, salience, highest)

    @property
    def waste(self) -> float:
        """Share of the tuples ever taken in that are gone; their numbers and columns are still kept."""
        living = sum(map(len, self._of_passage.values()))
        return 1.0 - living / self._tuples.count if self._tuples.count else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; names and groups, which are Python objects, come on top."""
        lists = (self._members, self._edges_of, self._ends, self._met)
        return (
            sum(one.nbytes for one in lists)
            + self._tuples.nbytes
            + self.weights.nbytes
            + self._factors.nbytes
            + self._shares.nbytes
            + self._bridge_of.nbytes
            + self._uses.nbytes
        )

    # --- asking ---------------------------------------------------------------------------------

    def seeded(self, question: str) -> Floats:
        """Weights of the vertices that a question mentions, shape (len(self.vertices),)."""
        return self.seeds.seeds(question, len(self.vertices))

    def scores(self, seeds: Floats) -> Floats:
        """Score the passages, shape (len(self.passages),), from weights of seeds, shape (len(self.vertices),)."""
        vertices, edges = self._diffuse(seeds)
        passages = np.arange(len(self.passages))
        return self._ends.pull(passages, vertices) + self._met.pull(passages, edges)  # an edge that is none scores 0

    def edge_scores(self, seeds: Floats) -> Floats:
        """Score the hyperedges after diffusion, shape (len(self.bridges),)."""
        return self._diffuse(seeds)[1]

    def edges_of(self, passage: str) -> Rows:
        """The hyperedges that lead to a passage."""
        rows = self._of_passage.get(self._passage.get(passage, -1), range(0))
        found = np.unique(_ints([edge for row in rows for edge in self._ends_of(row)]))
        return found[self.weights[found] > 0.0]

    def passages_of(self, edge: int) -> list[str]:
        """The passages that a hyperedge leads to."""
        rows = self._at[edge] if self.weights[edge] > 0.0 else []
        return [self.passages[place] for place in np.unique(self._tuples.places[_ints(rows)]).tolist()]

    def vertex(self, name: str) -> int:
        """The number of a vertex that has a tuple."""
        return self._vertex[name]

    def _diffuse(self, seeds: Floats) -> tuple[Floats, Floats]:
        """Scores of all vertices and of all hyperedges (eq. 6); whole vectors are passed over as seldom as can be."""
        count, size = len(self.vertices), len(self.bridges)
        vertices = seeds = telling(seeds, self.diffusion.negligible)
        rows = np.flatnonzero(seeds != 0.0)
        kept, share = self.diffusion.seed_share * seeds[rows], 1.0 - self.diffusion.seed_share
        edges = self._weighed(self._edges_of.push_rows(rows, share * seeds[rows], size))
        for step in range(1, self.diffusion.depth + 1):
            spread = self._members.push(edges, count)
            spread *= self._shares[:count]
            spread[rows] += kept
            vertices = telling(spread, self.diffusion.negligible)
            edges = self._weighed(self._edges_of.push(vertices, size))
            if step < self.diffusion.depth:
                edges *= share
        return vertices, edges

    def _weighed(self, edges: Floats) -> Floats:
        """Sums over the vertices of edges as their scores."""
        edges *= self._factors[: len(edges)]
        return edges


class _Columns:
    """Tuples as columns of numbers, with room to grow."""

    def __init__(self) -> None:
        self.count = 0
        self.heads, self.tails, self.places = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self.factual, self.salience, self.bridge, self.confidence = (np.zeros(0) for _ in range(4))

    def append(self, heads: list[int], tails: list[int], places: list[int], shares: Floats) -> None:
        """Append n tuples with their four confidences, shape (n, 4)."""
        end = self.count + len(heads)
        for name, column in (("heads", heads), ("tails", tails), ("places", places)):
            setattr(self, name, with_room(getattr(self, name), end))
            getattr(self, name)[self.count : end] = column
        for name, share in zip(("factual", "salience", "bridge", "confidence"), shares.T, strict=True):
            setattr(self, name, with_room(getattr(self, name), end))
            getattr(self, name)[self.count : end] = share
        self.count = end

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        names = ("heads", "tails", "places", "factual", "salience", "bridge", "confidence")
        return sum(getattr(self, name).nbytes for name in names)


def _confidences(added: Mapping[str, Sequence[EvidenceTuple]]) -> Floats:
    """The tuples' confidences, shape (n, 4), in the order of `_Columns`; refused where one lies outside [0, 1]."""
    every = (one for own in added.values() for one in own)
    shares = np.array([(one.factual, one.salience, one.bridge, one.confidence) for one in every], dtype=np.float64)
    if not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise SettingError("a confidence lies outside [0, 1]", where="tuples")
    return shares.reshape(-1, 4)


def _number(known: dict[str, int], names: list[str], name: str) -> int:
    """The number of a name, a new one if it is new."""
    number = known.setdefault(name, len(names))
    if number == len(names):
        names.append(name)
    return number
