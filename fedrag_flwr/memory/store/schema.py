"""The store's tables, their version, and how vectors and facts are packed into them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.records import Fact, Vector

APPLICATION_ID = 0x46645247  # marks the SQLite file as ours
SCHEMA_VERSION = 5

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
CREATE INDEX items_by_origin ON items (origin);
CREATE TABLE support (
    item INTEGER NOT NULL REFERENCES items (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units (number) ON DELETE CASCADE,
    PRIMARY KEY (item, place)
) WITHOUT ROWID;
CREATE INDEX support_by_unit ON support (unit, item);
CREATE TABLE asked (
    unit INTEGER PRIMARY KEY REFERENCES units (number) ON DELETE CASCADE,
    tokens INTEGER NOT NULL
);
CREATE TABLE rejected (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    kind TEXT NOT NULL,
    answer_type TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE TABLE rejected_support (
    rejected INTEGER NOT NULL REFERENCES rejected (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units (number) ON DELETE CASCADE,
    PRIMARY KEY (rejected, place)
) WITHOUT ROWID;
CREATE INDEX rejected_support_by_unit ON rejected_support (unit, rejected);
CREATE TABLE retractions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, own INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX retractions_by_version ON retractions (own, version);
CREATE TABLE opaque (opaque TEXT PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE given (version INTEGER PRIMARY KEY);
CREATE TABLE staged (
    sender TEXT PRIMARY KEY,
    generation TEXT NOT NULL,
    since INTEGER NOT NULL,
    version INTEGER NOT NULL,
    at_retracted INTEGER NOT NULL,
    at_version INTEGER NOT NULL,
    at_row INTEGER NOT NULL
);
CREATE TABLE staged_pages (
    number INTEGER PRIMARY KEY,
    sender TEXT NOT NULL,
    texts TEXT NOT NULL,
    retracted TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    vectors BLOB NOT NULL
);
CREATE TABLE graph_documents (
    document INTEGER PRIMARY KEY REFERENCES documents (number) ON DELETE CASCADE,
    extractor TEXT NOT NULL
);
CREATE TABLE graph_statements (
    number INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    passage TEXT NOT NULL,
    sentence TEXT NOT NULL,
    head TEXT NOT NULL,
    head_key TEXT NOT NULL,
    head_type TEXT NOT NULL,
    relation TEXT NOT NULL,
    tail TEXT NOT NULL,
    tail_key TEXT NOT NULL,
    tail_type TEXT NOT NULL,
    weight REAL NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE INDEX graph_statements_by_document ON graph_statements (document);
CREATE TABLE graph_vectors (
    kind TEXT NOT NULL CHECK (kind IN ('entity', 'relation')),
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE TABLE graph_communities (
    id TEXT PRIMARY KEY,
    members TEXT NOT NULL,
    summary TEXT NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE graph_overview (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) WITHOUT ROWID;
CREATE TABLE graph_version (number INTEGER NOT NULL);
CREATE TABLE graph_rests (
    kind TEXT NOT NULL CHECK (kind IN ('entity', 'relation', 'community')),
    id TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    PRIMARY KEY (kind, id, document)
) WITHOUT ROWID;
CREATE INDEX graph_rests_by_document ON graph_rests (document);
CREATE TRIGGER graph_forget AFTER DELETE ON graph_rests BEGIN
    DELETE FROM graph_vectors WHERE kind = OLD.kind AND id = OLD.id;
    DELETE FROM graph_communities WHERE OLD.kind = 'community' AND id = OLD.id;
END;
"""
MENDED = "mended "  # kind of a row that leads from a hyperedge's id, after this word, to that of what took its place


def pack_vector(vector: Vector) -> bytes:
    """Pack a vector as little-endian float32 followed by its CRC-32."""
    body = np.ascontiguousarray(vector, dtype="<f4").tobytes()
    return body + zlib.crc32(body).to_bytes(4, "little")


def unpack_vectors(blobs: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Unpack blobs to an (n, dimension) float32 array; raises StoreCorruptError where length or CRC-32 differs."""
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
    """Compare a row's texts with its checksum; raises StoreCorruptError where they differ."""
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


def pack_names(names: Iterable[str]) -> str:
    """Pack ids or anchors as a JSON list."""
    return json.dumps(list(names), ensure_ascii=False)


def unpack_names(packed: str) -> tuple[str, ...]:
    """Unpack ids or anchors; the row's checksum was compared before."""
    return tuple(json.loads(packed))
