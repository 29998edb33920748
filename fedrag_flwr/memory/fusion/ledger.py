"""What fusion knows of each memory that devices shared, so that a change reads few of the memories themselves.

Everything here follows from the memories themselves: a ledger that is lost or torn is made anew.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.files import making_in
from fedrag_flwr.memory.store.queries import LISTED, listed
from fedrag_flwr.sqlite_errors import own_errors

FILE = "fusion.sqlite"
_SCHEMA = 2
_BUSY_SECONDS = 30.0  # as the stores beside it
_TABLES = """
DROP TABLE IF EXISTS meta;
DROP TABLE IF EXISTS parts;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE parts (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    key TEXT NOT NULL,
    crowd INTEGER,
    stays INTEGER NOT NULL DEFAULT 1,
    circle INTEGER,
    shown TEXT,
    sketch BLOB NOT NULL
);
CREATE INDEX parts_by_origin ON parts (origin);
CREATE INDEX parts_by_key ON parts (key);
CREATE INDEX parts_by_crowd ON parts (crowd) WHERE crowd IS NOT NULL;
CREATE INDEX parts_by_circle ON parts (circle) WHERE circle IS NOT NULL;
CREATE INDEX parts_merged ON parts (shown) WHERE shown != id;
CREATE INDEX parts_over_quota ON parts (stays) WHERE stays = 0;
"""
_COLUMNS = "number, id, origin, key, coalesce(crowd, 0), stays, coalesce(circle, 0), shown"
Group = Literal["origin", "key"]
Label = Literal["crowd", "circle"]


@dataclass(frozen=True, slots=True)
class Part:
    """One memory: its row in the store, whether it stays within its device's quota, and what it became.

    `key` is that of its statement. `crowd` names those of its device that ask the same, `circle` those of all devices
    that say the same, 0 where there are no others; `shown` is the id of the memory that devices get for it, None for
    none.
    """

    number: int
    id: str
    origin: str
    key: str
    crowd: int
    stays: bool
    circle: int
    shown: str | None


class Ledger:
    """The parts of a bank, in a file beside its stores."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = self._open()
        self._removed = False

    def _open(self) -> sqlite3.Connection:
        with own_errors(self._path.parent, FILE), making_in(self._path.parent):
            if self._path.exists() and not self._whole():
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)
            return self._connect()

    def _whole(self) -> bool:
        """Tell whether every page can be read, which takes 0.2 s for 200,000 parts."""
        with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection:
            try:
                return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    raise
                return False
            except UnicodeDecodeError:  # SQLite names what is torn, and Python cannot read that name
                return False

    def _connect(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cache_size = -64000")
            if connection.execute("PRAGMA user_version").fetchone()[0] != _SCHEMA:
                connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_SCHEMA}; COMMIT;")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Commit what happens within, or undo it where it fails; what it took out is then not in the log either."""
        with own_errors(self._path.parent, FILE):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # not where SQLite has undone it by itself, as on a full disk
                    self._connection.execute("ROLLBACK")
                raise
            if self._removed:
                self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
                self._removed = False

    def clear(self) -> None:
        """Forget everything."""
        self._removed = True
        self._rows("DELETE FROM parts")
        self._rows("DELETE FROM meta")

    def meta(self, key: str) -> str:
        """A value that was kept, "" for none."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    def set_meta(self, key: str, value: str) -> None:
        """Keep a value."""
        self._rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # --- parts ---

    def take_out(self, ids: Iterable[str], numbers: Iterable[int] = ()) -> list[Part]:
        """Remove parts by id or row and give them."""
        found = self._parts(f"id {LISTED} OR number {LISTED}", ids, numbers)
        self._removed |= bool(found)
        self._rows(f"DELETE FROM parts WHERE number {LISTED}", (listed(part.number for part in found),))
        return found

    def put_in(self, parts: Sequence[Part], sketches: NDArray[np.float16]) -> None:
        """Add parts with their (n, k) sketches; all is still to be found out about them."""
        self._for_each(
            "INSERT INTO parts (number, id, origin, key, sketch) VALUES (?, ?, ?, ?, ?)",
            [(p.number, p.id, p.origin, p.key, row.tobytes()) for p, row in zip(parts, sketches, strict=True)],
        )

    def group(self, by: Group, value: str) -> tuple[list[Part], NDArray[np.float32]]:
        """All parts of one origin or key, sorted by id, with their (n, k) sketches; of a key those that stay."""
        where = "key = ? AND stays = 1" if by == "key" else "origin = ?"
        query = f"SELECT {_COLUMNS}, sketch FROM parts WHERE {where} ORDER BY id"
        rows = self._rows(query, (value,))
        matrix = np.frombuffer(b"".join(row[-1] for row in rows), dtype=np.float16)
        return [_part(row[:-1]) for row in rows], matrix.reshape(len(rows), -1).astype(np.float32)

    def labelled(self, label: Label, values: Iterable[int]) -> list[Part]:
        """The parts that share a crowd or a circle."""
        return self._parts(f"{label} {LISTED}", (value for value in values if value))

    def regroup(self, label: Label, parts: Sequence[Part], value: int) -> None:
        """Give parts one crowd or circle, 0 for none."""
        others = [part.number for part in parts if (part.crowd if label == "crowd" else part.circle) != value]
        self._for_each(f"UPDATE parts SET {label} = ? WHERE number = ?", [(value or None, number) for number in others])

    def set_stays(self, part: Part, stays: bool) -> None:
        """Say whether a part is within the quota; in either case it has no circle and is not shown yet."""
        self._rows(
            "UPDATE parts SET stays = ?, circle = NULL, shown = NULL WHERE number = ?", (int(stays), part.number)
        )

    def show(self, shown: Iterable[tuple[Part, str]]) -> None:
        """Say which memories devices get for parts."""
        self._for_each(
            "UPDATE parts SET shown = ? WHERE number = ?",
            [(name, part.number) for part, name in shown if part.shown != name],
        )

    def shown(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids under which devices get a memory now."""
        rows = self._rows(
            f"SELECT id FROM parts WHERE id {LISTED} AND shown = id UNION"
            f" SELECT shown FROM parts WHERE shown != id AND shown {LISTED}",
            (listed(ids), listed(ids)),
        )
        return {row[0] for row in rows}

    def all_shown(self) -> set[str]:
        """The ids of all memories that devices get."""
        return {row[0] for row in self._rows("SELECT DISTINCT shown FROM parts WHERE shown IS NOT NULL")}

    def counts(self) -> tuple[int, int, int]:
        """How many memories devices get, how many of these are merged, and how many parts are over the quota."""
        [row] = self._rows(
            "SELECT (SELECT count(*) FROM parts), (SELECT count(*) FROM parts WHERE stays = 0),"
            " (SELECT count(*) FROM parts WHERE shown != id),"
            " (SELECT count(DISTINCT shown) FROM parts WHERE shown != id)"
        )
        every, over, within, merged = map(int, row)
        return every - over - within + merged, merged, over

    def _parts(self, where: str, *values: Iterable[object]) -> list[Part]:
        rows = self._rows(f"SELECT {_COLUMNS} FROM parts WHERE {where}", [listed(group) for group in values])
        return [_part(row) for row in rows]

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; its errors name this file, also where it runs while a store is written."""
        with own_errors(self._path.parent, FILE):
            return self._connection.execute(statement, values).fetchall()

    def _for_each(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values, as `_rows` does for one."""
        with own_errors(self._path.parent, FILE):
            self._connection.executemany(statement, rows)


def _part(row: Sequence[object]) -> Part:
    number, name, origin, key, crowd, stays, circle, shown = row
    return Part(
        int(str(number)),
        str(name),
        str(origin),
        str(key),
        int(str(crowd)),
        bool(stays),
        int(str(circle)),
        None if shown is None else str(shown),
    )
