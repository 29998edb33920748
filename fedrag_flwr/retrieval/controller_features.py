"""What a controller knows about a candidate passage: how each ranking places it, and how two of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.retrieval.base import Ranking, scaled

Floats = NDArray[np.float64]
VERSION = 1
_OWN = ("present", "rank", "reciprocal_rank", "score", "top1", "top3", "top5")
_PAIR = ("both", "rank_gap", "reciprocal_rank_product", "reciprocal_rank_difference", "score_product")
_LONE = ("top5_alone", "top5_missed")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages that some rankings bring, in the order of their ids, and their features, shape (n, features)."""

    ids: tuple[str, ...]
    values: Floats


@dataclass(frozen=True, slots=True)
class ControllerFeatures:
    """Features of a passage over the rankings of one question (HKVM-RAG section IV-F).

    For each source: whether it ranks the passage among its first `depth`, its rank from 1 (first) down to 0 (the last
    place of that depth), 1 / rank, its score scaled to [0, 1] over these places, and whether it is among the first 1, 3
    and 5. Of a source that does not rank the passage all are 0. For the first source with each other one: whether both
    rank it, the distance of their ranks, the product and the difference of the reciprocal ranks, the product of the
    scores, and whether one has it among its first 5 while the other does not rank it at all.

    The paper's published controllers add the difference the other way round and the number of sources; both are sums
    of these and are left out.

    Parameters
    ----------
    sources
        Names of the rankings, the first stage before the key spaces.
    depth
        How many places of each ranking count.

    Raises
    ------
    SettingError
        There is no source, one is named twice, or the depth is below 2.
    """

    sources: tuple[str, ...]
    depth: int = 10

    def __post_init__(self) -> None:
        if not self.sources or len(set(self.sources)) < len(self.sources) or self.depth < 2:
            raise SettingError("a controller needs distinct sources and a depth from 2", where="controller")

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in their order."""
        first = self.sources[0]
        own = [f"{source}.{name}" for source in self.sources for name in _OWN]
        pairs = [f"{first}/{other}.{name}" for other in self.sources[1:] for name in (*_PAIR, *_LONE)]
        return (*own, *pairs)

    def of(self, rankings: Sequence[Ranking]) -> Candidates:
        """Describe the passages among the first `depth` of any ranking.

        Parameters
        ----------
        rankings
            One for each source, best first; what follows after `depth` places is not looked at.

        Raises
        ------
        SettingError
            There is not one ranking for each source.
        """
        if len(rankings) != len(self.sources):
            raise SettingError("there is not one ranking for each source", where="controller")
        cut = [ranking[: self.depth] for ranking in rankings]
        ids = tuple(sorted({found.passage_id for ranking in cut for found in ranking}))
        place = {name: row for row, name in enumerate(ids)}
        own = [self._own(ranking, place) for ranking in cut]
        pairs = [_pair(own[0], other) for other in own[1:]]
        return Candidates(ids, np.concatenate([*own, *pairs], axis=1))

    def _own(self, ranking: Ranking, place: dict[str, int]) -> Floats:
        values = np.zeros((len(place), len(_OWN)))
        if not ranking:
            return values
        ranks = np.arange(1, len(ranking) + 1, dtype=np.float64)
        columns = (
            np.ones(len(ranking)),
            1.0 - (ranks - 1.0) / (self.depth - 1.0),
            1.0 / ranks,
            scaled(np.array([found.score for found in ranking])),
            ranks <= 1,
            ranks <= 3,
            ranks <= 5,
        )
        values[[place[found.passage_id] for found in ranking]] = np.stack(columns, axis=1)
        return values


def _pair(first: Floats, other: Floats) -> Floats:
    """Interactions of two sources, whose own features have the columns of ``_OWN``."""
    columns = (
        first[:, 0] * other[:, 0],
        np.abs(first[:, 1] - other[:, 1]),
        first[:, 2] * other[:, 2],
        first[:, 2] - other[:, 2],
        first[:, 3] * other[:, 3],
        first[:, 6] * (1.0 - other[:, 0]),
        other[:, 6] * (1.0 - first[:, 0]),
    )
    return np.stack(columns, axis=1)
