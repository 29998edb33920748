"""Which devices a question goes to: those that own the summaries nearest to it (DGRAG 3.3 step 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.records import Vector

Floats = NDArray[np.float32]
EXACT_UP_TO = 100_000  # summaries that are compared one by one; more are grouped
_PROBED_SHARE = 1 / 64  # of the groups that are looked into
_GROUPS_PER_ROOT = 4.0  # groups are this many times the square root of the summaries
_SAMPLE = 64  # summaries of each group from which the groups are learnt


@dataclass(frozen=True, slots=True)
class SummaryHit:
    """A summary near a question: its id, its owner, its cosine."""

    id: str
    owner: str
    score: float


@dataclass(frozen=True, slots=True)
class Route:
    """The owners to ask, best first, and the summaries that speak for them."""

    owners: tuple[str, ...]
    hits: tuple[SummaryHit, ...]

    @property
    def explanation(self) -> str:
        """Why these owners."""
        if not self.hits:
            return "no summary is known"
        return ", ".join(f"{hit.owner} {hit.score:.2f}" for hit in self.hits)


class SummaryIndex:
    """The summaries of all devices, searchable; it does not change once made.

    Up to `EXACT_UP_TO` summaries search is exact. More are grouped by k-means and kept in one byte a component (FAISS
    IVF-SQ8), and a question is compared with those of the nearest groups.

    Parameters
    ----------
    ids, owners
        Of each summary, length n.
    vectors
        Shape (n, dimension), unit rows.
    seed
        Of the grouping.
    """

    def __init__(self, ids: Sequence[str], owners: Sequence[str], vectors: Floats, seed: int = 0) -> None:
        self._ids = tuple(ids)
        self._owners = tuple(owners)
        self._index: Any = _index(vectors, seed)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def bytes(self) -> int:
        """What the index takes in memory, without ids."""
        import faiss

        return int(faiss.serialize_index(self._index).nbytes) if len(self) else 0

    def nearest(self, vector: Vector, m: int, without: Iterable[str] = ()) -> tuple[SummaryHit, ...]:
        """The m summaries nearest to a question's unit vector, (dimension,), best first, some owners left out."""
        hidden, wanted = frozenset(without), min(m, len(self))
        taken = wanted
        while taken:
            scores, rows = self._index.search(np.ascontiguousarray(vector[None, :], dtype=np.float32), taken)
            hits = [
                SummaryHit(self._ids[row], self._owners[row], float(score))
                for row, score in zip(rows[0].tolist(), scores[0].tolist(), strict=True)
                if row >= 0 and self._owners[row] not in hidden
            ]
            if len(hits) >= wanted or taken == len(self):
                return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.owner, hit.id))[:wanted])
            taken = min(4 * taken, len(self))
        return ()

    def route(self, vector: Vector, m: int, k: int, without: Iterable[str] = ()) -> Route:
        """The k owners that the m nearest summaries speak for most, by the sum of their cosines."""
        hits = self.nearest(vector, m, without)
        owners = _voted(((hit.owner, hit.score) for hit in hits), k)
        return Route(owners, tuple(hit for hit in hits if hit.owner in owners))


def choose_owners(
    scores: NDArray[np.floating], owners: Sequence[str], m: int, k: int, without: Iterable[str] = ()
) -> tuple[str, ...]:
    """The owners that `SummaryIndex.route` chooses, for whoever has the scores but not the summaries.

    Parameters
    ----------
    scores
        Shape (n,), of summaries in the order of their owners and ids.
    owners
        Of each summary.
    m, k, without
        As for `SummaryIndex.route`.
    """
    hidden = frozenset(without)
    allowed = np.array([owner not in hidden for owner in owners], dtype=bool)
    order = np.argsort(-np.where(allowed, scores, -np.inf), kind="stable")[: min(m, int(allowed.sum()))]
    return _voted(((owners[row], float(scores[row])) for row in order), k)


def _voted(hits: Iterable[tuple[str, float]], k: int) -> tuple[str, ...]:
    quorum: dict[str, float] = {}
    for owner, score in hits:
        quorum[owner] = quorum.get(owner, 0.0) + max(score, 0.0)
    return tuple(sorted(quorum, key=lambda owner: (-quorum[owner], owner))[:k])


def _index(vectors: Floats, seed: int) -> Any:
    import faiss

    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    count, dimension = matrix.shape if matrix.size else (0, 1)
    if count <= EXACT_UP_TO:
        flat = faiss.IndexFlatIP(dimension)
        if count:
            flat.add(matrix)
        return flat
    groups = max(1, int(_GROUPS_PER_ROOT * np.sqrt(count)))
    index: Any = faiss.index_factory(dimension, f"IVF{groups},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = seed + 1
    index.cp.niter = 6
    rows = np.random.default_rng(seed).choice(count, min(count, _SAMPLE * groups), replace=False)
    index.train(matrix[np.sort(rows)])
    index.add(matrix)
    index.nprobe = max(8, int(groups * _PROBED_SHARE))
    return index
