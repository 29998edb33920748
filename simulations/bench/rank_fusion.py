"""Rank fusion: several retrievers' rankings as one, by the reciprocals of the ranks."""

from collections.abc import Sequence

import numpy as np

from fedrag_flwr.errors import SettingError
from fedrag_flwr.retrieval.base import Ranking, Retriever, ranked


class ReciprocalRankFusion:
    """Scores a passage by the sum of ``weight / (offset + rank)`` over the rankings that hold it (Cormack et al. 2009);
    raises SettingError where there is no retriever, not one weight for each, or a number is out of range.

    Parameters
    ----------
    retrievers
        Whose rankings to fuse.
    weights
        One from 0 for each; None: all alike.
    offset
        How little the first ranks stand out, from 0.
    depth
        How many passages to take from each.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        weights: Sequence[float] | None = None,
        *,
        offset: float = 60.0,
        depth: int = 100,
    ) -> None:
        shares = tuple(weights) if weights is not None else (1.0,) * len(retrievers)
        if not retrievers or len(shares) != len(retrievers) or min(shares) < 0.0 or offset < 0.0 or depth < 1:
            raise SettingError("rank fusion needs retrievers, and a weight from 0 for each", where="retrieval")
        self._retrievers = tuple(retrievers)
        self._weights = shares
        self._offset = offset
        self._depth = depth

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        return fuse(
            [retriever.rank(question, max(k, self._depth)) for retriever in self._retrievers],
            self._weights,
            k,
            self._offset,
        )


def fuse(rankings: Sequence[Ranking], weights: Sequence[float], k: int, offset: float = 60.0) -> Ranking:
    """Fuse rankings by the reciprocal ranks of their passages; parameters as for `ReciprocalRankFusion`."""
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, found in enumerate(ranking, 1):
            scores[found.passage_id] = scores.get(found.passage_id, 0.0) + weight / (offset + rank)
    return ranked(list(scores), np.array(list(scores.values())), k, above=0.0)
