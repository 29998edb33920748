"""An FTS5 index that a device keeps of a database which offers no full text, or may not be written to."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence

from fedrag_flwr.sources.sql.fulltext import Mode, Scored
from fedrag_flwr.sources.sql.records import SqlRecord

_MAKE = """CREATE VIRTUAL TABLE records USING fts5(
    title, text, document UNINDEXED, provenance UNINDEXED, tokenize = "porter unicode61 remove_diacritics 2")"""
_FIND = """SELECT document, title, text, provenance, -bm25(records) AS score
    FROM records WHERE records MATCH ? ORDER BY score DESC, document LIMIT ?"""


class SideIndex:
    """Records in SQLite's FTS5, in memory: nothing of the database is written anywhere, and it ends with the process.

    Parameters
    ----------
    records
        All of them.
    """

    def __init__(self, records: Iterable[SqlRecord]) -> None:
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(_MAKE)
        rows = ((one.title, one.text, one.document_id, one.provenance) for one in records)
        self._index.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)

    def find(self, words: Sequence[str], mode: Mode, limit: int) -> Scored:
        """Find records by quoted words, which FTS5 takes for words whatever they are."""
        if not words:
            return {}
        asked = (" AND " if mode == "boolean" else " OR ").join(f'"{word}"' for word in words)
        with self._lock:
            rows = self._index.execute(_FIND, (asked, limit)).fetchall()
        return {row[0]: (SqlRecord(*row[:4]), max(float(row[4]), 1e-9)) for row in rows}
