"""What orders of passages are worth: how many supporting ones stand among the first, and by how much two differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from fedrag_flwr.evaluation import paired_difference
from fedrag_flwr.retrieval import Ranking

Order = tuple[str, ...]
Floats = NDArray[np.float64]


def ids(ranking: Ranking) -> Order:
    """The passages of a ranking."""
    return tuple(found.passage_id for found in ranking)


def recalls(
    orders: Sequence[Order],
    supporting: Sequence[Collection[str]],
    cuts: Sequence[int],
    answering: Sequence[Collection[str]] = (),
) -> DataFrame:
    """Each question's measures in per cent, a row a question.

    R@k is the share of its supporting passages among the first k, all@k says that they all are. With `answering`,
    support@5 says that one of the first 5 holds the answer; it is not a number where no passage of the question does
    (yes and no, mostly).
    """
    found = DataFrame(index=range(len(orders)))
    for k in cuts:
        pairs = zip(orders, supporting, strict=True)
        found[f"R@{k}"] = [100.0 * len(set(gold) & set(order[:k])) / len(gold) for order, gold in pairs]
        found[f"all@{k}"] = 100.0 * (found[f"R@{k}"] == 100.0)
    if answering:
        pairs = zip(orders, answering, strict=True)
        found["support@5"] = [100.0 * bool(set(held) & set(order[:5])) if held else np.nan for order, held in pairs]
    return found


def gained(first: DataFrame, second: DataFrame, measure: str, seed: int) -> str:
    """The difference of two orders with its paired-bootstrap interval, over questions that have the measure."""
    pairs = first[measure].to_numpy(), second[measure].to_numpy()
    known = ~np.isnan(pairs[0]) & ~np.isnan(pairs[1])
    gain = paired_difference(pairs[0][known], pairs[1][known], rng=np.random.default_rng(seed))
    return f"{gain.value:+.1f} ({gain.low:+.1f} to {gain.high:+.1f})"
