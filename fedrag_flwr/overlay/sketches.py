"""Sketches: how many documents of a topic a peer reaches, noised where they begin, and fading on their way.

A sketch is one byte a topic: 16 times the binary logarithm of a count, so that halving a count takes 16 off. A
peer's own counts get discrete Laplace noise once: adding or removing one document moves one count by one, so a sketch
is epsilon-differentially private for each document. What is gossiped is made of such sketches alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

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
    if not len(told):
        return told.copy()
    return said(own[None, :], told, np.zeros(1, dtype=np.int64), np.zeros(len(told), dtype=np.int64))


def said(own: Levels, told: Levels, starts: NDArray[np.int64], hearer: NDArray[np.int64]) -> Levels:
    """What the peer that heard a row says back to who told it: its own, and the most that the others told.

    Parameters
    ----------
    own
        Shape (peers, topics).
    told
        Shape (rows, topics), the rows of one peer after those of another.
    starts
        The first row of each peer that has any.
    hearer
        The peer that heard each row.
    """
    group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(told)]))
    highest = np.maximum.reduceat(told, starts)[group]
    leading = told == highest
    alone = np.add.reduceat(leading, starts, dtype=np.int64)[group] == 1
    second = np.maximum.reduceat(np.where(leading, 0, told), starts)[group]
    reached = np.where(leading & alone, second, highest)
    return np.maximum(own[hearer], np.where(reached > FADING, reached - FADING, 0)).astype(np.uint8)
