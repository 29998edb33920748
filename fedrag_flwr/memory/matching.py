"""Which memories answer a question: exact top-k of FD-RAG eq. 11 to 13."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError, StoreMismatchError
from fedrag_flwr.records import Match, MemoryItem, Vector

_SLACK = 1e-4  # far above the rounding of a float32 product of unit vectors
_CHUNK = 4096


class Matcher:
    """Scores all memories against a question (FD-RAG eq. 11).

    The score is ``alpha * cosine + (1 - alpha) * Dice``, the cosine between question embeddings and the Dice overlap
    between anchor sets (eq. 12; 0 where both are empty).

    Parameters
    ----------
    items
        The memories, with distinct ids; embeddings (dimension,).
    alpha
        Weight of the cosine, in [0, 1].

    Raises
    ------
    SettingError
        If alpha is outside [0, 1].
    StoreMismatchError
        If the memories' embeddings differ in length.
    """

    def __init__(self, items: Sequence[MemoryItem], alpha: float) -> None:
        if not 0.0 <= alpha <= 1.0:
            raise SettingError(f"is {alpha}", where="alpha", fix="choose a number from 0 to 1")
        self._items = tuple(sorted(items, key=lambda item: item.id))
        self._alpha = alpha
        if len({item.embedding.shape for item in self._items}) > 1:
            raise StoreMismatchError("memories have embeddings of several lengths", where="matcher")
        self._vectors = _unit_rows(self._items)
        self._anchor_counts, self._postings = _invert(self._items)

    @property
    def items(self) -> tuple[MemoryItem, ...]:
        """The memories, sorted by id."""
        return self._items

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Their embeddings, (n, dimension) with unit rows."""
        return self._vectors

    def __len__(self) -> int:
        return len(self._items)

    def top(self, vector: Vector, anchors: Collection[str], k: int) -> list[Match]:
        """Find the best memories for a question; ties go to the smaller id.

        Parameters
        ----------
        vector
            The question's embedding, (dimension,).
        anchors
            The question's anchors.
        k
            How many to find.

        Raises
        ------
        StoreMismatchError
            If the vector has another length than the memories'.
        """
        if k <= 0 or not self._items:
            return []
        if vector.shape != self._vectors.shape[1:]:
            raise StoreMismatchError(
                f"the question's vector has shape {vector.shape}, the memories' {self._vectors.shape[1:]}",
                where="matcher",
                fix="encode with the recorded encoder",
            )
        question = _unit(vector)
        covers = self._covers(frozenset(anchors))
        rough = self._alpha * (self._vectors @ question.astype(np.float32)) + (1.0 - self._alpha) * covers
        rows = _near_top(rough, k)
        similarities = self._similarities(rows, question)
        scores = self._alpha * similarities + (1.0 - self._alpha) * covers[rows]
        best = np.lexsort((rows, -scores))[:k]  # rows are in the order of ids
        return [
            Match(
                self._items[rows[place]], float(scores[place]), float(similarities[place]), float(covers[rows[place]])
            )
            for place in best
        ]

    def _covers(self, anchors: frozenset[str]) -> NDArray[np.float64]:
        found = [self._postings[anchor] for anchor in anchors if anchor in self._postings]
        if not found:
            return np.zeros(len(self._items))
        shared = np.bincount(np.concatenate(found), minlength=len(self._items))
        return 2.0 * shared / (len(anchors) + self._anchor_counts)

    def _similarities(self, rows: NDArray[np.intp], question: NDArray[np.float64]) -> NDArray[np.float64]:
        """Recompute the few that matter row by row: equal memories then score equal, wherever they stand."""
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        return np.concatenate([(self._vectors[chunk].astype(np.float64) * question).sum(axis=1) for chunk in chunks])


def _near_top(rough: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    if k >= len(rough):
        return np.arange(len(rough))
    bar = np.partition(rough, len(rough) - k)[len(rough) - k]
    return np.flatnonzero(rough >= bar - _SLACK)


def _unit(vector: Vector) -> NDArray[np.float64]:
    wide = vector.astype(np.float64)
    norm = float(np.linalg.norm(wide))
    return wide / norm if norm > 0.0 else wide


def _unit_rows(items: Sequence[MemoryItem]) -> NDArray[np.float32]:
    if not items:
        return np.zeros((0, 0), dtype=np.float32)
    rows = np.ascontiguousarray(np.stack([item.embedding for item in items]), dtype=np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(norms > 0.0, norms, np.float32(1.0))
    return rows


def _invert(items: Sequence[MemoryItem]) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
    postings: defaultdict[str, list[int]] = defaultdict(list)
    for row, item in enumerate(items):
        for anchor in frozenset(item.anchors):
            postings[anchor].append(row)
    counts = np.array([len(frozenset(item.anchors)) for item in items], dtype=np.int64)
    return counts, {anchor: np.array(rows, dtype=np.int64) for anchor, rows in postings.items()}
