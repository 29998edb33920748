"""Sketches: what they keep of counts, what the noise promises, and how they travel."""

import math

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.overlay.sketches import FADING, claim, counts_of, levels_of, noisy_sketch, offers
from fedrag_flwr.overlay.topology import make_overlay
from simulations.overlay.simulator import gossip

ROWS = st.lists(st.lists(st.integers(0, 255), min_size=4, max_size=4), min_size=1, max_size=6)


@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=20))
def test_levels_keep_counts_within_a_few_per_cent(counts: list[int]) -> None:
    kept = counts_of(levels_of(np.array(counts, dtype=float)))
    assert np.allclose(1 + kept, 1 + np.array(counts), rtol=0.03)


def test_a_claim_is_the_weighted_count() -> None:
    levels = levels_of(np.array([0.0, 100.0, 50.0]))
    assert claim(levels, {1: 0.75, 0: 0.25}) == pytest.approx(75, rel=0.03)


def test_without_noise_the_counts_are_told() -> None:
    counts = np.array([0, 3, 40])
    assert noisy_sketch(counts, math.inf, np.random.default_rng(0)).tolist() == levels_of(counts * 1.0).tolist()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_one_document_more_changes_the_odds_of_no_sketch_by_more_than_epsilon_allows(epsilon: float) -> None:
    draws = 200_000
    told = [_drawn(count, epsilon, draws) for count in (12, 13)]
    seen = (told[0] > 200) & (told[1] > 200)  # levels that come often enough to compare
    assert seen.sum() >= 2
    ratio = np.log(told[0][seen] / told[1][seen])
    error = 4 * np.sqrt(1 / told[0][seen] + 1 / told[1][seen])
    assert (np.abs(ratio) <= epsilon + error).all()


def _drawn(count: int, epsilon: float, draws: int) -> NDArray[np.float64]:
    levels = noisy_sketch(np.full(draws, count), epsilon, np.random.default_rng(count))
    return np.bincount(levels, minlength=256).astype(float)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_few_topics_are_claimed_without_a_document(epsilon: float) -> None:
    empty = np.zeros(200_000, dtype=int)
    claimed = (noisy_sketch(empty, epsilon, np.random.default_rng(1)) > 0).mean()
    assert claimed <= 1.3e-3


@given(own=st.lists(st.integers(0, 255), min_size=4, max_size=4), told=ROWS)
def test_a_neighbour_is_told_what_is_reached_without_it(own: list[int], told: list[list[int]]) -> None:
    said = offers(np.array(own, dtype=np.uint8), np.array(told, dtype=np.uint8))
    for row in range(len(told)):
        others = [other for at, other in enumerate(told) if at != row]
        expected = [max(own[topic], *(other[topic] - FADING for other in others), 0) for topic in range(4)]
        assert said[row].tolist() == expected


def test_what_a_peer_holds_fades_at_each_hop_and_does_not_come_back() -> None:
    own = np.zeros((4, 1), dtype=np.uint8)
    own[0] = 100
    line = [[1], [0, 2], [1, 3], [2]]
    told = gossip(own, line, rounds=4)
    assert [rows.tolist() for rows in told] == [[[0]], [[100], [0]], [[68], [0]], [[36]]]


@given(st.integers(2, 20), st.integers(0, 2**16))
def test_gossip_settles_at_the_nearest_holder(peers: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    overlay = make_overlay(peers, 2, rng)
    own = np.zeros((peers, 1), dtype=np.uint8)
    own[0] = 255
    near = [overlay.neighbours(peer) for peer in range(peers)]
    told = gossip(own, near, rounds=peers)
    hops = networkx.single_source_shortest_path_length(networkx.Graph(dict(enumerate(near))), 0)
    for peer in range(1, peers):
        assert told[peer].max() == max(255 - FADING * (hops[peer] - 1), 0)
