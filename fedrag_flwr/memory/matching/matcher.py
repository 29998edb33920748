"""Which memories answer a question: exact top-k of FD-RAG eq. 11 to 13, without scoring every memory.

The threshold algorithm: first the memories that share a rare anchor with the question, which the inverted index gives,
those with the highest upper bound on their score before the others. The k-th best score found so is a bar. Then all
others whose bound reaches the bar (see `sweep`); nothing else can be among the best k. Where memories are few, all are
scored.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError, StoreError, StoreMismatchError
from fedrag_flwr.memory.matching.postings import Overlap, Postings, Rows, among
from fedrag_flwr.memory.matching.rounded import Depth
from fedrag_flwr.memory.matching.sweep import Asking, Sweep, Turned
from fedrag_flwr.records import Match, MemoryItem, Vector

SWEEP_FROM = 16_384  # fewer memories are scored in full about as fast, without anything to make first
_SLACK = 1e-4  # far above the rounding of a float32 product of unit vectors
_CHUNK = 4096
_SEEDS = 64  # memories scored for a first bar
_PICK_SHARE = 0.1  # of the memories asked for: reading all in a row is then faster than picking
_SCAN_SHARE = 0.5  # of the memories left by the sweep: scoring all in a row is then about as fast as bounding anew


@dataclass(frozen=True, slots=True)
class Effort:
    """How many memories a question cost.

    Parameters
    ----------
    scored
        Whose score was computed from the whole vector.
    bounded
        Bounds that were computed; a memory may have had several.
    """

    scored: int
    bounded: int


class Matcher:
    """Finds the memories that score best against a question (FD-RAG eq. 11).

    The score is ``alpha * cosine + (1 - alpha) * Dice``, the cosine between question embeddings and the Dice overlap
    between anchor sets (eq. 12; 0 where both are empty). A memory's anchors are those of its own question, where
    eq. 12 takes those of all typed facts of its supporting hyperedges.

    Parameters
    ----------
    items
        The memories, with distinct ids; embeddings (dimension,).
    alpha
        Weight of the cosine, in [0, 1].
    sweep_from
        From so many memories on, scores are bounded before they are computed; what that needs is made by the first
        question.

    Raises
    ------
    SettingError
        If alpha is outside [0, 1].
    StoreMismatchError
        If the memories' embeddings differ in length.
    StoreError
        If an embedding holds NaN or infinity: no order of scores would be right.
    """

    def __init__(self, items: Sequence[MemoryItem], alpha: float, sweep_from: int = SWEEP_FROM) -> None:
        if not 0.0 <= alpha <= 1.0:
            raise SettingError(f"is {alpha}", where="alpha", fix="choose a number from 0 to 1")
        self._items = tuple(sorted(items, key=lambda item: item.id))
        self._alpha = alpha
        if len({item.embedding.shape for item in self._items}) > 1:
            raise StoreMismatchError("memories have embeddings of several lengths", where="matcher")
        self._vectors = _unit_rows(self._items)
        self._postings = Postings(frozenset(item.anchors) for item in self._items)
        self._sweeps = len(self._items) >= max(sweep_from, 1)
        self._sweep: Sweep | None = None
        self._lock = threading.Lock()

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

    def prepare(self) -> None:
        """Make now what the first question would otherwise wait for."""
        with self._lock:
            if self._sweeps and self._sweep is None:
                self._sweep = Sweep(self._vectors, self._postings, self._alpha)

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
        StoreError
            If the vector holds NaN or infinity.
        """
        return self.top_counted(vector, anchors, k)[0]

    def top_counted(self, vector: Vector, anchors: Collection[str], k: int) -> tuple[list[Match], Effort]:
        """Find the best memories as :meth:`top` does, and say how many were looked at."""
        if k <= 0 or not self._items:
            return [], Effort(0, 0)
        if vector.shape != self._vectors.shape[1:]:
            raise StoreMismatchError(
                f"the question's vector has shape {vector.shape}, the memories' {self._vectors.shape[1:]}",
                where="matcher",
                fix="encode with the recorded encoder",
            )
        self.prepare()
        asking = Asking(_unit(vector), frozenset(anchors), self._alpha)
        if self._sweep is None or k > _PICK_SHARE * len(self):
            return self._scan(asking, k), Effort(len(self), 0)
        return self._search(self._sweep, asking, k)

    # --- all memories -----------------------------------------------------------------------------

    def _scan(self, asking: Asking, k: int) -> list[Match]:
        covers = self._postings.overlap(asking.anchors)
        rough = asking.score(self._vectors @ asking.vector.astype(np.float32), covers)
        rows = _near_top(rough, k)
        return self._exact(asking, rows, covers[rows], k)

    # --- those that can matter --------------------------------------------------------------------

    def _search(self, sweep: Sweep, asking: Asking, k: int) -> tuple[list[Match], Effort]:
        turned = sweep.turn(asking)
        overlap = Overlap(self._postings, sweep.common, asking.anchors)
        pool = _Pool(self._vectors, sweep, turned, k)
        pool.take(*overlap.holders())
        bounded = 0
        first = np.zeros(0, dtype=np.int64)
        if pool.bar == -np.inf:
            first = np.sort(overlap.without_holders(sweep.best(turned, max(_SEEDS, 2 * k))))
            pool.add(first, overlap.of(first))
            bounded = len(self)
        swept = sweep.above(turned, pool.bar)
        if swept is None or len(swept.rows) > _SCAN_SHARE * len(self):
            return self._scan(asking, k), Effort(len(self), bounded + pool.bounded + len(self))
        rows = overlap.without_holders(_without(swept.rows, first))
        pool.take(rows, overlap.of(rows))
        bounded += pool.bounded + swept.bounded
        rows, covers, rough = pool.all()
        near = _near_top(rough, k)
        return self._exact(asking, rows[near], covers[near], k), Effort(len(rows), bounded)

    def _exact(self, asking: Asking, rows: Rows, covers: NDArray[np.float64], k: int) -> list[Match]:
        similarities = self._similarities(rows, asking.vector)
        scores = asking.score(similarities, covers)
        best = np.lexsort((rows, -scores))[:k]  # rows are in the order of ids
        return [
            Match(self._items[rows[place]], float(scores[place]), float(similarities[place]), float(covers[place]))
            for place in best
        ]

    def _similarities(self, rows: Rows, question: NDArray[np.float64]) -> NDArray[np.float64]:
        """Recompute the few that matter row by row: equal memories then score equal, wherever they stand."""
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        return np.concatenate([(self._vectors[chunk].astype(np.float64) * question).sum(axis=1) for chunk in chunks])


