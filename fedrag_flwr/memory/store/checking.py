"""What a store refuses to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreError, StoreMismatchError
from fedrag_flwr.memory.store import queries
from fedrag_flwr.records import Passage


def check_place(passage: Passage, document_id: str) -> None:
    """See that a passage and its sentences name the parents that they stand in."""
    if passage.document_id != document_id or any(inner.passage_id != passage.id for inner in passage.sentences):
        raise StoreError("a passage or sentence names another parent", where=document_id, fix="parse it again")


def check_vectors(dimension: int, vectors: NDArray[np.float32], rows: int, where: str) -> None:
    """See that vectors are finite and of shape (rows, dimension)."""
    if vectors.shape != (rows, dimension) and (rows or vectors.size):
        raise StoreMismatchError(
            f"vectors of shape {vectors.shape} came, ({rows}, {dimension}) belong here",
            where=where,
            fix="encode with the recorded encoder",
        )
    if not np.isfinite(vectors).all():
        raise StoreError("a vector is not finite", where=where, fix="check the encoder")


def check_units(units: Iterable[str], numbers: Mapping[str, int], where: str) -> None:
    """See that units are among those that the store holds."""
    absent = [unit for unit in units if unit not in numbers]
    if absent:
        error = queries.missing("unit", absent)
        raise type(error)(f"{where} names a unit that is not in the store", where=absent[0], fix=error.fix)
