"""Communities of a graph: Leiden to a size limit, small ones merged into their closest neighbour (DGRAG 3.2 step 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError

Floats = NDArray[np.float32]
Edges = Mapping[tuple[str, str], float]  # two vertices -> weight; each pair once
Assignment = dict[str, int]
RESOLUTION, ITERATIONS = 1.0, 8  # of modularity; cycles of Leiden
RECUT_SHARE = 0.5  # with more of the vertices affected than this, the graph is cut afresh


@dataclass(frozen=True, slots=True)
class CutSettings:
    """How a graph is cut."""

    most: int = 60  # most vertices of a community
    least: int = 6  # communities with fewer are merged into their closest neighbour
    seed: int = 7  # of Leiden's order of moves

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise SettingError(
                "sizes are 1 <= least <= most", where="communities", fix="let least be no more than most"
            )


def leiden(edges: Edges, settings: CutSettings) -> Assignment:
    """Cut a graph by modularity until no community has more than `most` vertices (Traag et al. 2019).

    Returns
    -------
    dict
        The community of each vertex that has an edge, numbered from 0 in the order of their first vertices.
    """
    import graspologic_native  # type: ignore[import-untyped, unused-ignore]

    if not edges:
        return {}
    rows = [(one, other, float(weight)) for (one, other), weight in sorted(edges.items())]
    found = graspologic_native.hierarchical_leiden(
        rows,
        resolution=RESOLUTION,
        iterations=ITERATIONS,
        max_cluster_size=settings.most + 1,  # it splits what has as many as this
        seed=settings.seed,
    )
    return _renumbered({one.node: one.cluster for one in found if one.is_final_cluster})


def modularity(edges: Edges, assignment: Mapping[str, int]) -> float:
    """Newman's modularity of a weighted graph without loops under an assignment of all its vertices."""
    import graspologic_native

    if not sum(edges.values()):
        return 0.0
    rows = [(one, other, float(weight)) for (one, other), weight in edges.items()]
    joined = {name: assignment[name] for pair in edges for name in pair}
    return float(graspologic_native.modularity(rows, joined, RESOLUTION))


def cut(edges: Edges, vectors: Mapping[str, Floats], settings: CutSettings) -> Assignment:
    """Cut a graph into communities of at most `most` vertices, and at least `least` where its shape allows.

    What Leiden cannot split to the limit, such as a star around one vertex, is divided along its heaviest edges.

    Parameters
    ----------
    edges
        Of the graph.
    vectors
        The vector of every vertex, also of those without an edge, shape (dimension,): communities that no edge joins
        to others are merged into the one whose mean is nearest.
    settings
        The limits.
    """
    bounded = _divided(edges, leiden(edges, settings), settings.most)
    return merge_small(edges, vectors, _with_lonely(bounded, vectors), settings)


def merge_small(
    edges: Edges,
    vectors: Mapping[str, Floats],
    assignment: Mapping[str, int],
    settings: CutSettings,
    stay: frozenset[int] = frozenset(),
) -> Assignment:
    """Merge communities below `least`, the smallest first, where the heaviest edges lead, or else the nearest mean.

    A community never grows beyond `most`; one that fits nowhere stays, and so do those that `stay` names, though others
    may join them.
    """
    merger = _Merger(edges, vectors, assignment, settings)
    merger.run(stay)
    return _renumbered({name: number for number, names in merger.members.items() for name in names})


def recut(
    edges: Edges,
    vectors: Mapping[str, Floats],
    previous: Mapping[str, int],
    changed: Iterable[str],
    settings: CutSettings,
) -> Assignment:
    """Cut anew only what a change affects: the communities that held a changed vertex, and vertices that are new.

    Changed are vertices with an edge or a statement more or less. What is left too small joins a community that was
    there before, which is all that happens to such a one.
    """
    present = set(vectors)
    touched = {previous[name] for name in (*changed, *(previous.keys() - present)) if name in previous}
    free = {name for name in present if name not in previous or previous[name] in touched}
    if not free:
        return _renumbered({name: number for name, number in previous.items() if name in present})
    if len(free) > RECUT_SHARE * len(present):
        return cut(edges, vectors, settings)
    kept = {name: number for name, number in previous.items() if name in present and name not in free}
    inner = {pair: weight for pair, weight in edges.items() if pair[0] in free and pair[1] in free}
    fresh = cut(inner, {name: vectors[name] for name in sorted(free)}, settings)
    offset = max(kept.values(), default=-1) + 1
    whole = kept | {name: number + offset for name, number in fresh.items()}
    return merge_small(edges, vectors, whole, settings, frozenset(kept.values()))


