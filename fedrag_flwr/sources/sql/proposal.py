"""Proposing a mapping from what a database says of its tables; no row is read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.sql.database import Database
from fedrag_flwr.sources.sql.mapping import JoinMapping, RecordMapping, SqlMapping

if TYPE_CHECKING:
    from sqlalchemy import Inspector
    from sqlalchemy.engine.interfaces import ReflectedColumn


_TITLES = ("name", "title", "label", "subject", "description")
_PARTS = (("first", "last"), ("first_name", "last_name"), ("firstname", "lastname"), ("given", "family"))
_HIDDEN = ("fts", "sqlite_")  # tables that hold an index, not records
_VIRTUAL = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
_SECONDS = 5.0


def propose_mapping(url: str, name: str = "sql") -> SqlMapping:
    """Propose a mapping: each table with a key makes records, and each column a sentence; raises SourceError where the
    database cannot be reached or described, or no table has a key and a column to show.

    Foreign keys become joins, declared ones and those that are plain from a column called like a table. A title comes
    from columns that look like names, of the table itself or of what it refers to.
    """
    with closing(Database(url)) as database, database.described() as inspector:
        tables = _tables(database, inspector)
        records = [record for table in tables if (record := _record(inspector, table, tables))]
    if not records:
        raise SourceError(
            "no table has a primary key and further columns", where=database.place, fix="write a mapping by hand"
        )
    return SqlMapping(name=name, url=url, record=tuple(records))


def _tables(database: Database, inspector: Inspector) -> list[str]:
    """The tables that may hold records: neither an index nor, in SQLite, what a virtual table is stored in."""
    from sqlalchemy import text

    virtual: list[str] = []
    if database.kind == "sqlite":
        virtual = [str(name).lower() for (name,) in database.rows(text(_VIRTUAL), _SECONDS)]
    hidden = (*_HIDDEN, *(f"{name}_" for name in virtual))
    names = inspector.get_table_names()
    return [name for name in names if name.lower() not in virtual and not name.lower().startswith(hidden)]


def _record(inspector: Inspector, table: str, tables: Sequence[str]) -> RecordMapping | None:
    columns = _shown_columns(inspector, table)
    key = _key(inspector, table)
    joins = _joins(inspector, table, tables)
    referring = {own for join in joins.values() for own in join.on}
    hidden = {*key, *referring} - _texts(inspector, table)  # a number that stands for a row says nothing, a code does
    shown = {name: f"{{{name}}}" for name in columns if name not in hidden}
    if not key or not shown:
        return None
    for alias, join in joins.items():
        if named := _title(_shown_columns(inspector, join.table)):
            shown[alias] = named.replace("{", f"{{{alias}.")
    title = _title(columns) or next((shown[alias] for alias in joins if alias in shown), "")
    told = {name: template for name, template in shown.items() if template not in title} or shown
    text = tuple(_sentence(title, name, template) for name, template in told.items())
    return RecordMapping(table=table, key=key, title=title, text=text, join=joins)


def _shown_columns(inspector: Inspector, table: str) -> list[str]:
    return [column["name"] for column in inspector.get_columns(table) if _shows(column)]


def _texts(inspector: Inspector, table: str) -> set[str]:
    """The columns that hold text."""
    from sqlalchemy import String

    return {column["name"] for column in inspector.get_columns(table) if isinstance(column["type"], String)}


def _key(inspector: Inspector, table: str) -> tuple[str, ...]:
    primary = tuple(inspector.get_pk_constraint(table)["constrained_columns"])
    unique = (tuple(one["column_names"]) for one in inspector.get_unique_constraints(table))
    return primary or next(unique, ())


def _joins(inspector: Inspector, table: str, tables: Sequence[str]) -> dict[str, JoinMapping]:
    found: dict[str, JoinMapping] = {}
    for foreign in inspector.get_foreign_keys(table):
        on = dict(zip(foreign["constrained_columns"], foreign["referred_columns"], strict=False))
        if on and foreign["referred_table"] in tables:
            found["_".join(on).lower()] = JoinMapping(table=foreign["referred_table"], on=on)
    declared = {own for join in found.values() for own in join.on}
    for column in inspector.get_columns(table):
        own = column["name"]
        other = _called_like(own, tables)
        if own in declared or other is None or other == table:
            continue
        if len(key := _key(inspector, other)) == 1 and (own in _texts(inspector, table)) == (
            key[0] in _texts(inspector, other)
        ):
            found[own.lower()] = JoinMapping(table=other, on={own: key[0]})
    return found


def _called_like(column: str, tables: Sequence[str]) -> str | None:
    """Give the table that a column such as ``patient`` or ``patient_id`` is called after."""
    stem = column.lower().removesuffix("_id")
    return next((table for table in tables if table.lower() in (stem, f"{stem}s", f"{stem}es")), None)


def _title(columns: Sequence[str]) -> str:
    by_name = {column.lower(): column for column in columns}
    for parts in _PARTS:
        if all(part in by_name for part in parts):
            return " ".join(f"{{{by_name[part]}}}" for part in parts)
    return next((f"{{{by_name[name]}}}" for name in _TITLES if name in by_name), "")


def _shows(column: ReflectedColumn) -> bool:
    """Whether a column can be shown as text, and templates can name it."""
    from sqlalchemy import LargeBinary

    return not isinstance(column["type"], LargeBinary) and not set("{}.") & set(column["name"])


def _sentence(title: str, name: str, template: str) -> str:
    """Say what a column holds, of what the record is called."""
    whole = f" of {title}" if title else ""
    return f"The {name.replace('_', ' ').lower()}{whole} is {template}."
