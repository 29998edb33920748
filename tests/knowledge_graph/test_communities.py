"""Communities: sizes, modularity beside networkx's, determinism, and changes that stay where they are."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.knowledge_graph.communities import CutSettings, Edges, Floats, cut, leiden, modularity, recut

UNBOUNDED = CutSettings(most=10_000, least=1)
SMALL = CutSettings(most=12, least=4)


def blocks(count: int, size: int, inside: float, outside: float, seed: int) -> dict[tuple[str, str], float]:
    """A planted partition: vertices ``block-number``, with edges mostly inside blocks."""
    graph = nx.planted_partition_graph(count, size, inside, outside, seed=seed)
    name = {node: f"{node // size:03d}-{node % size:03d}" for node in graph}
    return {(min(name[a], name[b]), max(name[a], name[b])): 1.0 for a, b in graph.edges}


def vectors_of(edges: Edges, *lonely: str) -> dict[str, Floats]:
    """Vectors that follow the blocks."""
    rng = np.random.default_rng(3)
    names = sorted({name for pair in edges for name in pair} | set(lonely))
    centres = {name[:3]: rng.normal(size=16) for name in names}
    return {name: (centres[name[:3]] + 0.1 * rng.normal(size=16)).astype(np.float32) for name in names}


def sets_of(assignment: dict[str, int]) -> set[frozenset[str]]:
    return {frozenset(name for name, own in assignment.items() if own == number) for number in assignment.values()}


weighted = st.dictionaries(
    st.tuples(st.integers(0, 14), st.integers(0, 14)).filter(lambda pair: pair[0] < pair[1]),
    st.floats(0.1, 9.0),
    min_size=1,
    max_size=40,
)


@given(weighted, st.integers(1, 4))
def test_modularity_is_that_of_networkx(pairs: dict[tuple[int, int], float], groups: int) -> None:
    edges = {(f"{a:02d}", f"{b:02d}"): weight for (a, b), weight in pairs.items()}
    graph = nx.Graph()
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in edges.items())
    assignment = {name: int(name) % groups for name in graph}
    theirs = nx.community.modularity(graph, sets_of(assignment))
    assert modularity(edges, assignment) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(
    ("count", "size", "inside", "outside"), [(8, 20, 0.4, 0.02), (20, 30, 0.3, 0.01), (5, 60, 0.1, 0.02)]
)
def test_quality_is_no_lower_than_louvain_s(count: int, size: int, inside: float, outside: float) -> None:
    edges = blocks(count, size, inside, outside, seed=5)
    graph = nx.Graph(list(edges))
    theirs = max(
        nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=seed)) for seed in range(3)
    )
    assert modularity(edges, leiden(edges, UNBOUNDED)) >= 0.995 * theirs


def test_planted_blocks_are_found() -> None:
    edges = blocks(10, 12, 0.7, 0.005, seed=1)
    found = cut(edges, vectors_of(edges), CutSettings(most=20, least=4))
    assert sets_of(found) == {frozenset(n for pair in edges for n in pair if n[:3] == f"{b:03d}") for b in range(10)}


@given(st.integers(1, 9), st.integers(2, 20), st.integers(0, 9), st.integers(0, 2**16))
def test_every_vertex_has_a_community_and_none_is_too_large(count: int, size: int, lonely: int, seed: int) -> None:
    edges = blocks(count, size, 0.5, 0.02, seed)
    vectors = vectors_of(edges, *(f"lonely-{number}" for number in range(lonely)))
    found = cut(edges, vectors, SMALL)
    assert found.keys() == vectors.keys()
    sizes = Counter(found.values())
    assert max(sizes.values(), default=0) <= SMALL.most
    small = sorted(size for size in sizes.values() if size < SMALL.least)
    assert all(size + other > SMALL.most for size in small for other in (sorted(sizes.values())[1:] or [SMALL.most]))
    assert found == cut(dict(reversed(edges.items())), vectors, SMALL)  # and the order of edges decides nothing


def star(name: str, points: int) -> dict[tuple[str, str], float]:
    return {(f"{name}-hub", f"{name}-{number:03d}"): 1.0 + number for number in range(points)}


def clique(size: int) -> dict[tuple[str, str], float]:
    return {(f"c-{one:02d}", f"c-{other:02d}"): 1.0 for one in range(size) for other in range(one + 1, size)}


@pytest.mark.parametrize(
    "edges",
    [star("s", 200), clique(70), star("a", 90) | star("b", 90) | {("a-hub", "b-hub"): 5.0}, star("s", 30) | clique(40)],
    ids=["star", "clique", "two stars", "star and clique"],
)
def test_what_cannot_be_split_keeps_to_the_limit_too(edges: dict[tuple[str, str], float]) -> None:
    vectors = vectors_of(edges)
    found = cut(edges, vectors, SMALL)
    sizes = Counter(found.values())
    assert found.keys() == vectors.keys()
    assert max(sizes.values()) <= SMALL.most
    assert sum(size < SMALL.least for size in sizes.values()) <= 1
    assert found == cut(dict(reversed(edges.items())), vectors, SMALL)


def test_the_heaviest_points_stay_with_the_hub() -> None:
    edges = star("s", 100)
    found = cut(edges, vectors_of(edges), SMALL)
    heavy = [f"s-{number:03d}" for number in range(100 - (SMALL.most - 1), 100)]
    assert {found[name] for name in heavy} == {found["s-hub"]}


def test_the_lonely_join_the_nearest() -> None:
    edges = blocks(2, 6, 1.0, 0.0, seed=1)
    vectors = vectors_of(edges)
    vectors["lonely"] = vectors["001-000"] + np.float32(0.01)
    found = cut(edges, vectors, SMALL)
    assert found["lonely"] == found["001-000"] != found["000-000"]


def test_a_change_leaves_other_communities_as_they_are() -> None:
    edges = blocks(12, 10, 0.8, 0.01, seed=2)
    before = cut(edges, vectors_of(edges), SMALL)
    changed = edges | {("003-000", "003-zzz"): 2.0, ("003-001", "003-zzz"): 2.0}
    gone = {pair: weight for pair, weight in changed.items() if "003-004" not in pair}
    after = recut(gone, vectors_of(gone), before, {"003-000", "003-001", "003-004"}, SMALL)
    untouched = {one for one in sets_of(before) if not any(name.startswith("003") for name in one)}
    assert len(untouched) >= 10
    assert untouched <= sets_of(after)
    assert "003-zzz" in after
    assert "003-004" not in after


def test_what_a_change_leaves_too_small_joins_a_community_that_was_there() -> None:
    edges = blocks(6, 8, 0.9, 0.01, seed=4)
    before = cut(edges, vectors_of(edges), SMALL)
    more = edges | {("003-000", "new-0"): 1.0, ("new-0", "new-1"): 1.0}
    after = recut(more, vectors_of(more), before, {"new-0", "new-1"}, SMALL)
    assert after["new-0"] == after["new-1"] == after["003-000"]
    assert all(after[one] == after[other] for one in before for other in before if before[one] == before[other])


def test_no_change_changes_nothing() -> None:
    edges = blocks(6, 10, 0.8, 0.01, seed=2)
    before = cut(edges, vectors_of(edges), SMALL)
    assert recut(edges, vectors_of(edges), before, (), SMALL) == before


@pytest.mark.parametrize("change", [{"least": 0}, {"least": 70}])
def test_impossible_limits_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(SettingError) as refused:
        CutSettings(**change)
    assert "least be no more than most" in refused.value.fix


def test_nothing_gives_nothing() -> None:
    assert cut({}, {}, SMALL) == {}
    assert modularity({}, {}) == 0.0
