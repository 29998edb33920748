"""Topics: a public list of headings, the same for all peers, by which questions and documents are filed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Vector

HEADINGS = Path(__file__).with_name("headings.json")
_FILED = 8  # headings that a question is filed under
_SHARPNESS = 20.0  # of a question's weights over its headings; 1 / temperature of a softmax over cosines


@dataclass(frozen=True, slots=True)
class Topics:
    """Topic i is row i of `centroids`, shape (topics, dimension), unit rows; `names` may be read by people."""

    names: tuple[str, ...]
    centroids: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.names)

    def weights(self, vector: Vector) -> dict[int, float]:
        """The topics of a question's vector, shape (dimension,), with weights that sum to 1, heaviest first."""
        scores = self.centroids @ vector
        best = np.argsort(-scores, kind="stable")[:_FILED]
        heavy = np.exp(_SHARPNESS * (scores[best] - scores[best[0]]))
        return {int(topic): float(weight) for topic, weight in zip(best, heavy / heavy.sum(), strict=True)}

    def counts(self, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        """How many vectors of shape (n, dimension) are filed under each topic; each counts once, shape (topics,)."""
        if not len(vectors):
            return np.zeros(len(self), dtype=np.int64)
        return np.bincount((vectors @ self.centroids.T).argmax(axis=1), minlength=len(self))


def topics_of(encoder: Encoder, file: Path = HEADINGS) -> Topics:
    """Read headings, a JSON list of texts, and encode them; those that ship are of general knowledge.

    Raises
    ------
    SettingError
        The file is no such list.
    """
    try:
        names = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingError("headings cannot be read", where="overlay.topics", fix="name a JSON list") from error
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise SettingError("headings are not a list of texts", where="overlay.topics", fix="name a JSON list of texts")
    return Topics(tuple(names), encoder.encode(names))


def learnt_topics(vectors: NDArray[np.float32], count: int, seed: int) -> Topics:
    """Topics from public vectors of shape (n, dimension): the centroids of k-means, without names of their own."""
    import faiss

    clusters = faiss.Kmeans(vectors.shape[1], min(count, len(vectors)), seed=seed, spherical=True, verbose=False)
    clusters.train(vectors)
    centroids = np.asarray(clusters.centroids, dtype=np.float32)
    return Topics(tuple(f"cluster {row}" for row in range(len(centroids))), centroids)
