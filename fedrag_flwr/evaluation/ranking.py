"""Measures of a ranking by which of its places are relevant: MRR, P@k, nDCG@k and Hit@k."""

from __future__ import annotations

import math
from collections.abc import Sequence


def reciprocal_rank(relevant: Sequence[bool]) -> float:
    """Return 1 over the place of the first relevant one, 0 where there is none."""
    return next((1.0 / place for place, one in enumerate(relevant, 1) if one), 0.0)


def precision_at(relevant: Sequence[bool], k: int) -> float:
    """Return the share of the first k places that are relevant; places that are not filled are not."""
    return sum(relevant[:k]) / k


def hit_at(relevant: Sequence[bool], k: int) -> float:
    """Return 1.0 if any of the first k is relevant, else 0.0."""
    return float(any(relevant[:k]))


def ndcg_at(relevant: Sequence[bool], k: int, known: int) -> float:
    """Return the discounted gain of the first k places over the best possible one (Järvelin and Kekäläinen 2002).

    Parameters
    ----------
    relevant
        By falling rank.
    k
        Places that count.
    known
        How many relevant ones there are in all, at least 1.
    """
    gain = sum(1.0 / math.log2(place + 1) for place, one in enumerate(relevant[:k], 1) if one)
    return gain / sum(1.0 / math.log2(place + 1) for place in range(1, min(k, known) + 1))
