"""What in a database makes a record: a row of one table with what it refers to, its key, and sentences that say it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedrag_flwr.sources.mapping import MappingPart, fields_of

Name = Field(min_length=1, max_length=128)


class JoinMapping(MappingPart):
    """A table of which a record's row refers to at most one row, found by `on` (own column = its column)."""

    table: str = Name
    on: dict[str, str] = Field(min_length=1)


class RecordMapping(MappingPart):
    """One kind of record."""

    table: str = Name  # the table, or a view; ``schema.table`` where it is not in the usual schema
    key: tuple[str, ...] = Field(min_length=1)  # the columns that tell its rows apart
    title: str = ""  # a template over columns, ``{COLUMN}`` or ``{join.COLUMN}``; "" for none
    text: tuple[str, ...] = Field(min_length=1)  # sentences as templates; one whose column is empty is left out
    # Tables referred to, by the name that templates call them.
    join: dict[str, JoinMapping] = Field(default_factory=dict)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that title and text name, each once."""
        return tuple(dict.fromkeys(name for template in (self.title, *self.text) for name in fields_of(template)))


class SqlMapping(MappingPart):
    """A database as a source."""

    kind: Literal["sql"] = "sql"
    # Short name of the source; its documents' ids begin with it.
    name: str = Field("sql", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    # SQLAlchemy's; ``${NAME}`` is filled from the environment, so that a password need not stand here.
    url: str = Field(min_length=1)
    most_rows: int = Field(100_000, ge=1)  # rows of one kind of record that are read at most
    read_seconds: float = Field(60.0, gt=0, le=86_400)  # time limit of a statement
    # How long an index of a server's tables is searched before they are read again; SQLite tells of changes.
    refresh_seconds: float = Field(60.0, ge=0)
    record: tuple[RecordMapping, ...] = Field(min_length=1)
