"""Rows of what is held back (`change.HeldBack`); every function works within the caller's transaction."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from fedrag_flwr.errors import StoreError
from fedrag_flwr.memory.store import reading
from fedrag_flwr.memory.store.change import Rejected
from fedrag_flwr.memory.store.checking import check_units, check_vectors
from fedrag_flwr.memory.store.reading import LISTED, listed
from fedrag_flwr.memory.store.schema import check_row, checksum, pack_vector, unpack_vectors


def rejected(connection: sqlite3.Connection, dimension: int) -> list[Rejected]:
    """All that is held back, sorted by id."""
    supports: defaultdict[int, list[str]] = defaultdict(list)
    for number, unit in connection.execute(
        "SELECT s.held, u.id FROM held_support s JOIN units u ON u.number = s.unit ORDER BY s.held, s.place"
    ):
        supports[number].append(unit)
    rows = connection.execute(
        "SELECT number, checksum, vector, id, question, answer, kind, answer_type FROM held_back ORDER BY id"
    ).fetchall()
    vectors = unpack_vectors([row[2] for row in rows], dimension)
    found = []
    for vector, (number, check, _, *texts) in zip(vectors, rows, strict=True):
        check_row(check, *texts)
        name, question, answer, kind, answer_type = texts
        found.append(Rejected(name, question, answer, kind, answer_type, tuple(supports[number]), vector))
    return found


def put(connection: sqlite3.Connection, dimension: int, held: Rejected) -> None:
    """Hold one back, in the place of what was held back under its id."""
    if not held.support:
        raise StoreError("what is held back names no support", where=held.id, fix="give it the ids of its units")
    check_vectors(dimension, held.embedding[np.newaxis, :], 1, held.id)
    numbers = reading.unit_numbers(connection, held.support)
    check_units(held.support, numbers, held.id)
    drop(connection, [held.id])
    texts = (held.id, held.question, held.answer, held.kind, held.answer_type)
    number = connection.execute(
        "INSERT INTO held_back (id, question, answer, kind, answer_type, checksum, vector)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*texts, checksum(*texts), pack_vector(held.embedding)),
    ).lastrowid
    connection.executemany(
        "INSERT INTO held_support (held, place, unit) VALUES (?, ?, ?)",
        [(number, place, numbers[unit]) for place, unit in enumerate(held.support)],
    )


def check_apart(connection: sqlite3.Connection) -> None:
    """See that nothing is held back which is a memory too."""
    both = connection.execute(
        "SELECT h.id FROM held_back h JOIN items i ON i.id = h.id AND i.own = 1 LIMIT 1"
    ).fetchone()
    if both is not None:
        raise StoreError("a memory is held back too", where=str(both[0]), fix="withdraw it in the same change")


def drop(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Forget those with the ids."""
    connection.execute(f"DELETE FROM held_back WHERE id {LISTED}", (listed(ids),))


def drop_of_documents(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Forget what rests on documents, given by their row numbers, while their units are still there."""
    connection.execute(
        "DELETE FROM held_back WHERE number IN (SELECT s.held FROM held_support s JOIN units u ON u.number = s.unit"
        f" WHERE u.document {LISTED})",
        (listed(numbers),),
    )
