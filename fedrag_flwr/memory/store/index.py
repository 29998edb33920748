"""The three search indexes of a store, each made again as far as the store has moved on."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.memory.store import queries
from fedrag_flwr.memory.store.database import Database


class VectorIndex:
    """Inner-product search over unit vectors; it does not change once made.

    Parameters
    ----------
    ids
        The ids of the vectors.
    vectors
        (n, dimension) float32, unit rows.
    """

    def __init__(self, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        import faiss

        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        self._ids = tuple(ids)
        self._index = index

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order of the vectors."""
        return self._ids

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._index.d)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """A copy of the vectors, (n, dimension)."""
        if not self._ids:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.asarray(self._index.reconstruct_n(0, len(self._ids)), dtype=np.float32)

    def search(self, vectors: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], list[list[str]]]:
        """Find the nearest vectors.

        Parameters
        ----------
        vectors
            Queries, (n, dimension) or (dimension,).
        k
            How many to find; all where there are fewer.

        Returns
        -------
        scores, ids
            Inner products, (n, min(k, len)) in falling order, and for each query the ids.

        Raises
        ------
        StoreMismatchError
            If the queries have another dimension.
        """
        queries = np.atleast_2d(np.ascontiguousarray(vectors, dtype=np.float32))
        if queries.shape[1] != self.dimension:
            raise StoreMismatchError(
                f"the query has {queries.shape[1]} dimensions, the index {self.dimension}",
                where="index",
                fix="encode with the recorded encoder",
            )
        nearest = min(max(k, 0), len(self._ids))
        if nearest == 0:
            return np.zeros((len(queries), 0), dtype=np.float32), [[] for _ in queries]
        scores, rows = self._index.search(queries, nearest)
        return scores, [[self._ids[row] for row in line] for line in rows]

    def updated(self, keep: Iterable[str], ids: Sequence[str], vectors: NDArray[np.float32]) -> VectorIndex:
        """Make an index, sorted by id, of those to keep among the present and of new ones."""
        new = set(ids)
        kept = set(keep) - new
        rows = [row for row, unit in enumerate(self._ids) if unit in kept]
        together = [*(self._ids[row] for row in rows), *ids]
        order = sorted(range(len(together)), key=together.__getitem__)
        stack = np.concatenate([self.vectors[rows], vectors]) if rows else vectors
        return VectorIndex([together[row] for row in order], stack[order])


IndexKind = Literal["sentence", "paragraph", "item"]


class Indexes:
    """Indexes by kind, kept in memory for the store's version; made anew from the store as fast as read from a file.

    Parameters
    ----------
    database
        The store's file, the truth.
    dimension
        Length of a vector.
    """

    def __init__(self, database: Database, dimension: int) -> None:
        self._database = database
        self._dimension = dimension
        self._cached: dict[IndexKind, tuple[int, VectorIndex]] = {}
        self._lock = threading.Lock()

    def get(self, kind: IndexKind) -> VectorIndex:
        """The index of a kind: the one in memory, brought up to date, or a new one."""
        with self._lock:
            with self._database.reading() as connection:
                version = queries.version(connection)
                since, old = self._cached.get(kind, (0, None))
                if old is not None and since == version:
                    return old
                ids, vectors = queries.vectors_since(connection, kind, since, self._dimension)
                if old is None:
                    index = VectorIndex(ids, vectors)
                else:
                    index = old.updated(queries.index_ids(connection, kind), ids, vectors)
            self._cached[kind] = (version, index)
            return index
