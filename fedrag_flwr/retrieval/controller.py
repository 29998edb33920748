"""The dense-aware controller: a logistic ranker over what a first stage and key spaces say about passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fedrag_flwr.errors import SettingError, StoreCorruptError, StoreMismatchError
from fedrag_flwr.files import replace_file
from fedrag_flwr.retrieval.base import Ranking, Retriever, ranked
from fedrag_flwr.retrieval.controller_features import VERSION, ControllerFeatures

Floats = NDArray[np.float64]


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
    """Scores candidate passages by the log-odds that they support the answer (HKVM-RAG section IV-F).

    Parameters
    ----------
    features
        What it looks at.
    scaling
        Of the features.
    weights
        Of the standardised features, shape (features,).
    bias
        Log-odds of a passage whose features are the mean ones.
    fitted_on
        What it was fitted on, in words; no text of a question or passage.

    Raises
    ------
    SettingError
        A shape does not fit the features, or a number is not finite.
    """

    features: ControllerFeatures
    scaling: Scaling
    weights: Floats
    bias: float
    fitted_on: str = ""

    def __post_init__(self) -> None:
        arrays = (self.weights, self.scaling.mean, self.scaling.deviation)
        if any(array.shape != (len(self.features.names),) for array in arrays):
            raise SettingError("the weights do not fit the features", where="controller")
        if not all(np.isfinite(array).all() for array in (*arrays, self.bias)) or (self.scaling.deviation <= 0.0).any():
            raise SettingError("the weights are not finite, or a deviation is not above 0", where="controller")

    @property
    def id(self) -> str:
        """Its sources, and a digest of its weights."""
        numbers = np.concatenate([self.weights, self.scaling.mean, self.scaling.deviation, [self.bias]])
        digest = hashlib.sha256(numbers.astype("<f8").tobytes()).hexdigest()[:12]
        return f"controller({' + '.join(self.features.sources)}, {digest})"

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
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        StoreCorruptError
            The file is missing, torn, or not a controller.
        StoreMismatchError
            It was written by another version, whose features are not these.
        """
        try:
            fields = json.loads(path.read_bytes())
            if isinstance(fields, dict) and fields.get("version") != VERSION:
                raise StoreMismatchError("the controller has another version", where=path.name, fix="fit it again")
            kept = _Kept.model_validate(fields)
            features = ControllerFeatures(kept.sources, kept.depth)
            if kept.names != features.names:
                raise StoreMismatchError("the controller has other features", where=path.name, fix="fit it again")
            scaling = Scaling(np.array(kept.mean), np.array(kept.deviation))
            return cls(features, scaling, np.array(kept.weights), kept.bias, kept.fitted_on)
        except (OSError, ValidationError, SettingError, json.JSONDecodeError, UnicodeDecodeError):
            raise StoreCorruptError("is not a controller", where=path.name, fix="fit it again") from None


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
    """Asks every source for its first places and lets a controller order what they bring.

    Parameters
    ----------
    sources
        Retrievers over the same passages, in the order of the controller's sources.
    controller
        Orders their candidates.

    Raises
    ------
    SettingError
        There is not one retriever for each of the controller's sources.
    """

    def __init__(self, sources: Sequence[Retriever], controller: Controller) -> None:
        if len(sources) != len(controller.features.sources):
            raise SettingError("there is not one retriever for each source", where="controller")
        self.id = f"{controller.id} over {'; '.join(source.id for source in sources)}"
        self._sources = tuple(sources)
        self._controller = controller

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first, with their log-odds; equal scores in the order of their ids.

        No passage beyond the controller's depth in every source is ranked, so that there may be fewer than k.
        """
        depth = self._controller.features.depth
        return self._controller.rerank([source.rank(question, depth) for source in self._sources], k)
