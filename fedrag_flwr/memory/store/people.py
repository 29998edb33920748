"""What people's questions left in a store: unlike a memory it cannot be made again, so a rebuild takes it along."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from fedrag_flwr.memory.store import delivered, outbox
from fedrag_flwr.memory.store.database import FILE, Database

_LOG = logging.getLogger(__name__)
_TABLES = {"outbox": outbox.TABLE, "delivered_answers": delivered.TABLE}
Rows = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Luggage:
    """The rows of waiting questions, sealed as they are, and of delivered answers."""

    rows: Mapping[str, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path) -> Luggage:
        """Those of the store in a directory, of whatever models it is; what cannot be read is told in the log."""
        path = root / FILE
        if not path.is_file():
            return cls()
        found: dict[str, Rows] = {}
        try:
            with closing(sqlite3.connect(path)) as connection:
                connection.row_factory = sqlite3.Row
                there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                for table in _TABLES.keys() & there:
                    found[table] = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
        except sqlite3.DatabaseError as error:
            _LOG.warning("waiting questions and delivered answers cannot be read (%s)", type(error).__name__)
        return cls(found)

    def unpack(self, database: Database) -> None:
        """Put them into a new store."""
        with database.writing() as connection:
            for table, rows in self.rows.items():
                connection.execute(_TABLES[table])
                for row in rows:
                    names = ", ".join(row)
                    marks = ", ".join("?" * len(row))
                    connection.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", list(row.values()))