class _Merger:
    """Merges small communities; keeps members, weights between communities, and means of vectors up to date."""

    def __init__(
        self, edges: Edges, vectors: Mapping[str, Floats], assignment: Mapping[str, int], settings: CutSettings
    ) -> None:
        self.settings = settings
        self.members: dict[int, list[str]] = defaultdict(list)
        for name in sorted(assignment):
            self.members[assignment[name]].append(name)
        self.numbers = np.array(sorted(self.members), dtype=np.int64)  # the community of each row
        self.row = {int(number): row for row, number in enumerate(self.numbers)}
        groups = [self.members[int(number)] for number in self.numbers]
        self.sizes = np.array([len(names) for names in groups], dtype=np.int64)  # 0: it was merged into another
        self.sums = np.array([np.sum([vectors[name] for name in names], axis=0) for names in groups])
        self.means = np.array([_unit(total) for total in self.sums])
        self.between: defaultdict[int, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
        for (one, other), weight in edges.items():
            first, second = assignment[one], assignment[other]
            if first != second:
                self.between[first][second] += weight
                self.between[second][first] += weight

    def run(self, stay: frozenset[int]) -> None:
        import heapq

        small = (number for number in self.members.keys() - stay if self._is_small(number))
        waiting = [(len(self.members[number]), number) for number in small]
        heapq.heapify(waiting)
        while waiting:
            size, number = heapq.heappop(waiting)
            if number not in self.members or size != len(self.members[number]):
                continue  # it was merged or has grown since
            target = self._closest(number)
            if target is None:
                continue
            self._join(number, target)
            if self._is_small(target) and target not in stay:
                heapq.heappush(waiting, (len(self.members[target]), target))

    def _is_small(self, number: int) -> bool:
        return len(self.members[number]) < self.settings.least

    def _fits(self, number: int, other: int) -> bool:
        return len(self.members[number]) + len(self.members[other]) <= self.settings.most

    def _closest(self, number: int) -> int | None:
        joined = [(-weight, other) for other, weight in self.between[number].items() if self._fits(number, other)]
        if joined:
            return min(joined)[1]
        row = self.row[number]
        fits = (self.sizes > 0) & (self.sizes + self.sizes[row] <= self.settings.most)
        fits[row] = False
        if not fits.any():
            return None
        scores = np.where(fits, self.means @ self.means[row], -np.inf)
        return int(self.numbers[int(np.argmax(scores))])

    def _join(self, number: int, target: int) -> None:
        self.members[target] += self.members.pop(number)
        gone, grown = self.row[number], self.row[target]
        self.sizes[grown] += self.sizes[gone]
        self.sums[grown] += self.sums[gone]
        self.means[grown] = _unit(self.sums[grown])
        self.sizes[gone] = 0
        for other, weight in self.between.pop(number, {}).items():
            del self.between[other][number]
            if other != target:
                self.between[target][other] += weight
                self.between[other][target] += weight


def _divided(edges: Edges, assignment: Mapping[str, int], most: int) -> Assignment:
    """The same with communities of more than `most` vertices cut into pieces of as many, each grown along edges."""
    members: defaultdict[int, list[str]] = defaultdict(list)
    for name in sorted(assignment):
        members[assignment[name]].append(name)
    large = {number for number, names in members.items() if len(names) > most}
    if not large:
        return dict(assignment)
    inner: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (one, other), weight in edges.items():
        if assignment[one] == assignment[other] and assignment[one] in large:
            inner[one][other] = inner[other][one] = weight
    whole, number = dict(assignment), max(members)
    for community in sorted(large):
        for place, name in enumerate(_walked(members[community], inner)):
            number += place % most == 0
            whole[name] = number
    return whole


def _walked(names: Sequence[str], inner: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Vertices from the heaviest one on, each time the one that the heaviest edge leads to; names decide ties."""
    import heapq

    def by_weight(name: str) -> tuple[float, str]:
        return -sum(inner.get(name, {}).values()), name

    found: dict[str, None] = {}
    for start in sorted(names, key=by_weight):
        waiting = [(0.0, start)]
        while waiting:
            _, name = heapq.heappop(waiting)
            if name not in found:
                found[name] = None
                for other, weight in inner.get(name, {}).items():
                    if other not in found:
                        heapq.heappush(waiting, (-weight, other))
    return list(found)


def _with_lonely(assignment: Mapping[str, int], vectors: Mapping[str, Floats]) -> Assignment:
    number = max(assignment.values(), default=-1)
    whole = dict(assignment)
    for name in sorted(vectors.keys() - assignment.keys()):
        number += 1
        whole[name] = number
    return whole


def _renumbered(assignment: Mapping[str, int]) -> Assignment:
    numbers: dict[int, int] = {}
    return {name: numbers.setdefault(assignment[name], len(numbers)) for name in sorted(assignment)}


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
