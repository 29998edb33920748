"""Pages of deltas that are not whole yet: kept beside the memory, where nothing sees them, until the last one comes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.store.schema import check_row, checksum, pack_names, unpack_names
from fedrag_flwr.records import NOTHING_PENDING, START, Cursor, Delta, MemoryItem, Pending

# Stores that were made before deltas came in pages lack these tables; the first page makes them.
_TABLES = (
    "CREATE TABLE IF NOT EXISTS staged (sender TEXT PRIMARY KEY, generation TEXT NOT NULL, since INTEGER NOT NULL,"
    " version INTEGER NOT NULL, at_retracted INTEGER NOT NULL, at_version INTEGER NOT NULL, at_row INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS staged_pages (number INTEGER PRIMARY KEY, sender TEXT NOT NULL, texts TEXT NOT NULL,"
    " retracted TEXT NOT NULL, checksum INTEGER NOT NULL, vectors BLOB NOT NULL)",
)


def pending(connection: sqlite3.Connection, sender: str, most_pages: int) -> Pending:
    """What has come of a sender's delta; nothing where it came to more pages than allowed and has to begin again."""
    if not _is_made(connection) or _count(connection, sender) >= most_pages:
        return NOTHING_PENDING
    row = connection.execute(
        "SELECT generation, since, version, at_retracted, at_version, at_row FROM staged WHERE sender = ?", (sender,)
    ).fetchone()
    if row is None:
        return NOTHING_PENDING
    generation, since, version, *place = row
    return Pending(generation, since, version, Cursor(*place))


def collect(connection: sqlite3.Connection, page: Delta, sender: str, most_pages: int) -> Iterable[Delta] | None:
    """Put a page to those that came before; give all of them once it is the last, each as a delta of its own.

    What is given can be gone through more than once. Before a first page the sender's others are to be dropped.

    Raises
    ------
    WireError
        If the page does not go on where the last one ended, or there are too many; what came before stays.
    """
    if page.after == page.next == START:
        return (page,)
    for table in _TABLES:
        connection.execute(table)
    before = pending(connection, sender, most_pages)
    if page.after != START and before.after == START:
        raise _refused("a page came whose first ones are not here")
    if page.after != before.place(page.generation, page.since, page.version):
        raise _refused("a page does not go on where the last one ended")
    if page.next != START and page.next <= page.after:
        raise _refused("a page leads back")
    if page.next != START and _count(connection, sender) + 1 >= most_pages:
        raise _refused(f"more than {most_pages} pages came")
    _keep(connection, page, sender)
    return None if page.next != START else _Staged(connection, page, sender)


def drop(connection: sqlite3.Connection, sender: str) -> int:
    """Forget a sender's pages, and give how many there were."""
    if not _is_made(connection):
        return 0
    connection.execute("DELETE FROM staged WHERE sender = ?", (sender,))
    return connection.execute("DELETE FROM staged_pages WHERE sender = ?", (sender,)).rowcount


def drop_all(connection: sqlite3.Connection) -> int:
    """Forget the pages of all senders, and give how many there were."""
    if not _is_made(connection):
        return 0
    connection.execute("DELETE FROM staged")
    return connection.execute("DELETE FROM staged_pages").rowcount


class _Staged:
    """The pages of a whole delta, read one at a time."""

    def __init__(self, connection: sqlite3.Connection, last: Delta, sender: str) -> None:
        self._connection = connection
        self._last = last
        self._sender = sender

    def __iter__(self) -> Iterator[Delta]:
        numbers = self._connection.execute("SELECT number FROM staged_pages WHERE sender = ?", (self._sender,))
        for (number,) in sorted(numbers.fetchall()):
            texts, retracted, check, vectors = self._connection.execute(
                "SELECT texts, retracted, checksum, vectors FROM staged_pages WHERE number = ?", (number,)
            ).fetchone()
            check_row(check, texts, retracted)
            yield replace(self._last, items=_unpack(texts, vectors), retracted=unpack_names(retracted))


def _keep(connection: sqlite3.Connection, page: Delta, sender: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO staged VALUES (?, ?, ?, ?, ?, ?, ?)",
        (sender, page.generation, page.since, page.version, page.next.retracted, page.next.version, page.next.row),
    )
    rows = [
        (i.id, i.question, i.answer, i.kind, i.answer_type, i.hyperedges, i.anchors, i.origin, len(i.embedding))
        for i in page.items
    ]
    texts, retracted = json.dumps(rows, ensure_ascii=False), pack_names(page.retracted)
    vectors = b"".join(np.ascontiguousarray(item.embedding, dtype="<f4").tobytes() for item in page.items)
    connection.execute(
        "INSERT INTO staged_pages (sender, texts, retracted, checksum, vectors) VALUES (?, ?, ?, ?, ?)",
        (sender, texts, retracted, checksum(texts, retracted), vectors),
    )


def _unpack(texts: str, vectors: bytes) -> tuple[MemoryItem, ...]:
    rows = json.loads(texts)
    numbers = np.frombuffer(vectors, dtype="<f4").astype(np.float32, copy=False)
    ends = np.cumsum([row[-1] for row in rows], dtype=np.int64)
    items = []
    for row, end in zip(rows, ends.tolist(), strict=True):
        name, question, answer, kind, answer_type, edges, anchors, origin, length = row
        vector = numbers[end - length : end]
        items.append(
            MemoryItem(name, question, answer, kind, answer_type, tuple(edges), tuple(anchors), vector, origin)
        )
    return tuple(items)


def _is_made(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'staged'").fetchone() is not None


def _count(connection: sqlite3.Connection, sender: str) -> int:
    return int(connection.execute("SELECT count(*) FROM staged_pages WHERE sender = ?", (sender,)).fetchone()[0])


def _refused(what: str) -> WireError:
    return WireError(what, where="Delta", fix="share from the beginning")
