"""RAGRoute: a small network tells from a question and devices' centroids which of them have something relevant.

After Guerraoui et al., *Efficient Federated Search for Retrieval-Augmented Generation* (2025): a shallow network over
the question, a source's centroid and their distance gives the chance that asking the source is of use. Here what the
network reads are numbers that mean the same for any number of devices, so that one fit serves all federations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.files import read_fitted

Floats = NDArray[np.float32]
Values = NDArray[np.float64]

SHIPPED = Path(__file__).parent / "source_router.json"
FEATURES = (
    *("nearest cosine", "second cosine", "mean cosine", "closeness of the nearest group", "log passages"),
    *("log passages of the nearest group", "lead over the other devices", "share of devices that are nearer"),
)
GROUPS = 16  # of a device at most, whoever asks
_PASSAGES_PER_GROUP = 16  # on the average
_FEWEST = 4  # passages of a group beside others
_FEWEST_IN_ALL = 2  # of a device, whose only group they are then: the direction of one is the passage itself
_CLOSENESS_STEPS = 20  # to 1: with exact numbers a direction would be an exact sum of vectors


@dataclass(frozen=True, slots=True)
class Centroids:
    """A device's groups of passages: directions, shape (groups, dimension), sizes and mean cosines, shape (groups,)."""

    vectors: Floats
    passages: NDArray[np.int64]
    closeness: Values

    def largest(self, most: int) -> Centroids:
        """The first so many groups."""
        return Centroids(self.vectors[:most], self.passages[:most], self.closeness[:most])


def centroids_of(vectors: Floats, most: int, seed: int) -> Centroids:
    """Group passages by k-means, and leave out the smallest groups, whose means come near to single passages.

    Sizes are rounded to powers of two and mean cosines to twentieths; by rounded size the largest group comes first.

    Parameters
    ----------
    vectors
        Shape (n, dimension), unit rows; of fewer than two there is no group.
    most
        Groups at most.
    seed
        Of the grouping.
    """
    from sklearn.cluster import KMeans  # type: ignore[import-untyped, unused-ignore]

    if len(vectors) < _FEWEST_IN_ALL:
        return Centroids(np.empty((0, vectors.shape[1]), np.float32), np.empty(0, np.int64), np.empty(0))
    groups = max(1, min(most, len(vectors) // _PASSAGES_PER_GROUP))
    labels = KMeans(groups, n_init=1, random_state=seed).fit_predict(vectors)
    members = [vectors[labels == number] for number in range(groups)]
    kept = [rows for rows in members if len(rows) >= _FEWEST] or [vectors]  # where all are too small, one of all
    centroids = [rows.mean(axis=0) for rows in kept]
    units = np.stack([one / max(float(np.linalg.norm(one)), 1e-12) for one in centroids]).astype(np.float32)
    closeness = np.array([float((rows @ unit).mean()) for rows, unit in zip(kept, units, strict=True)])
    sizes = np.exp2(np.round(np.log2([len(rows) for rows in kept]))).astype(np.int64)
    order = np.argsort(-sizes, kind="stable")
    return Centroids(units[order], sizes[order], np.round(closeness[order] * _CLOSENESS_STEPS) / _CLOSENESS_STEPS)


def features_of(question: Floats, devices: Sequence[Centroids]) -> Values:
    """What the network reads of a question and each device, shape (devices, features); see `FEATURES`.

    Parameters
    ----------
    question
        Shape (dimension,), unit norm.
    """
    rows = []
    for one in devices:
        scores = one.vectors @ question
        order = np.argsort(-scores)
        best = int(order[0])
        rows.append(
            [
                float(scores[best]),
                float(scores[order[min(1, len(order) - 1)]]),
                float(np.average(scores, weights=one.passages)),
                float(one.closeness[best]),
                float(np.log1p(one.passages.sum())),
                float(np.log1p(one.passages[best])),
            ]
        )
    known = np.array(rows, dtype=np.float64).reshape(len(devices), len(FEATURES) - 2)
    nearest = known[:, 0]
    others = [np.delete(nearest, place) for place in range(len(devices))]
    lead = [own - rest.max() if len(rest) else 0.0 for own, rest in zip(nearest, others, strict=True)]
    nearer = [float((rest > own).mean()) if len(rest) else 0.0 for own, rest in zip(nearest, others, strict=True)]
    return np.column_stack([known, lead, nearer])


@dataclass(frozen=True, slots=True)
class SourceRouter:
    """The fitted network: one hidden layer of rectified units, and the chance from which a device is asked."""

    # mean, deviation: of the features, shape (features,).
    mean: Values
    deviation: Values
    # hidden, hidden_bias: shapes (features, units) and (units,).
    hidden: Values
    hidden_bias: Values
    # output, output_bias: shape (units,), and a number.
    output: Values
    output_bias: float
    threshold: float  # devices from this chance on are asked
    fitted_on: str  # in a few words

    def chances(self, question: Floats, devices: Sequence[Centroids]) -> Values:
        """The chance that each device has something relevant, shape (devices,)."""
        return self.chances_of(features_of(question, devices))

    def chances_of(self, features: Values) -> Values:
        """The same from what the network reads, shape (devices, features)."""
        scaled = (features - self.mean) / self.deviation
        active = np.maximum(scaled @ self.hidden + self.hidden_bias, 0.0)
        return np.asarray(1.0 / (1.0 + np.exp(-(active @ self.output + self.output_bias))), dtype=np.float64)

    def choose(self, chances: Values, most: int) -> list[int]:
        """The devices to ask, likeliest first: those from the threshold on, and always one."""
        order = [int(place) for place in np.argsort(-chances, kind="stable")]
        return [place for rank, place in enumerate(order) if rank == 0 or chances[place] >= self.threshold][:most]

    @classmethod
    def load(cls, path: Path = SHIPPED) -> SourceRouter:
        """Read what the fit wrote; raises StoreCorruptError where it is torn or was fitted for other features."""

        def made(told: Any) -> SourceRouter:
            if tuple(told["features"]) != FEATURES:
                raise ValueError("other features")
            arrays = {name: np.array(told[name], dtype=np.float64) for name in ARRAYS}
            bias, threshold = float(told["output_bias"]), float(told["threshold"])
            return cls(**arrays, output_bias=bias, threshold=threshold, fitted_on=str(told["fitted_on"]))

        return read_fitted(path, made)


ARRAYS = ("mean", "deviation", "hidden", "hidden_bias", "output")
