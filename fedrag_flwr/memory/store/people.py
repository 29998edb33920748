"""What people's questions left in a store: unlike a memory it cannot be made again, so a rebuild takes it along."""

from __future__ import annotations

import base64
import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.files import replace_file
from fedrag_flwr.memory.store import delivered, outbox
from fedrag_flwr.memory.store.database import FILE, Database
from fedrag_flwr.sqlite_errors import TORN

_LOG = logging.getLogger(__name__)
LUGGAGE = "luggage.json"  # beside a store that is made anew
_TABLES = {"outbox": outbox.TABLE, "delivered_answers": delivered.TABLE}
Rows = dict[str, list[dict[str, object]]]


def pack(root: Path) -> None:
    """Put waiting questions, sealed as they are, and delivered answers into a file beside the store that holds them.

    The store may be of whatever models; what cannot be read is told in the log. A file that lies there already, as a
    rebuild was cut, keeps what it holds.
    """
    held, left = _held(root), _left(root)
    rows = {table: left.get(table, []) + held.get(table, []) for table in _TABLES}
    if any(rows.values()):
        replace_file(root / LUGGAGE, json.dumps(rows, default=_told).encode())


def unpack(root: Path, database: Database) -> None:
    """Put what was packed, if anything, into a new store, and remove the file.

    Raises
    ------
    StoreCorruptError
        The file is damaged.
    """
    if not (rows := _left(root)):
        return
    with database.writing() as connection:
        for table, packed in rows.items():
            connection.execute(_TABLES[table])
            for row in packed:
                names = ", ".join(row)
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", list(row.values()))
    (root / LUGGAGE).unlink()


def _held(root: Path) -> Rows:
    """The rows of a store, in their order but without their numbers, which a new one gives."""
    path = root / FILE
    if not path.is_file():
        return {}
    found: Rows = {}
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in _TABLES.keys() & there:
                rows = connection.execute(f"SELECT * FROM {table} ORDER BY number")
                found[table] = [{key: row[key] for key in dict(row) if key != "number"} for row in rows]
    except TORN as error:
        _LOG.warning("waiting questions and delivered answers cannot be read (%s)", type(error).__name__)
    return found


def _left(root: Path) -> Rows:
    try:
        rows: Rows = json.loads((root / LUGGAGE).read_bytes(), object_hook=_meant)
    except FileNotFoundError:
        return {}
    except ValueError:
        raise StoreCorruptError(
            "the file of waiting questions and delivered answers is damaged", where=LUGGAGE, fix="move it away"
        ) from None
    return rows


def _told(sealed: object) -> dict[str, str]:
    assert isinstance(sealed, bytes)
    return {"base64": base64.b64encode(sealed).decode()}


def _meant(told: dict[str, object]) -> object:
    return base64.b64decode(str(told["base64"])) if told.keys() == {"base64"} else told
