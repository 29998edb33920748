"""Memories of other origins: what a store takes of a delta, and why it refuses the rest."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.memory import reading
from fedrag_flwr.memory.writing import Writer, same_item
from fedrag_flwr.records import Delta, MemoryItem

BANK_VERSION = "bank-version"  # meta key: the version of the bank that was imported last
_NORM_TOLERANCE = 1e-2  # float16 travel moves a unit vector's norm by about 1e-3


@dataclass(frozen=True, slots=True)
class Import:
    """What one import did: memories held after it, memories retracted, refusals by reason, the store's version."""

    accepted: int
    retracted: int
    refused: Counter[str]
    version: int


def refusal(item: MemoryItem, device: str, dimension: int) -> str:
    """Why a memory from elsewhere is refused, or "" if it is fit."""
    if item.origin == device:
        return "own-origin"
    if item.embedding.shape != (dimension,):
        return "dimension"
    if not np.isfinite(item.embedding).all():
        return "not-finite"
    if abs(float(np.linalg.norm(item.embedding.astype(np.float64))) - 1.0) > _NORM_TOLERANCE:
        return "norm"
    if not (item.id and item.origin and item.question.strip() and item.answer.strip()):
        return "empty"
    return ""


def take(
    connection: sqlite3.Connection,
    delta: Delta,
    *,
    device: str,
    dimension: int,
    limit: int,
    one_origin: bool = False,
    snapshot: bool = False,
) -> Import:
    """Take a delta within the caller's transaction.

    A memory whose id another origin holds is refused as ``id-taken``: nobody replaces another's memories, nor this
    device's own. One beyond the limit is refused as ``full``. Within one delta the last of an origin's equal ids
    counts, and an id that is both new and retracted stays.

    Parameters
    ----------
    connection
        A connection in a write transaction.
    delta
        The delta, bounded and decoded.
    device
        This device's name.
    dimension
        Length of a vector.
    limit
        Most memories of other origins.
    one_origin
        The delta speaks for its own origin alone: memories of another are refused as ``wrong-origin``, and it can
        retract no other's.
    snapshot
        The delta is all there is: what it lacks goes.
    """
    writer = Writer(connection, device, dimension)
    there = {item.id: item for item in reading.items(connection, dimension, ids=[item.id for item in delta.items])}
    held = "SELECT id FROM items WHERE own = 0" + (" AND origin = ?" if one_origin else "")
    theirs = {row[0] for row in connection.execute(held, (delta.origin,) if one_origin else ())}
    retracting = theirs if snapshot else theirs & set(delta.retracted)
    owners = {item.id: item.origin for item in there.values() if item.origin == device or item.id not in retracting}
    refused: Counter[str] = Counter()
    fit: dict[str, MemoryItem] = {}
    for item in delta.items:
        reason = refusal(item, device, dimension)
        if one_origin and item.origin != delta.origin:
            reason = "wrong-origin"
        if not reason and owners.setdefault(item.id, item.origin) != item.origin:
            reason = "id-taken"
        if reason:
            refused[reason] += 1
        else:
            fit[item.id] = item
    gone = [
        item for item in retracting if item not in fit or (item in there and there[item].origin != fit[item].origin)
    ]
    retracted = writer.retract_foreign(gone)
    room = limit - int(connection.execute("SELECT count(*) FROM items WHERE own = 0").fetchone()[0])
    accepted = 0
    for item in fit.values():
        known = there.get(item.id)
        if known is not None and known.origin != item.origin:
            known = None  # it was retracted just now
        if known is None and room <= 0:
            refused["full"] += 1
            continue
        accepted += 1
        room -= known is None
        if known is None or known.hyperedges != item.hyperedges or not same_item(item, known):
            connection.execute("DELETE FROM items WHERE id = ?", (item.id,))
            connection.execute("DELETE FROM retractions WHERE id = ?", (item.id,))
            writer.insert_item(item, own=False)
    version = writer.settle()
    connection.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (BANK_VERSION, str(delta.version)),
    )
    return Import(accepted, retracted, refused, version)
