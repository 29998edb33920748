"""The dense-aware controller: a logistic ranker over what a first stage and key spaces say about passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from fedrag_flwr.errors import SettingError, StoreMismatchError
from fedrag_flwr.files import read_fitted, replace_file
from fedrag_flwr.retrieval.base import Ranking, Retriever, ranked, scaled

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
    """Features of a passage over the rankings of one question (HKVM-RAG section IV-F); raises SettingError where there
    is no source, one is named twice, or the depth is below 2.

    For each source: whether it ranks the passage among its first `depth`, its rank from 1 (first) down to 0 (the last
    place of that depth), 1 / rank, its score scaled to [0, 1] over these places, and whether it is among the first 1, 3
    and 5. Of a source that does not rank the passage all are 0. For the first source with each other one: whether both
    rank it, the distance of their ranks, the product and the difference of the reciprocal ranks, the product of the
    scores, and whether one has it among its first 5 while the other does not rank it at all.

    The paper's published controllers add the difference the other way round and the number of sources; both are sums
    of these and are left out.
    """

    sources: tuple[str, ...]  # names of the rankings, the first stage before the key spaces
    depth: int = 10  # how many places of each ranking count

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
        """Describe the passages among the first `depth` of any ranking; raises SettingError where there is not one
        ranking for each source. What follows after `depth` places of a ranking is not looked at.
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


@dataclass(frozen=True, slots=True)
class Scaling:
    """What features are centred and divided by, each of shape (features,)."""

    mean: Floats
    deviation: Floats

    def of(self, values: Floats) -> Floats:
        """Standardise features, shape (n, features)."""
        return (values - self.mean) / self.deviation


@dataclass(frozen=True, slots=True)
class Controller:
    """Scores candidate passages by the log-odds that they support the answer (HKVM-RAG section IV-F); raises
    SettingError where a shape does not fit the features, or a number is not finite.
    """

    features: ControllerFeatures  # what it looks at
    scaling: Scaling  # of the features
    weights: Floats  # of the standardised features, shape (features,)
    bias: float  # log-odds of a passage whose features are the mean ones
    fitted_on: str = ""  # what it was fitted on, in words; no text of a question or passage

    def __post_init__(self) -> None:
        arrays = (self.weights, self.scaling.mean, self.scaling.deviation)
        if any(array.shape != (len(self.features.names),) for array in arrays):
            raise SettingError("the weights do not fit the features", where="controller")
        if not all(np.isfinite(array).all() for array in (*arrays, self.bias)) or (self.scaling.deviation <= 0.0).any():
            raise SettingError("the weights are not finite, or a deviation is not above 0", where="controller")

    def rerank(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """Rank what one question's rankings bring: at most k passages with their log-odds, equal ones by id."""
        found = self.features.of(rankings)
        return ranked(found.ids, self.scaling.of(found.values) @ self.weights + self.bias, k)

    def save(self, path: Path) -> None:
        """Write features, weights and what they were fitted on as JSON, at once or not at all."""
        kept = _Kept(
            version=VERSION,
            sources=self.features.sources,
            depth=self.features.depth,
            names=self.features.names,
            mean=tuple(self.scaling.mean.tolist()),
            deviation=tuple(self.scaling.deviation.tolist()),
            weights=tuple(self.weights.tolist()),
            bias=self.bias,
            fitted_on=self.fitted_on,
        )
        replace_file(path, (kept.model_dump_json(indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> Controller:
        """Read what `save` wrote; raises StoreCorruptError where the file is missing, torn, or not a controller, and
        StoreMismatchError where it was written by another version, whose features are not these.
        """

        def made(fields: Any) -> Controller:
            if fields.get("version") != VERSION:
                raise StoreMismatchError("the controller has another version", where=path.name, fix="fit it again")
            kept = _Kept.model_validate(fields)
            features = ControllerFeatures(kept.sources, kept.depth)
            if kept.names != features.names:
                raise StoreMismatchError("the controller has other features", where=path.name, fix="fit it again")
            scaling = Scaling(np.array(kept.mean), np.array(kept.deviation))
            return cls(features, scaling, np.array(kept.weights), kept.bias, kept.fitted_on)

        return read_fitted(path, made)


class _Kept(BaseModel):
    """A controller as it stands in its file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    sources: tuple[str, ...]
    depth: int
    names: tuple[str, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float = Field(allow_inf_nan=False)
    fitted_on: str


class ControlledRetriever:
    """Asks every source for its first places and lets a controller order what they bring; raises SettingError where
    there is not one retriever for each of the controller's sources.
    """

    def __init__(self, sources: Sequence[Retriever], controller: Controller) -> None:
        if len(sources) != len(controller.features.sources):
            raise SettingError("there is not one retriever for each source", where="controller")
        self._sources = tuple(sources)
        self._controller = controller

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first, with their log-odds; equal scores in the order of their ids.

        No passage beyond the controller's depth in every source is ranked, so that there may be fewer than k.
        """
        depth = self._controller.features.depth
        return self._controller.rerank([source.rank(question, depth) for source in self._sources], k)
