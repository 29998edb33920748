"""A database that is only ever read: read-only sessions, time limits, and errors without statements or values."""

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.folder import mode_of

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, Executable, Inspector, Table

_STEPS = 1_000  # SQLite's virtual instructions between two looks at the clock
_CONNECT_SECONDS = 5
_KINDS = ("sqlite", "mariadb", "mysql", "postgresql")
_DRIVERS = {"mariadb": "pymysql", "mysql": "pymysql", "postgresql": "psycopg"}


class Database:
    """A connection to SQLite, MariaDB, MySQL or PostgreSQL that refuses to write; raises SourceError where the URL is
    malformed or of another kind, the driver is not installed, or an SQLite file is missing or cannot be looked at. The
    password in the URL is never shown.
    """

    def __init__(self, url: str) -> None:
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            self._url = make_url(url)
        except (ArgumentError, ValueError):
            raise SourceError("this is no database URL", fix="write one such as sqlite:///records.db") from None
        self.kind = self._url.get_backend_name()
        if self.kind not in _KINDS:
            raise SourceError(f"databases of the kind {self.kind!r} are not known", fix=f"use {', '.join(_KINDS)}")
        self.place = Path(self._url.database or "").name
        self._engine = self._open()
        self._watch: sqlite3.Connection | None = None
        self._watched = ""
        if self.kind == "sqlite":
            path = Path(self._url.database or "")
            self._watch, self._watched = _open_sqlite(path), _file(path)

    def table(self, name: str) -> Table:
        """Give a table or view as the database describes it; raises SourceError where there is none, or the database
        cannot be reached.
        """
        from sqlalchemy import MetaData, Table
        from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError

        schema, _, plain = name.rpartition(".")
        try:
            return Table(plain, MetaData(), schema=schema or None, autoload_with=self._engine, resolve_fks=False)
        except NoSuchTableError:
            raise SourceError("the database has no such table", where=f"{self.place}: {name}") from None
        except SQLAlchemyError as error:
            raise self._failure(error) from None

    @contextmanager
    def described(self) -> Iterator[Inspector]:
        """Describe the database's tables; errors as `rows`, also those of what is asked within."""
        from sqlalchemy import inspect
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield inspect(self._engine)
        except SQLAlchemyError as error:
            raise self._failure(error) from None

    def rows(self, statement: Executable, seconds: float) -> list[tuple[object, ...]]:
        """Run a statement that reads, within a time limit; raises SourceError where the database cannot be reached,
        refuses, or takes longer.
        """
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.connect() as connection:
                self._limit(connection, seconds)
                return [tuple(row) for row in connection.execute(statement)]
        except (SQLAlchemyError, ValueError, TypeError, ArithmeticError) as error:  # the last three of a cell
            raise self._failure(error) from None

    def stamp(self) -> str:
        """Give what stays the same while nothing is committed, and the file is not replaced; "" where nothing tells."""
        if self._watch is None:
            return ""
        path = Path(self._url.database or "")
        try:
            if (file := _file(path)) != self._watched:
                self._watch.close()
                self._watch, self._watched = _open_sqlite(path), file
            return f"{file}:{self._watch.execute('PRAGMA data_version').fetchone()[0]}"
        except (OSError, sqlite3.Error) as error:
            raise self._failure(error) from None

    def close(self) -> None:
        """Give up the connections."""
        if self._watch is not None:
            self._watch.close()
        self._engine.dispose()

    def _open(self) -> Engine:
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        if self.kind == "sqlite":
            path = Path(self._url.database or "")
            if not stat.S_ISREG(mode_of(path)):
                raise SourceError("the database file is not there", where=path.name, fix="check the path in the URL")
            return create_engine("sqlite://", creator=lambda: _open_sqlite(path), poolclass=NullPool)
        options: dict[str, object] = {"connect_timeout": _CONNECT_SECONDS}
        if self.kind == "postgresql":
            options["options"] = "-c default_transaction_read_only=on"
        else:
            options |= {"init_command": "SET SESSION TRANSACTION READ ONLY", "local_infile": False}
        try:
            return create_engine(_with_driver(self._url), connect_args=options, pool_pre_ping=True, pool_size=2)
        except ModuleNotFoundError as error:
            raise SourceError(
                f"the driver {error.name} is not installed", fix="pip install 'fedrag-flwr[servers]'"
            ) from None

    def _limit(self, connection: Connection, seconds: float) -> None:
        from sqlalchemy import text

        if self.kind == "sqlite":
            end = time.monotonic() + seconds
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        elif self.kind == "postgresql":
            limit = {"limit": str(round(seconds * 1000))}
            connection.execute(text("SELECT set_config('statement_timeout', :limit, true)"), limit)
        elif getattr(connection.dialect, "is_mariadb", False):
            connection.execute(text("SET SESSION max_statement_time = :limit"), {"limit": seconds})
        else:
            connection.execute(text("SET SESSION max_execution_time = :limit"), {"limit": round(seconds * 1000)})

    def _failure(self, error: Exception) -> SourceError:
        """Name the kind of an error only: its text may hold the statement's values, which are words of a question."""
        cause = getattr(error, "orig", None) or error
        return SourceError(
            f"the database failed ({type(cause).__name__})",
            where=self.place,
            fix="check that it runs, that the user may read the mapped tables, and the time limits of the mapping",
        )


def _open_sqlite(path: Path) -> sqlite3.Connection:
    try:
        raw = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, check_same_thread=False)
        raw.text_factory = _decoded
        raw.execute("PRAGMA query_only = ON")
        raw.execute("PRAGMA trusted_schema = OFF")
        raw.execute("PRAGMA data_version")
    except sqlite3.Error as error:
        raise SourceError(f"the database file cannot be opened ({type(error).__name__})", where=path.name) from None
    return raw


def _decoded(text: bytes) -> str:
    """A cell's text; what is not UTF-8 is shown as such, and does not hide all other rows."""
    return text.decode("utf-8", "replace")


def _file(path: Path) -> str:
    """What changes when a file is replaced by another of its name."""
    found = path.stat()
    return f"{found.st_dev}:{found.st_ino}"


def _with_driver(url: URL) -> URL:
    backend = url.get_backend_name()
    return url if "+" in url.drivername else url.set(drivername=f"{backend}+{_DRIVERS[backend]}")
