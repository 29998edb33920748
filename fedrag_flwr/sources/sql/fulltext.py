"""Full text as a database offers it: MariaDB's and MySQL's FULLTEXT indexes, PostgreSQL's text search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from fedrag_flwr.sources.sql.database import Database
from fedrag_flwr.sources.sql.records import RecordReader, SqlRecord

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, FromClause
    from sqlalchemy.engine.interfaces import ReflectedIndex

Mode = Literal["boolean", "natural"]
Scored = dict[str, tuple[SqlRecord, float]]

MOST_WORDS = 24
_WORD = re.compile(r"[^\W_]+")
_DOT = "\u0307"  # what the capital "İ" leaves above its "i"
_SMALL = 20_000  # rows that PostgreSQL searches without an index in well under a second
_LEAST_LETTERS = 3  # InnoDB indexes no shorter words
# InnoDB's own stop words of three letters and more: a boolean query that demands one finds nothing
_INNODB_STOPS = frozenset("about are com for from how that the this was what when where who will with und www".split())  # noqa: SIM905


class FullText(Protocol):
    """Finds records by words."""

    def find(self, words: Sequence[str], mode: Mode, limit: int) -> Scored:
        """Give at most `limit` records for each kind, by document id, with scores above 0 in the engine's own unit.

        Parameters
        ----------
        words
            Letters and digits only, so that they mean the same to every engine.
        mode
            ``boolean``: records with all words; ``natural``: with any, rarer ones counting more.
        limit
            Of each kind of record.

        Raises
        ------
        SourceError
            The database fails or takes longer than its limit.
        """
        ...


def words_of(text: str) -> tuple[str, ...]:
    """Give the words that full text is asked for: no signs, hence no operators of any engine's query language.

    Only capitals become small letters: engines index "ß" as it is, and where "İ" loses its dot they find "i".
    """
    return tuple(dict.fromkeys(_WORD.findall(text.lower().replace(_DOT, ""))))[:MOST_WORDS]


class NativeFullText:
    """The database's own full text, by statements with bound parameters.

    Parameters
    ----------
    database, readers
        The database and its kinds of records.
    indexed
        For each reader the tables with the columns that are matched together.
    seconds
        Time limit of a statement.
    """

    def __init__(
        self,
        database: Database,
        readers: Sequence[RecordReader],
        indexed: Sequence[dict[FromClause, list[ColumnElement[object]]]],
        seconds: float,
    ) -> None:
        self._database = database
        self._kinds = tuple(zip(readers, indexed, strict=True))
        self._seconds = seconds

    def find(self, words: Sequence[str], mode: Mode, limit: int) -> Scored:
        """Find records; a statement for each table, for an index serves one table only."""
        found: Scored = {}
        for reader, tables in self._kinds:
            for columns in tables.values():
                scored = self._match(columns, words, mode)
                if scored is None:
                    continue
                matches, score = scored
                chosen = reader.select().add_columns(score.label("score")).where(matches)
                ordered = chosen.order_by(None).order_by(score.desc()).limit(limit)
                for row in self._database.rows(ordered, self._seconds):
                    record = reader.record(row)
                    before = found[record.document_id][1] if record.document_id in found else 0.0
                    found[record.document_id] = (record, before + float(str(row[-1] or 0.0)))
        return found

    def _match(
        self, columns: list[ColumnElement[object]], words: Sequence[str], mode: Mode
    ) -> tuple[ColumnElement[bool], ColumnElement[float]] | None:
        if self._database.kind == "postgresql":
            return _match_postgresql(columns, words, mode)
        return _match_mysql(columns, words, mode)


def native_full_text(database: Database, readers: Sequence[RecordReader], seconds: float) -> NativeFullText | None:
    """Give the database's own full text where it covers all text that records show; else None."""
    if database.kind == "sqlite":
        return None
    offered = [_indexed_mysql(database, reader) for reader in readers] if database.kind != "postgresql" else []
    if database.kind == "postgresql" and all(_small(database, reader, seconds) for reader in readers):
        offered = [_text_columns(reader) for reader in readers]
    complete = [tables for tables in offered if tables]
    return NativeFullText(database, readers, complete, seconds) if len(complete) == len(readers) else None


def _text_columns(reader: RecordReader) -> dict[FromClause, list[ColumnElement[object]]]:
    from sqlalchemy import String

    texts = {
        table: [column for column in columns if isinstance(column.type, String)]
        for table, columns in reader.columns.items()
    }
    return {table: columns for table, columns in texts.items() if columns}


def _indexed_mysql(database: Database, reader: RecordReader) -> dict[FromClause, list[ColumnElement[object]]]:
    """For each table with text the columns of a FULLTEXT index that covers the text; nothing where one has none."""
    chosen: dict[FromClause, list[ColumnElement[object]]] = {}
    with database.described() as inspector:
        for table, columns in _text_columns(reader).items():
            wanted = {str(column.key) for column in columns}
            schema, _, name = reader.table_name(table).rpartition(".")
            for index in inspector.get_indexes(name, schema=schema or None):
                names = [name for name in index["column_names"] if name]
                if "FULLTEXT" in _prefixes(index) and wanted <= set(names):
                    chosen[table] = [table.c[name] for name in names]
            if table not in chosen:
                return {}
    return chosen


def _prefixes(index: ReflectedIndex) -> list[object]:
    """What stands before INDEX in an index's definition, under the key of either dialect."""
    return [value for key, value in index.get("dialect_options", {}).items() if key.endswith("_prefix")]


def _small(database: Database, reader: RecordReader, seconds: float) -> bool:
    from sqlalchemy import func, select

    first = reader.select().order_by(None).limit(_SMALL + 1).subquery()
    [[count]] = database.rows(select(func.count()).select_from(first), seconds)
    return int(str(count)) <= _SMALL


def _match_mysql(
    columns: list[ColumnElement[object]], words: Sequence[str], mode: Mode
) -> tuple[ColumnElement[bool], ColumnElement[float]] | None:
    from sqlalchemy.dialects.mysql import match

    known = [word for word in words if len(word) >= _LEAST_LETTERS and word not in _INNODB_STOPS]
    if not known:
        return None
    asked = " ".join(f"+{word}" for word in known) if mode == "boolean" else " ".join(known)
    score = match(*columns, against=asked)
    score = score.in_boolean_mode() if mode == "boolean" else score.in_natural_language_mode()
    return score > 0, score


def _match_postgresql(
    columns: list[ColumnElement[object]], words: Sequence[str], mode: Mode
) -> tuple[ColumnElement[bool], ColumnElement[float]] | None:
    from sqlalchemy import Float, func, literal, literal_column

    if not words:
        return None
    english: ColumnElement[str] = literal_column("'english'::regconfig")
    text = func.to_tsvector(english, func.concat_ws(literal(" "), *columns))
    asked = func.to_tsquery(english, (" & " if mode == "boolean" else " | ").join(words))
    return text.op("@@")(asked), func.ts_rank_cd(text, asked, type_=Float)
