"""Memories of other origins: what a store takes of a delta, and why it refuses the rest."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np

from fedrag_flwr.memory.store import item_rows
from fedrag_flwr.memory.store.writer import Writer
from fedrag_flwr.records import Delta, MemoryItem

SHARED_VERSION = "shared-version"  # meta key: the version of the shared memory that was imported last
_SHARES = 5  # of the limit; one device may fill one of them, so that a flood leaves room for the others
_WORTH = 10  # where room for this part of its share is free again, a sender is asked for everything once more
_LONGEST_EDGE = 128  # characters of a hyperedge's id as one device shares it
_NORM_TOLERANCE = 1e-2  # float16 travel moves a unit vector's norm by about 1e-3


@dataclass(frozen=True, slots=True)
class Import:
    """What one import did: memories of it held after it, retracted, removed in all, refusals by reason, the version."""

    accepted: int
    retracted: int
    removed: int
    refused: Counter[str]
    version: int


def refusal(item: MemoryItem, device: str, dimension: int, only: str | None = None) -> str:
    """Why a memory from elsewhere, or from one origin only, is refused, or "" if it is fit."""
    if only not in (None, item.origin):
        return "wrong-origin"
    if item.origin == device:
        return "own-origin"
    if item.embedding.shape != (dimension,):
        return "dimension"
    if not np.isfinite(item.embedding).all():
        return "not-finite"
    if abs(float(np.linalg.norm(item.embedding.astype(np.float64))) - 1.0) > _NORM_TOLERANCE:
        return "norm"
    if not (item.id and item.origin and _says(item.question) and _says(item.answer)):
        return "empty"
    # the server puts the owner's name and a slash before each, and the two together have to be a name on the wire
    if only is not None and any("/" in edge or len(edge) > _LONGEST_EDGE for edge in item.hyperedges):
        return "hyperedges"
    return ""


def _says(text: str) -> bool:
    return any(map(str.isalnum, text))


def take(
    connection: sqlite3.Connection,
    pages: Iterable[Delta],
    writer: Writer,
    *,
    device: str,
    dimension: int,
    limit: int,
    one_origin: bool = False,
    snapshot: bool = False,
) -> Import:
    """Take a delta within the caller's transaction.

    A memory whose id another origin holds is refused as ``id-taken``: nobody replaces another's memories, nor this
    device's own. One beyond the limit is refused as ``full``. Within one delta the last of an
    origin's equal ids counts, and an id that is both new and retracted stays.

    Parameters
    ----------
    connection
        A connection in a write transaction.
    pages
        The delta, bounded and decoded, in one page or more; gone through three times.
    writer
        Writes the change over that connection.
    device
        This device's name.
    dimension
        Length of a vector.
    limit
        Most memories of other origins; with `one_origin` a fifth of it for each.
    one_origin
        The delta speaks for its own origin alone: memories of another are refused as ``wrong-origin``, and it can
        retract no other's.
    snapshot
        The delta is all there is: what it lacks goes.
    """
    head = next(iter(pages))
    only = head.origin if one_origin else None
    theirs = item_rows.foreign_origins(connection, only) if snapshot else _named(connection, pages, device, only)
    fit, refused = _judged(connection, pages, theirs, device, dimension, only)
    coming: dict[str, str] = {}
    for page, good in zip(pages, fit, strict=True):
        coming |= {item.id: item.origin for item in compress(page.items, good)}
    retracted = writer.retract_foreign([name for name, origin in theirs.items() if coming.get(name) != origin])
    room = _room(connection, limit, only, len(coming))
    accepted: set[str] = set()
    for page, good in zip(pages, fit, strict=True):
        fresh = {item.id: item for item in compress(page.items, good)}
        there = {item.id: item for item in item_rows.items(connection, dimension, ids=list(fresh))}
        for item in fresh.values():
            if item.id not in there and room <= 0:
                refused["full"] += 1
                continue
            accepted.add(item.id)
            room -= item.id not in there
            writer.put_foreign(item, there.get(item.id))
    version = writer.settle()
    missed = refused["full"] + (0 if snapshot else _missed(connection, only))
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [(SHARED_VERSION, str(head.version)), (_missed_key(only), str(missed))],
    )
    return Import(len(accepted), retracted, writer.removed, refused, version)


def missed_fit(connection: sqlite3.Connection, limit: int, only: str | None) -> bool:
    """Whether there is room now for what was refused as ``full``; it comes only where everything is sent again."""
    missed = _missed(connection, only)
    enough = min(missed, max(1, _share(limit, only) // _WORTH))
    return missed > 0 and _room(connection, limit, only, missed) >= enough


def _missed_key(only: str | None) -> str:
    return f"missed {only or ''}"


def _missed(connection: sqlite3.Connection, only: str | None) -> int:
    """How many memories were refused as ``full`` since everything was sent."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_missed_key(only),)).fetchone()
    return int(row[0]) if row else 0


def _share(limit: int, only: str | None) -> int:
    return limit if only is None else -(-limit // _SHARES)


def _room(connection: sqlite3.Connection, limit: int, only: str | None, wanted: int) -> int:
    """How many memories may still come, of all others or of one origin."""
    room = item_rows.foreign_room(connection, limit, wanted)
    return room if only is None else min(room, _share(limit, only) - item_rows.count_of(connection, only))


def _named(connection: sqlite3.Connection, pages: Iterable[Delta], device: str, only: str | None) -> dict[str, str]:
    """The origins of memories that the pages retract and may: others', or those of one origin."""
    named = [name for page in pages for name in page.retracted]
    found = item_rows.origins(connection, named)
    return {name: origin for name, origin in found.items() if origin != device and only in (None, origin)}


def _judged(
    connection: sqlite3.Connection,
    pages: Iterable[Delta],
    retracting: Mapping[str, str],
    device: str,
    dimension: int,
    only: str | None,
) -> tuple[list[list[bool]], Counter[str]]:
    """Which memories of each page are fit, and why the others are not."""
    refused: Counter[str] = Counter()
    owners: dict[str, str] = {}
    fit: list[list[bool]] = []
    for page in pages:
        there = item_rows.origins(connection, [item.id for item in page.items])
        owners |= {name: origin for name, origin in there.items() if origin == device or name not in retracting}
        reasons = []
        for item in page.items:
            reason = refusal(item, device, dimension, only)
            if not reason and owners.setdefault(item.id, item.origin) != item.origin:
                reason = "id-taken"
            reasons.append(reason)
        refused.update(reason for reason in reasons if reason)
        fit.append([not reason for reason in reasons])
    return fit, refused
