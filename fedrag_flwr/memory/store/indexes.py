"""The three search indexes of a store, each made again as far as the store has moved on."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from fedrag_flwr.memory.store import reading
from fedrag_flwr.memory.store.database import Database
from fedrag_flwr.memory.store.index import VectorIndex, stamp

IndexKind = Literal["sentence", "paragraph", "item"]
KINDS: tuple[IndexKind, ...] = ("sentence", "paragraph", "item")
_log = logging.getLogger(__name__)


class Indexes:
    """Indexes by kind, kept in memory for the store's version and in files beside the store.

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
        """The index of a kind: the one in memory, brought up to date; else the file, if it fits; else built anew."""
        with self._lock:
            path = self._database.directory / f"{kind}.faiss"
            with self._database.reading() as connection:
                version = reading.version(connection)
                since, old = self._cached.get(kind, (0, None))
                if old is not None and since == version:
                    return old
                listing = reading.listing(connection, kind)
                made_of = stamp(reading.state(connection, "store"), listing)
                ids = [unit for unit, _ in listing]
                index = VectorIndex.load(path, made_of, ids, self._dimension) if old is None else None
                loaded = index is not None
                if index is None:
                    new_ids, vectors = reading.vectors_since(connection, kind, since, self._dimension)
                    index = VectorIndex(new_ids, vectors) if old is None else old.updated(ids, new_ids, vectors)
            if not loaded:
                try:
                    index.save(path, made_of)
                except OSError as error:  # the index is whole in memory; the next start builds it again
                    _log.warning("index %s not kept: %s", path.name, os.strerror(error.errno or 0))
            self._cached[kind] = (version, index)
            return index


def drop_indexes(directory: Path, kinds: Iterable[IndexKind] = KINDS) -> None:
    """Remove index files of a store; they can be built again."""
    for kind in kinds:
        for suffix in ("faiss", "json"):
            (directory / f"{kind}.{suffix}").unlink(missing_ok=True)
