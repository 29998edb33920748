"""Neo4j through its driver, in sessions of read access and transactions with a time limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.graph.store import GraphSchema, RelationKind, failure

if TYPE_CHECKING:
    from neo4j import Session

_CONNECT_SECONDS = 5.0
_LABELS = "CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName RETURN nodeLabels, propertyName"
_RELATIONS = "MATCH (a)-[r]->(b) RETURN DISTINCT labels(a), type(r), labels(b)"
_KEYS = "SHOW CONSTRAINTS YIELD type, labelsOrTypes, properties WHERE type CONTAINS 'UNIQUE' OR type = 'NODE_KEY' " + (
    "RETURN labelsOrTypes, properties"
)


class Neo4jStore:
    """A Neo4j server; raises SourceError where the driver is not installed, or the URL is malformed. User and password
    in the URL are never shown.
    """

    def __init__(self, url: str, database: str = "") -> None:
        try:
            from neo4j import GraphDatabase
        except ImportError:
            raise SourceError("neo4j is not installed", fix="pip install 'fedrag-flwr[servers]'") from None
        parts = urlsplit(url)
        login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2], path="").geturl()
        self._host = parts.hostname or ""
        self._database = database or None
        try:
            self._driver = GraphDatabase.driver(address, auth=login, connection_timeout=_CONNECT_SECONDS)
        except Exception as error:  # the driver's errors have no base that it also uses for a wrong address
            raise failure(error, self._host) from None

    @property
    def place(self) -> str:
        """The host."""
        return self._host

    @contextmanager
    def session(self, seconds: float) -> Iterator[_Session]:
        """Open a session of read access: the server refuses writes in it."""
        from neo4j import READ_ACCESS

        with self._driver.session(database=self._database, default_access_mode=READ_ACCESS) as opened:
            yield _Session(opened, self.place, seconds)

    def schema(self) -> GraphSchema:
        """Describe labels, constraints and the relations that are there."""
        properties: dict[str, tuple[str, ...]] = {}
        keys: dict[str, str] = {}
        with self.session(60.0) as session:
            for labels, name in session.rows(_LABELS, {}):
                for label in _texts(labels):
                    properties[label] = (*properties.get(label, ()), *((str(name),) if name else ()))
            for labels, names in session.rows(_KEYS, {}):
                if len(_texts(names)) == 1:
                    keys.update({label: _texts(names)[0] for label in _texts(labels)})
            relations = {
                RelationKind(source, str(kind), target)
                for sources, kind, targets in session.rows(_RELATIONS, {})
                for source in _texts(sources)
                for target in _texts(targets)
            }
        ordered = sorted(relations, key=lambda one: (one.source, one.type, one.target))
        return GraphSchema(properties, keys, tuple(ordered))

    def stamp(self) -> str:
        """The server does not tell."""
        return ""

    def close(self) -> None:
        """Close the driver."""
        self._driver.close()


@dataclass(frozen=True, slots=True, eq=False)
class _Session:
    session: Session
    place: str
    seconds: float

    def rows(self, query: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
        from neo4j.exceptions import DriverError, Neo4jError

        try:
            with self.session.begin_transaction(timeout=self.seconds) as transaction:
                records = list(transaction.run(query, dict(parameters)))
        except (DriverError, Neo4jError) as error:
            raise failure(error, self.place) from None
        return [tuple(map(_plain, record.values())) for record in records]


def _plain(value: object) -> object:
    from neo4j.graph import Node, Relationship

    return dict(value.items()) if isinstance(value, Node | Relationship) else value


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []
