"""The two search indexes of a store, each made again once its units have changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.memory.store import queries
from fedrag_flwr.memory.store.database import Database
from fedrag_flwr.records import Granularity


class VectorIndex:
    """Inner-product search over unit vectors, (n, dimension) float32, by their ids; it does not change once made."""

    def __init__(self, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        import faiss

        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        self._ids = tuple(ids)
        self._index = index

    def __len__(self) -> int:
        return len(self._ids)

    def search(self, vectors: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], list[list[str]]]:
        """Find the k nearest vectors, all where there are fewer; raises StoreMismatchError for another dimension.

        Parameters
        ----------
        vectors
            Queries, (n, dimension) or (dimension,).

        Returns
        -------
        scores, ids
            Inner products, (n, min(k, len)) in falling order, and for each query the ids.
        """
        queries = np.atleast_2d(np.ascontiguousarray(vectors, dtype=np.float32))
        if queries.shape[1] != self._index.d:
            raise StoreMismatchError(
                f"the query has {queries.shape[1]} dimensions, the index {self._index.d}",
                where="index",
                fix="encode with the recorded encoder",
            )
        nearest = min(max(k, 0), len(self._ids))
        if nearest == 0:
            return np.zeros((len(queries), 0), dtype=np.float32), [[] for _ in queries]
        scores, rows = self._index.search(queries, nearest)
        return scores, [[self._ids[row] for row in line] for line in rows]


class Indexes:
    """Indexes by granularity, kept in memory; made anew from the store as fast as one is brought up to date."""

    def __init__(self, database: Database, dimension: int) -> None:
        self._database = database
        self._dimension = dimension
        self._cached: dict[Granularity, tuple[int, tuple[int, int], VectorIndex]] = {}
        self._lock = threading.Lock()

    def get(self, granularity: Granularity) -> VectorIndex:
        """The index of a granularity: the one in memory, or a new one where units came or went."""
        with self._lock, self._database.reading() as connection:
            version, held = queries.version(connection), self._cached.get(granularity)
            if held is not None and held[0] == version:
                return held[2]
            now = queries.units_state(connection, granularity)
            if held is not None and held[1] == now:
                index = held[2]
            else:
                units = queries.units(connection, granularity, self._dimension)
                index = VectorIndex(units.ids, units.vectors)
            self._cached[granularity] = (version, now, index)
            return index
