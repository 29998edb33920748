"""Networks as they are made, and peers that come and go."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.overlay.topology import Overlay, make_overlay, measured_overlay


def _graph(overlay: Overlay) -> networkx.Graph:
    return networkx.Graph({peer: overlay.neighbours(peer) for peer in overlay.peers})


def _sound(overlay: Overlay) -> None:
    for peer in overlay.peers:
        near = overlay.neighbours(peer)
        assert len(set(near)) == len(near)
        assert peer not in near
        assert all(peer in overlay.neighbours(other) for other in near)


@given(peers=st.integers(1, 60), connectivity=st.integers(1, 8), seed=st.integers(0, 2**16))
def test_drawn_networks_hold_all_peers_and_repeat_with_their_seed(peers: int, connectivity: int, seed: int) -> None:
    overlay = make_overlay(peers, connectivity, np.random.default_rng(seed))
    _sound(overlay)
    assert sorted(overlay.peers) == list(range(peers))
    again = make_overlay(peers, connectivity, np.random.default_rng(seed))
    assert networkx.utils.graphs_equal(_graph(overlay), _graph(again))
    assert networkx.is_connected(_graph(overlay))


def test_barabasi_albert_has_the_edges_of_networkx() -> None:
    rng = np.random.default_rng(3)
    seed = int(np.random.default_rng(3).integers(2**31))
    expected = networkx.barabasi_albert_graph(50, 4, seed=seed)
    assert networkx.utils.graphs_equal(_graph(make_overlay(50, 4, rng)), expected)


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


def test_an_edge_from_a_peer_to_itself_is_refused() -> None:
    with pytest.raises(SettingError):
        Overlay([(2, 2)])


@given(seed=st.integers(0, 2**16), away=st.sets(st.integers(0, 11), max_size=11))
def test_who_is_away_is_nobody_s_neighbour_and_leaves_nobody_alone(seed: int, away: set[int]) -> None:
    overlay = make_overlay(12, 2, np.random.default_rng(seed))
    before = {peer: list(overlay.neighbours(peer)) for peer in overlay.peers}
    overlay.away |= away
    for peer in overlay.peers:
        assert away.isdisjoint(overlay.neighbours(peer))
        assert overlay.neighbours(peer) or len(overlay.peers) == 1
    overlay.away.clear()
    assert {peer: list(overlay.neighbours(peer)) for peer in overlay.peers} == before
