"""The words of a database's records in an FTS5 index that the device keeps: nothing is written to the database."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from typing import Literal

from fedrag_flwr.sources.sql.records import SqlRecord

Mode = Literal["boolean", "natural"]
Scored = dict[str, tuple[SqlRecord, float]]

_MOST_WORDS = 24
_WORD = re.compile(r"[^\W_]+")
_DOT = "\u0307"  # what the capital "İ" leaves above its "i"
_MAKE = """CREATE VIRTUAL TABLE records USING fts5(
    title, text, document UNINDEXED, provenance UNINDEXED, tokenize = "porter unicode61 remove_diacritics 2")"""
_FIND = """SELECT document, title, text, provenance, -bm25(records) AS score
    FROM records WHERE records MATCH ? ORDER BY score DESC, document LIMIT ?"""


def words_of(text: str) -> tuple[str, ...]:
    """Give the words that the index is asked for: no signs, hence no operators of its query language."""
    return tuple(dict.fromkeys(_WORD.findall(text.lower().replace(_DOT, ""))))[:_MOST_WORDS]


class SideIndex:
    """Records in SQLite's FTS5, in memory: nothing of the database is written anywhere."""

    def __init__(self, records: Iterable[SqlRecord]) -> None:
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(_MAKE)
        rows = ((one.title, one.text, one.document_id, one.provenance) for one in records)
        self._index.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)

    def find(self, words: Sequence[str], mode: Mode, limit: int) -> Scored:
        """Give at most `limit` records by document id, with scores above 0.

        Parameters
        ----------
        words
            Letters and digits only; quoted, FTS5 takes them for words whatever they are.
        mode
            ``boolean``: records with all words; ``natural``: with any, rarer ones counting more.
        limit
            Of all kinds of records.
        """
        if not words:
            return {}
        asked = (" AND " if mode == "boolean" else " OR ").join(f'"{word}"' for word in words)
        with self._lock:
            rows = self._index.execute(_FIND, (asked, limit)).fetchall()
        return {row[0]: (SqlRecord(*row[:4]), max(float(row[4]), 1e-9)) for row in rows}
