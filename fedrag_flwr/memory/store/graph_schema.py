"""The tables of a device's knowledge graph, beside those of its memory in the same file.

What was made of several documents (`graph_vectors`, `graph_communities`) is tied to each of them in `graph_rests`: as
soon as one goes, it goes too, and the next refresh makes it anew from what is left. `graph_overview` holds the vectors
of all devices' summaries.
"""

from __future__ import annotations

GRAPH_TABLES = """
CREATE TABLE IF NOT EXISTS graph_documents (
    document INTEGER PRIMARY KEY REFERENCES documents (number) ON DELETE CASCADE,
    extractor TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS graph_statements (
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
CREATE INDEX IF NOT EXISTS graph_statements_by_document ON graph_statements (document);
CREATE TABLE IF NOT EXISTS graph_vectors (
    kind TEXT NOT NULL CHECK (kind IN ('entity', 'relation')),
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS graph_communities (
    id TEXT PRIMARY KEY,
    members TEXT NOT NULL,
    summary TEXT NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS graph_overview (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS graph_version (number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS graph_rests (
    kind TEXT NOT NULL CHECK (kind IN ('entity', 'relation', 'community')),
    id TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    PRIMARY KEY (kind, id, document)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS graph_rests_by_document ON graph_rests (document);
CREATE TRIGGER IF NOT EXISTS graph_forget AFTER DELETE ON graph_rests BEGIN
    DELETE FROM graph_vectors WHERE kind = OLD.kind AND id = OLD.id;
    DELETE FROM graph_communities WHERE OLD.kind = 'community' AND id = OLD.id;
END;
"""