class _Pool:
    """Memories scored so far for one question, up to the rounding of float32."""

    def __init__(self, vectors: NDArray[np.float32], sweep: Sweep, turned: Turned, k: int) -> None:
        self._vectors = vectors
        self._sweep = sweep
        self._turned = turned
        self._question = turned.asking.vector.astype(np.float32)
        self._k = k
        self._found: list[tuple[Rows, NDArray[np.float64], NDArray[np.float64]]] = []
        self.bar = -np.inf  # no memory below it is among the best k
        self.bounded = 0

    def take(self, rows: Rows, covers: NDArray[np.float64]) -> None:
        """Score those whose bounds reach the bar, which the most promising raise first."""
        for depth in get_args(Depth):
            self.bounded += len(rows)
            bounds = self._turned.asking.score(self._sweep.near(self._turned, rows, depth), covers)
            rows, covers = self._left(rows, covers, bounds)
        self.add(rows, covers)

    def _left(
        self, rows: Rows, covers: NDArray[np.float64], bounds: NDArray[np.float64]
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Score those with the highest bounds, and give the others that reach the bar then."""
        left = bounds >= self.bar
        seeds = max(_SEEDS, 2 * self._k)
        if np.count_nonzero(left) > seeds:
            first = np.argpartition(-bounds, seeds)[:seeds]
            self.add(rows[first], covers[first])
            left = bounds >= self.bar
            left[first] = False
        return rows[left], covers[left]

    def add(self, rows: Rows, covers: NDArray[np.float64]) -> None:
        """Score rows that are not here yet, and raise the bar."""
        if not len(rows):
            return
        self._found.append((rows, covers, self._turned.asking.score(self._vectors[rows] @ self._question, covers)))
        rough = np.concatenate([scores for _, _, scores in self._found])
        if len(rough) >= self._k:
            self.bar = float(np.partition(rough, len(rough) - self._k)[len(rough) - self._k]) - _SLACK

    def all(self) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64]]:
        """All rows here with their overlaps and scores."""
        rows, covers, rough = (np.concatenate(column) for column in zip(*self._found, strict=True))
        return rows, covers, rough


def _without(rows: Rows, seen: Rows) -> Rows:
    return rows[~among(rows, seen)] if len(seen) else rows


def _near_top(rough: NDArray[np.float64], k: int) -> Rows:
    if k >= len(rough):
        return np.arange(len(rough))
    bar = np.partition(rough, len(rough) - k)[len(rough) - k]
    return np.flatnonzero(rough >= bar - _SLACK)


def _unit(vector: Vector) -> NDArray[np.float64]:
    wide = vector.astype(np.float64)
    norm = float(np.linalg.norm(wide))
    if not np.isfinite(norm):
        raise StoreError("a vector is not finite", where="question", fix="check the encoder")
    return wide / norm if norm > 0.0 else wide


def _unit_rows(items: Sequence[MemoryItem]) -> NDArray[np.float32]:
    if not items:
        return np.zeros((0, 0), dtype=np.float32)
    rows = np.ascontiguousarray(np.stack([item.embedding for item in items]), dtype=np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if len(unfit := np.flatnonzero(~np.isfinite(norms))):
        raise StoreError("an embedding has no finite length", where=items[unfit[0]].id, fix="check the encoder")
    rows /= np.where(norms > 0.0, norms, np.float32(1.0))
    return rows
