"""What people's questions left in a store: unlike a memory it cannot be made again, so a rebuild takes it along."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.files import replace_file
from fedrag_flwr.memory.store.database import FILE, Database
from fedrag_flwr.sqlite_errors import own_errors

_LOG = logging.getLogger(__name__)
CARRIED = "carried-over.json"  # beside a store that is made anew
_TABLES = ("delivered_answers", "outbox")
_TAKEN = "carried-over"  # meta key: the digest of the file that was taken in last
_STORE = "SELECT value FROM state WHERE key = 'store'"
Rows = dict[str, list[dict[str, object]]]


@dataclass(frozen=True, slots=True)
class _Carried:
    """A file's content: the rows of each store that it was packed from, by its id, and its digest; "" without one."""

    stores: dict[str, Rows] = field(default_factory=dict)
    digest: str = ""


def pack(root: Path) -> None:
    """Put waiting questions, sealed as they are, and delivered answers into a file beside the store that holds them.

    The store may be of whatever models; what is torn is told in the log. A file that lies there already, as a rebuild
    was cut, keeps what it holds of other stores.

    Raises
    ------
    StoreError
        The store may be whole, but cannot be read or written: the disk is full, another process holds it, or it is
        not this user's.
    """
    store, held = _held(root)
    stores = _left(root).stores | {store: held}
    if any(rows for tables in stores.values() for rows in tables.values()):
        replace_file(root / CARRIED, json.dumps({"stores": stores}, default=_told).encode())


def unpack(root: Path, database: Database) -> None:
    """Put what was packed, if anything, into a new store, and remove the file.

    A store that was packed from and is still there, as the rebuild was cut, has its own rows, or what people left of
    them since; one that took the file in before has all of them.

    Raises
    ------
    StoreCorruptError
        The file is damaged.
    """
    left = _left(root)
    if not left.digest:
        return
    with database.writing() as connection:
        [store] = connection.execute(_STORE).fetchone()
        taken = connection.execute("SELECT 1 FROM meta WHERE key = ? AND value = ?", (_TAKEN, left.digest)).fetchone()
        others = [rows for name, rows in left.stores.items() if name != store and taken is None]
        for table, packed in (pair for rows in others for pair in rows.items()):
            for row in packed:
                names = ", ".join(row)
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", list(row.values()))
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_TAKEN, left.digest))
    (root / CARRIED).unlink()


def _held(root: Path) -> tuple[str, Rows]:
    """A store's id, and its rows in their order but without their numbers, which a new one gives."""
    path = root / FILE
    if not path.is_file():
        return "", {}
    store, found = "", Rows()
    with own_errors(root, FILE), closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        with _torn_is_told(root):
            there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "state" in there:
                [store] = connection.execute(_STORE).fetchone() or [""]
            for table in sorted(there.intersection(_TABLES)):
                with _torn_is_told(root):  # the other one may be whole
                    if "number" not in {row["name"] for row in connection.execute(f"PRAGMA table_info({table})")}:
                        continue  # somebody else's
                    rows = connection.execute(f"SELECT * FROM {table} ORDER BY number")
                    found[table] = [{key: row[key] for key in dict(row) if key != "number"} for row in rows]
    return store, found


@contextmanager
def _torn_is_told(root: Path) -> Iterator[None]:
    try:
        with own_errors(root, FILE):
            yield
    except StoreCorruptError as error:
        _LOG.warning("waiting questions or delivered answers cannot be read: %s", error.what)


def _left(root: Path) -> _Carried:
    try:
        body = (root / CARRIED).read_bytes()
        told = json.loads(body, object_hook=_meant)
        return _Carried(dict(told["stores"]), hashlib.sha256(body).hexdigest())
    except FileNotFoundError:
        return _Carried()
    except (ValueError, KeyError, TypeError):
        raise StoreCorruptError(
            "the file of waiting questions and delivered answers is damaged", where=CARRIED, fix="move it away"
        ) from None


def _told(sealed: object) -> dict[str, str]:
    assert isinstance(sealed, bytes)
    return {"base64": base64.b64encode(sealed).decode()}


def _meant(told: dict[str, object]) -> object:
    return base64.b64decode(str(told["base64"])) if told.keys() == {"base64"} else told
