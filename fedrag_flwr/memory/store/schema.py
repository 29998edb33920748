"""The store's tables, their version, and how vectors and facts are packed into them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.records import Decision, Fact, Vector

APPLICATION_ID = 0x46645247  # marks the SQLite file as ours
SCHEMA_VERSION = 2

TABLES = """
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE identity (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    digest TEXT NOT NULL,
    remembered INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER NOT NULL
);
CREATE TABLE units (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    granularity TEXT NOT NULL CHECK (granularity IN ('paragraph', 'sentence')),
    document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    passage INTEGER REFERENCES units (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    facts TEXT NOT NULL,
    version INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX units_by_document ON units (document);
CREATE INDEX units_by_passage ON units (passage);
CREATE INDEX units_listed ON units (granularity, id, version);
CREATE TABLE hyperedges (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    granularity TEXT NOT NULL CHECK (granularity IN ('paragraph', 'sentence')),
    prototype BLOB NOT NULL
);
CREATE TABLE members (
    hyperedge INTEGER NOT NULL REFERENCES hyperedges (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units (number) ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (hyperedge, place)
) WITHOUT ROWID;
CREATE INDEX members_by_unit ON members (unit, hyperedge);
CREATE TABLE items (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    own INTEGER NOT NULL,
    by_model INTEGER NOT NULL DEFAULT 0,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    kind TEXT NOT NULL,
    answer_type TEXT NOT NULL,
    hyperedges TEXT NOT NULL,
    anchors TEXT NOT NULL,
    version INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX items_listed ON items (id, version);
CREATE INDEX items_by_owner ON items (own, version);
CREATE TABLE support (
    item INTEGER NOT NULL REFERENCES items (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units (number) ON DELETE CASCADE,
    PRIMARY KEY (item, place)
) WITHOUT ROWID;
CREATE INDEX support_by_unit ON support (unit, item);
CREATE TABLE held_back (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    kind TEXT NOT NULL,
    answer_type TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE TABLE held_support (
    held INTEGER NOT NULL REFERENCES held_back (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units (number) ON DELETE CASCADE,
    PRIMARY KEY (held, place)
) WITHOUT ROWID;
CREATE INDEX held_support_by_unit ON held_support (unit, held);
CREATE TABLE retractions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, own INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE opaque (opaque TEXT PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL) WITHOUT ROWID;
"""
MENDED = "mended "  # kind of a row that leads from a hyperedge's id, after this word, to that of what took its place


def pack_vector(vector: Vector) -> bytes:
    """Pack a vector as little-endian float32 followed by its CRC-32."""
    body = np.ascontiguousarray(vector, dtype="<f4").tobytes()
    return body + zlib.crc32(body).to_bytes(4, "little")


def unpack_vectors(blobs: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Unpack blobs to an (n, dimension) float32 array.

    Raises
    ------
    StoreCorruptError
        If a blob has another length or its CRC-32 differs.
    """
    size = 4 * dimension
    for blob in blobs:
        if len(blob) != size + 4 or zlib.crc32(memoryview(blob)[:size]).to_bytes(4, "little") != blob[size:]:
            raise damaged("vector")
    rows = np.frombuffer(b"".join(blobs), dtype=np.uint8).reshape(len(blobs), size + 4)[:, :size]
    return np.ascontiguousarray(rows).view("<f4").astype(np.float32, copy=False).reshape(len(blobs), dimension)


def checksum(*texts: str) -> int:
    """CRC-32 over the texts of a row; it tells a damaged row from a whole one."""
    return zlib.crc32("\x1f".join(texts).encode())


def check_row(expected: int, *texts: str) -> None:
    """Compare a row's texts with its checksum.

    Raises
    ------
    StoreCorruptError
        If they differ.
    """
    if checksum(*texts) != expected:
        raise damaged("row")


def damaged(what: str) -> StoreCorruptError:
    """Make the error for a part of the store that fails its checksum."""
    return StoreCorruptError(
        f"a {what} in the store fails its checksum",
        where="store.sqlite",
        fix="check the disk, then build again with --rebuild",
    )


def pack_facts(facts: Iterable[Fact]) -> str:
    """Pack facts as JSON triples."""
    return json.dumps([(fact.text, fact.type, fact.anchor) for fact in facts], ensure_ascii=False)


def unpack_facts(packed: str) -> tuple[Fact, ...]:
    """Unpack facts; the row's checksum was compared before."""
    return tuple(Fact(*triple) for triple in json.loads(packed))


def pack_decisions(decisions: Iterable[Decision]) -> str:
    """Pack decisions as JSON lists."""
    return json.dumps([(one.step, one.said, one.score, one.threshold) for one in decisions], ensure_ascii=False)


def unpack_decisions(packed: str) -> tuple[Decision, ...]:
    """Unpack decisions; the row's checksum was compared before."""
    return tuple(Decision(*told) for told in json.loads(packed))


def pack_names(names: Iterable[str]) -> str:
    """Pack ids or anchors as a JSON list."""
    return json.dumps(list(names), ensure_ascii=False)


def unpack_names(packed: str) -> tuple[str, ...]:
    """Unpack ids or anchors; the row's checksum was compared before."""
    return tuple(json.loads(packed))
