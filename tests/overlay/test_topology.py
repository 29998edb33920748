"""Networks as they are made, and peers that come and go."""

from __future__ import annotations

from collections.abc import Iterable

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.overlay import Overlay, Topology, make_overlay, measured_overlay

DRAWN: tuple[Topology, ...] = ("barabasi-albert", "watts-strogatz", "random-regular")


def _graph(overlay: Overlay) -> networkx.Graph:
    graph = networkx.Graph(overlay.edges)
    graph.add_nodes_from(overlay.peers)
    return graph


def _sound(overlay: Overlay) -> None:
    for peer in overlay.peers:
        near = overlay.neighbours(peer)
        assert len(set(near)) == len(near)
        assert peer not in near
        assert all(peer in overlay.neighbours(other) for other in near)


@given(
    kind=st.sampled_from(DRAWN), peers=st.integers(1, 60), connectivity=st.integers(2, 8), seed=st.integers(0, 2**16)
)
def test_drawn_networks_hold_all_peers_and_repeat_with_their_seed(
    kind: Topology, peers: int, connectivity: int, seed: int
) -> None:
    overlay = make_overlay(kind, peers, connectivity, np.random.default_rng(seed))
    _sound(overlay)
    assert sorted(overlay.peers) == list(range(peers))
    assert overlay.edges == make_overlay(kind, peers, connectivity, np.random.default_rng(seed)).edges
    if kind != "random-regular":
        assert networkx.is_connected(_graph(overlay))
    elif peers > connectivity + 1:
        assert len({len(overlay.neighbours(peer)) for peer in overlay.peers}) == 1


def test_barabasi_albert_has_the_edges_of_networkx() -> None:
    rng = np.random.default_rng(3)
    seed = int(np.random.default_rng(3).integers(2**31))
    expected = networkx.barabasi_albert_graph(50, 4, seed=seed)
    assert networkx.utils.graphs_equal(_graph(make_overlay("barabasi-albert", 50, 4, rng)), expected)


def test_quick_peers_get_more_neighbours() -> None:
    delays = {peer: 0.01 if peer < 5 else 1.0 for peer in range(60)}
    overlay = measured_overlay(delays, 3, np.random.default_rng(0))
    _sound(overlay)
    assert networkx.is_connected(_graph(overlay))
    degrees = [len(overlay.neighbours(peer)) for peer in range(60)]
    assert min(degrees[:5]) > max(degrees[10:])


def test_an_edge_list_is_taken_as_it_is() -> None:
    overlay = Overlay([(0, 1), (1, 2), (2, 1)], peers=[3])
    assert {peer: list(overlay.neighbours(peer)) for peer in overlay.peers} == {3: [], 0: [1], 1: [0, 2], 2: [1]}
    assert list(overlay.neighbours(9)) == []


@pytest.mark.parametrize("make", [lambda: Overlay([(2, 2)]), lambda: make_overlay("measured", 9, 2, _rng())])
def test_what_cannot_be_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(SettingError):
        make()


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


@given(seed=st.integers(0, 2**16), steps=st.lists(st.tuples(st.sampled_from(["join", "leave", "return"])), max_size=30))
def test_peers_come_and_go_and_no_edge_leads_to_nobody(seed: int, steps: Iterable[tuple[str]]) -> None:
    rng = np.random.default_rng(seed)
    overlay = make_overlay("barabasi-albert", 12, 2, rng)
    away: list[int] = []
    coming = 12
    for (step,) in steps:
        if step == "join":
            overlay.join(coming, 2, rng)
            coming += 1
        elif step == "leave" and len(overlay.peers) > 2:
            away.append(overlay.peers[int(rng.integers(len(overlay.peers)))])
            overlay.leave(away[-1])
        elif step == "return" and away:
            overlay.come_back(away.pop(0), 2, rng)
        _sound(overlay)
        assert set(away).isdisjoint(overlay.peers)
        assert all(overlay.neighbours(peer) for peer in overlay.peers if len(overlay.peers) > 2)


def test_a_peer_returns_to_its_neighbours_that_are_still_there() -> None:
    overlay = Overlay([(0, 1), (0, 2), (1, 2), (2, 3), (1, 3)])
    overlay.leave(0)
    overlay.leave(1)
    overlay.come_back(0, 2, np.random.default_rng(0))
    assert list(overlay.neighbours(0)) == [2]
    overlay.come_back(1, 2, np.random.default_rng(0))
    assert set(overlay.neighbours(1)) == {0, 2, 3}  # they were away together, and are neighbours as before
    _sound(overlay)
