"""What every walk keeps to, whatever the network."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.overlay.topology import make_overlay
from fedrag_flwr.overlay.walks import Visit, Walk, WalkCount, WalkRules
from fedrag_flwr.records import WalkKind
from simulations.overlay.simulator import run_walk

KINDS: tuple[WalkKind, ...] = ("topic", "sketch", "random", "flooding")
#          0
#        / | \
#       1  2  3
#       |     |
#       4     5 - 6
TREE = {0: [1, 2, 3], 1: [0, 4], 2: [0], 3: [0, 5], 4: [1], 5: [3, 6], 6: [5]}
LIKES = {1: 0.1, 2: 0.2, 3: 0.9, 4: 0.3, 5: 0.05, 6: 0.9}


def _liked(visit: Visit[int], near: list[int]) -> list[tuple[int, float]]:
    return sorted(((one, LIKES.get(one, 0.0)) for one in near), key=lambda pair: -pair[1])


def _order(rules: WalkRules, target: int = -1, silent: int = -1) -> tuple[list[int], WalkCount]:
    queried = []

    def knows(visit: Visit[int]) -> bool | None:
        queried.append(visit.peer)
        return None if visit.peer == silent else visit.peer == target

    return queried, run_walk(Walk(0, rules), TREE.__getitem__, knows, _liked)


@pytest.mark.parametrize(
    ("rules", "queried"),
    [
        (WalkRules("flooding"), [0, 3, 2, 1, 5, 4, 6]),
        (WalkRules("topic", fanout=2), [0, 3, 2, 5, 6]),
        (WalkRules("topic", fanout=1), [0, 3, 5, 6]),
        (WalkRules("sketch", fanout=3), [0, 3, 2, 1, 4, 5, 6]),
        (WalkRules("sketch", fanout=2), [0, 3, 2, 5, 6]),
        (WalkRules("flooding", max_hops=2), [0, 3, 2, 1]),
        (WalkRules("flooding", max_hops=1), [0]),
    ],
)
def test_order_in_which_peers_are_queried(rules: WalkRules, queried: list[int]) -> None:
    assert _order(rules) == (queried, WalkCount(rules.max_hops, len(queried), 2 * (len(queried) - 1), False))


@pytest.mark.parametrize(
    ("target", "silent", "count"),
    [
        (0, -1, WalkCount(0, 1, 0, True)),
        (3, -1, WalkCount(1, 2, 2, True)),
        (5, -1, WalkCount(2, 5, 8, True)),
        (5, 2, WalkCount(2, 5, 7, True)),  # the silent one sent no reply
        (6, 3, WalkCount(6, 4 + 1, 2 * 4 - 1, False)),  # whoever lies behind a silent one is out of reach
    ],
)
def test_counts(target: int, silent: int, count: WalkCount) -> None:
    assert _order(WalkRules("flooding"), target, silent)[1] == count


def test_the_path_leads_from_home_to_the_peer_that_knows() -> None:
    walk = Walk(0, WalkRules("flooding"))
    run_walk(walk, TREE.__getitem__, lambda visit: visit.peer == 6, _liked)
    assert walk.found is not None
    assert walk.found.path == (0, 3, 5, 6)
    assert walk.next() is None


@pytest.mark.parametrize("kind", KINDS)
def test_who_learns_what_of_a_walk(kind: WalkKind) -> None:
    walk = Walk(0, WalkRules(kind, fanout=3))
    visits = {}
    while (visit := walk.next()) is not None and visit.peer != 6:
        visits[visit.peer] = visit
        near = walk.candidates(visit, TREE[visit.peer])
        walk.miss(
            visit, [(one, LIKES[one]) for one in sorted(near, key=lambda one: -LIKES.get(one, 0)) if one in LIKES]
        )
    if kind == "random":
        assert (walk.lessons(), walk.silence(Visit(1, 1, Visit(0, 0)))) == ([], [])
        return
    assert visit is not None
    walk.hit(visit)
    along = [(0, 3, 2), (3, 5, 1), (5, 6, 0)]
    beside = {(0, 1, 0), (0, 2, 0), (1, 4, 0)}
    learning = kind != "flooding"
    told = [(one.peer, one.neighbour, one.distance, one.outcome) for one in walk.lessons()]
    assert set(told) == ({(*one, "good") for one in along} | {(*one, "miss") for one in beside} if learning else set())
    assert [one.outcome for one in walk.silence(visits[4])] == ["junk"] * learning
    assert [one.outcome for one in walk.refuse()] == ["junk"] * 3 * learning
    assert walk.found is None


def test_a_peer_that_turns_out_to_be_nearer_reaches_farther() -> None:
    ring = {0: [1, 5], 1: [0, 2], 2: [1, 3], 3: [2, 4], 4: [3, 5], 5: [4, 0]}
    likes = {1: 9, 2: 9, 3: 1, 5: 5, 4: 4}  # three hops to 3 one way round, three to 3 the other way round
    queried = []

    def knows(visit: Visit[int]) -> bool:
        queried.append((visit.peer, visit.hops))
        return False

    def rank(visit: Visit[int], near: list[int]) -> list[tuple[int, float]]:
        return [(one, likes[one]) for one in near]

    run_walk(Walk(0, WalkRules("sketch", max_hops=4)), ring.__getitem__, knows, rank)
    assert queried == [(0, 0), (1, 1), (2, 2), (5, 1), (4, 2), (3, 3)]


@given(
    kind=st.sampled_from(KINDS),
    peers=st.integers(1, 40),
    max_hops=st.integers(1, 8),
    fanout=st.integers(1, 5),
    seed=st.integers(0, 2**16),
    holders=st.frozensets(st.integers(0, 39), max_size=3),
)
def test_every_walk_ends_and_keeps_its_counts(
    kind: WalkKind, peers: int, max_hops: int, fanout: int, seed: int, holders: frozenset[int]
) -> None:
    rng = np.random.default_rng(seed)
    overlay = make_overlay(peers, 3, rng)
    queried: list[Visit[int]] = []

    def knows(visit: Visit[int]) -> bool:
        queried.append(visit)
        return visit.peer in holders

    def rank(visit: Visit[int], near: list[int]) -> list[tuple[int, float]]:
        return [(near[row], float(rng.random())) for row in rng.permutation(len(near))]

    count = run_walk(Walk(0, WalkRules(kind, max_hops, fanout)), overlay.neighbours, knows, rank)
    assert count.queried == len(queried)
    assert all(visit.hops < max_hops for visit in queried)
    assert count.hit == (queried[-1].peer in holders)
    if kind != "random":
        assert len({visit.peer for visit in queried}) == len(queried)
    else:
        assert len(queried) <= max_hops
    for visit in queried:
        assert len(visit.path) == visit.hops + 1
        for one, other in zip(visit.path[:-1], visit.path[1:], strict=True):
            assert other in overlay.neighbours(one) or (kind == "random" and one == other)
