"""Records out of rows: one SELECT for each kind of record, and the sentences that its rows become."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.mapping import filled
from fedrag_flwr.sources.sql.database import Database
from fedrag_flwr.sources.sql.mapping import RecordMapping
from fedrag_flwr.text.words import normalise_line, normalise_text

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, FromClause, Select

_BYTES = (bytes, bytearray, memoryview)


@dataclass(frozen=True, slots=True)
class SqlRecord:
    """A record as text in normal form; `provenance` names table and key."""

    document_id: str
    title: str
    text: str
    provenance: str


class RecordReader:
    """Makes the statement for one kind of record, and records of its rows; raises SourceError where the mapping names a
    table or a column that is not there.
    """

    def __init__(self, database: Database, mapping: RecordMapping, source: str) -> None:
        self.mapping = mapping
        self._source = source
        self._main = database.table(mapping.table).alias()
        self._joined = {name: database.table(join.table).alias() for name, join in mapping.join.items()}
        self._key = [self._column(self._main, name) for name in mapping.key]
        self._fields = {name: self._field(name) for name in mapping.fields}

    def select(self) -> Select[*tuple[object, ...]]:
        """Select the columns of all records: key first, then fields, in the order of the key."""
        from sqlalchemy import and_, select

        tables: FromClause = self._main
        for name, other in self._joined.items():
            on = self.mapping.join[name].on.items()
            same = [self._column(self._main, own) == self._column(other, theirs) for own, theirs in on]
            tables = tables.outerjoin(other, and_(*same))
        keys = [as_stored(column).label(f"key{place}") for place, column in enumerate(self._key)]
        fields = [as_stored(column).label(f"field{place}") for place, column in enumerate(self._fields.values())]
        columns: list[ColumnElement[object]] = [*keys, *fields]
        return select(*columns).select_from(tables).order_by(*self._key)

    def record(self, row: Sequence[object]) -> SqlRecord:
        """Make a record of a row of `select`."""
        keys = [_key(value) for value in row[: len(self._key)]]
        values = dict(zip(self._fields, map(_shown, row[len(self._key) :]), strict=False))
        value = partial(_value, values)
        title = filled(self.mapping.title, value)
        nameless = self.mapping.title and not title  # it is told without a name, rather than not at all
        whose = f" of {self.mapping.title}" if nameless else ""
        sentences = (filled(template.replace(whose, ""), value) for template in self.mapping.text)
        named = ", ".join(f"{name}={key}" for name, key in zip(self.mapping.key, keys, strict=True))
        return SqlRecord(
            "/".join((self._source, self.mapping.table, *(quote(key, safe="") for key in keys))),
            normalise_line(title),
            normalise_text(" ".join(sentence for sentence in sentences if sentence)),
            f"{self.mapping.table}[{named}]",
        )

    def _field(self, name: str) -> ColumnElement[object]:
        alias, dot, column = name.partition(".")
        if dot and alias not in self._joined:
            raise SourceError("the mapping names no such join", where=name, fix="add it under join")
        return self._column(self._joined[alias] if dot else self._main, column if dot else alias)

    def _column(self, table: FromClause, name: str) -> ColumnElement[object]:
        if name not in table.c:
            raise SourceError(
                "the table has no such column", where=f"{self.mapping.table}: {name}", fix="mind the case"
            )
        return table.c[name]


def as_stored(column: ColumnElement[Any]) -> ColumnElement[object]:
    """A column whose cells are read by its type where they are of it, and come as they are stored where not.

    SQLite stores anything anywhere, and one odd cell hides no other.
    """
    from sqlalchemy import type_coerce
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine, UserDefinedType

    class Lenient(UserDefinedType[object]):
        cache_ok = False

        def __init__(self, stated: TypeEngine[Any]) -> None:
            self.stated = stated

        def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], object] | None:
            strict = self.stated.dialect_impl(dialect).result_processor(dialect, coltype)
            if strict is None:
                return None

            def read(value: Any) -> object:
                try:
                    return strict(value)
                except (ValueError, TypeError, ArithmeticError):
                    return value

            return read

    return type_coerce(column, Lenient(column.type))


def _value(values: Mapping[str, str], name: str) -> str:
    return values[name]


def _key(value: object) -> str:
    """Write a key's cell as text; bytes, too, as each row needs an id of its own."""
    return bytes(value).hex() if isinstance(value, _BYTES) else _shown(value)


def _shown(value: object) -> str:
    """Write a cell as text; bytes are no text."""
    if value is None or isinstance(value, _BYTES):
        return ""
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value).strip()
