"""Sketches: how many documents of a topic a peer reaches, noised where they begin, and fading on their way.

A sketch is one byte a topic: 16 times the binary logarithm of a count, so that halving a count takes 16 off. A
peer's own counts get discrete Laplace noise once: adding or removing one document moves one count by one, so a sketch
is epsilon-differentially private for each document. What is gossiped is made of such sketches alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

HALF = 16  # levels by which a count halves
FADING = 2 * HALF  # levels that a hop takes: a quarter of a peer's documents counts at its neighbours
_FALSE_CLAIMS = 1e-3  # chance that a topic without a document is claimed
Levels = NDArray[np.uint8]


def levels_of(counts: NDArray[np.float64]) -> Levels:
    """Counts as levels, of the same shape."""
    levels = np.rint(HALF * np.log2(1 + np.maximum(counts, 0)))
    return np.asarray(np.clip(levels, 0, 255), dtype=np.uint8)


def counts_of(levels: Levels) -> NDArray[np.float64]:
    """Levels as counts, of the same shape."""
    return np.exp2(levels / HALF) - 1


def claim(levels: Levels, topics: Mapping[int, float]) -> float:
    """How many documents a sketch of shape (topics,) promises on a question's weighted topics."""
    return math.fsum(weight * (math.exp2(int(levels[topic]) / HALF) - 1) for topic, weight in topics.items())


def noisy_sketch(counts: NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Levels:
    """Release a peer's own sketch.

    Parameters
    ----------
    counts
        Documents filed under each topic, shape (topics,).
    epsilon
        Budget of one document; infinite for no noise.
    rng
        Draws the noise.
    """
    if math.isinf(epsilon):
        return levels_of(counts.astype(np.float64))
    stop = -math.expm1(-epsilon)  # two-sided geometric: whole numbers leave no traces of floating point
    noisy = counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)
    least = -math.log(_FALSE_CLAIMS * (1 + math.exp(-epsilon))) / epsilon
    return levels_of(np.where(noisy >= least, noisy, 0).astype(np.float64))


def offers(own: Levels, told: Levels) -> Levels:
    """What a peer tells each neighbour: the most that it reaches itself or through others than that neighbour.

    Parameters
    ----------
    own
        Its own sketch, shape (topics,).
    told
        What each neighbour told it, shape (neighbours, topics).

    Returns
    -------
    Levels
        Shape (neighbours, topics), a row for each neighbour.
    """
    if len(told) < 2:
        return np.broadcast_to(own, told.shape).copy()
    best = told.argmax(axis=0)
    highest = np.take_along_axis(told, best[None, :], axis=0)[0]
    others = np.partition(told, len(told) - 2, axis=0)[-2]
    reached = np.where(best[None, :] == np.arange(len(told))[:, None], others, highest)
    return np.maximum(own, np.where(reached > FADING, reached - FADING, 0)).astype(np.uint8)


def gossip(own: Levels, neighbours: Sequence[Sequence[int]], rounds: int) -> list[Levels]:
    """Let peers tell their neighbours what they reach, all at once, in rounds.

    Parameters
    ----------
    own
        The peers' own sketches, shape (peers, topics).
    neighbours
        Of each peer.
    rounds
        After which sketches have travelled so many hops.

    Returns
    -------
    list[Levels]
        For each peer what its neighbours told last, shape (neighbours, topics).
    """
    told = [np.zeros((len(near), own.shape[1]), dtype=np.uint8) for near in neighbours]
    place = [{other: row for row, other in enumerate(near)} for near in neighbours]
    for _ in range(rounds):
        said = [offers(own[peer], told[peer]) for peer in range(len(own))]
        for peer, near in enumerate(neighbours):
            for row, other in enumerate(near):
                told[peer][row] = said[other][place[other][peer]]
    return told
