"""What a property graph offers: its schema, and sessions that only read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from fedrag_flwr.errors import SourceError


@dataclass(frozen=True, slots=True)
class RelationKind:
    """A relation type between two labels."""

    source: str
    type: str
    target: str


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """Labels with their properties and the one that is unique ("" where none is), and the kinds of relations."""

    properties: Mapping[str, tuple[str, ...]]
    keys: Mapping[str, str]
    relations: tuple[RelationKind, ...]


class GraphSession(Protocol):
    """Runs Cypher that reads."""

    def rows(self, query: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
        """Run a query with bound parameters; relations and vertices come as dicts of their properties; raises
        SourceError where the graph refuses, or takes longer than the session's limit.
        """
        ...


class GraphStore(Protocol):
    """A graph database."""

    @property
    def place(self) -> str:
        """Its name in errors."""
        ...

    def session(self, seconds: float) -> AbstractContextManager[GraphSession]:
        """Open a session that cannot write, in which each query may take so many seconds."""
        ...

    def schema(self) -> GraphSchema:
        """Describe labels and relations."""
        ...

    def stamp(self) -> str:
        """Give what stays the same while nothing changes; "" where the database does not tell."""
        ...

    def close(self) -> None:
        """Give up the connection."""
        ...


def quoted(name: str) -> str:
    """Quote a label, relation type or property for Cypher, where names cannot be parameters; raises SourceError where
    it holds a backtick or a control character.
    """
    if "`" in name or "\\" in name or not name.isprintable() or not name:
        raise SourceError("this name cannot stand in a query", where=name[:80], fix="leave it out of the mapping")
    return f"`{name}`"


def failure(error: Exception, place: str) -> SourceError:
    """Name the kind of an error only: its text may hold values of the query."""
    return SourceError(
        f"the graph failed ({type(error).__name__})",
        where=place,
        fix="check that it can be opened and read, and the time limits of the mapping",
    )
