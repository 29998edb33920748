"""Small boosted trees as plain numbers: fitted once on training questions, shipped as JSON, scored with numpy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError

WEIGHTS = Path(__file__).with_name("weights")
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """Binary decision trees whose leaves add up to log-odds.

    Each array has shape (trees, nodes); a node with a `feature` below 0 is a leaf and points to itself. A row goes left
    where its feature is at most the threshold.
    """

    base: float
    depth: int
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]

    def score(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-odds of each row, shape (n,), of features of shape (n, features)."""
        if not len(rows):
            return np.zeros(0)
        trees = np.arange(len(self.feature))[:, None]
        samples = np.arange(len(rows))[None, :]
        node = np.zeros((len(self.feature), len(rows)), dtype=np.int64)
        # float32, as the trees were fitted: a value between a threshold's two neighbours must not change its side
        held = rows.astype(np.float32)
        for _ in range(self.depth):
            feature = self.feature[trees, node]
            goes_left = held[samples, np.maximum(feature, 0)] <= self.threshold[trees, node]
            node = np.where(goes_left, self.left[trees, node], self.right[trees, node])
        total: NDArray[np.float64] = self.base + self.value[trees, node].sum(axis=0)
        return total


@lru_cache(maxsize=8)
def load_trees(name: str, features: tuple[str, ...]) -> BoostedTrees:
    """The trees that are shipped under a name.

    Raises
    ------
    ModelError
        The file is missing or torn, or was fitted on other features than the code computes.
    """
    path = WEIGHTS / f"{name}.json"
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if (fields["schema"], tuple(fields["features"])) != (SCHEMA, features):
            raise ModelError(
                "the weights are for other features", where=path.name, fix="python simulations/fit_reader.py"
            )
        return _trees(float(fields["base"]), int(fields["depth"]), fields["trees"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError("the weights cannot be read", where=path.name, fix="restore the file") from error


def _trees(base: float, depth: int, trees: Sequence[Sequence[Sequence[float]]]) -> BoostedTrees:
    """Arrays from trees that are lists of nodes (feature, threshold, left, right, value)."""
    width = max(map(len, trees))
    nodes = np.zeros((len(trees), width, 5))
    nodes[:, :, 0] = -1.0
    for number, tree in enumerate(trees):
        nodes[number, : len(tree)] = tree
    feature = nodes[:, :, 0].astype(np.int64)
    own = np.broadcast_to(np.arange(width), feature.shape)
    left, right = (np.where(feature < 0, own, nodes[:, :, column].astype(np.int64)) for column in (2, 3))
    return BoostedTrees(base, depth, feature, nodes[:, :, 1], left, right, nodes[:, :, 4])
