"""Ladybug: a property graph in a file, opened read-only and only while it is asked, so that its owner can write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.folder import mode_of
from fedrag_flwr.sources.graph.store import GraphSchema, RelationKind, failure, quoted

if TYPE_CHECKING:
    from ladybug import Connection

_MEMORY = 256 * 2**20  # bytes of pages kept in memory
_SIZE = 2**36  # bytes of address space: the library's own default is more than small devices allow


class LadybugStore:
    """A graph in a file; raises SourceError where it is not there or cannot be looked at, or the package is not
    installed.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        if not mode_of(self._path):
            raise SourceError("the graph's file is not there", where=self.place, fix="check the path in the URL")
        try:
            import ladybug  # noqa: F401
        except ImportError:
            raise SourceError("ladybug is not installed", fix="pip install ladybug") from None

    @property
    def place(self) -> str:
        """The file's name."""
        return self._path.name

    @contextmanager
    def session(self, seconds: float) -> Iterator[_Session]:
        """Open the file for reading."""
        from ladybug import Connection, Database

        try:
            opened = Database(self._path, read_only=True, buffer_pool_size=_MEMORY, max_db_size=_SIZE)
        except RuntimeError as error:
            raise failure(error, self.place) from None
        try:
            connection = Connection(opened, num_threads=1)
            connection.set_query_timeout(max(1, round(seconds * 1000)))
            yield _Session(connection, self.place)
        finally:
            opened.close()

    def schema(self) -> GraphSchema:
        """Describe node tables and relation tables."""
        properties, keys, relations = {}, {}, []
        with self.session(5.0) as session:
            for _, name, kind, *_ in session.rows("CALL show_tables() RETURN *", {}):
                call = quoted(str(name))[1:-1].replace("'", "\\'")
                if kind == "NODE":
                    described = session.rows(f"CALL table_info('{call}') RETURN *", {})
                    properties[str(name)] = tuple(str(row[1]) for row in described)
                    keys[str(name)] = next((str(row[1]) for row in described if row[4]), "")
                elif kind == "REL":
                    for source, target, *_ in session.rows(f"CALL show_connection('{call}') RETURN *", {}):
                        relations.append(RelationKind(str(source), str(name), str(target)))
        return GraphSchema(properties, keys, tuple(relations))

    def stamp(self) -> str:
        """Size and time of the file and of its log; SourceError where they cannot be looked at."""
        files = (self._path, self._path.with_name(f"{self._path.name}.wal"))
        try:
            stats = [file.stat() for file in files if file.exists()]
        except OSError as error:
            raise failure(error, self.place) from None
        return ",".join(f"{one.st_size}:{one.st_mtime_ns}" for one in stats)

    def close(self) -> None:
        """Nothing stays open between sessions."""


@dataclass(frozen=True, slots=True, eq=False)
class _Session:
    connection: Connection
    place: str

    def rows(self, query: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
        try:
            result = self.connection.execute(query, dict(parameters))
            assert not isinstance(result, list)
            return [tuple(_plain(value) for value in row) for row in result.get_all()]
        except RuntimeError as error:
            raise failure(error, self.place) from None


def _plain(value: object) -> object:
    """Leave out what the library adds to a vertex's or relation's properties."""
    if isinstance(value, dict) and "_LABEL" in value:
        return {name: inner for name, inner in value.items() if not name.startswith("_")}
    return value
