"""What a device's durable memory holds, read: each call sees one committed state of the store."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.store import item_rows, queries
from fedrag_flwr.memory.store.change import Contribution, Counts, Rejected, missing
from fedrag_flwr.memory.store.database import Database
from fedrag_flwr.memory.store.queries import LISTED, listed
from fedrag_flwr.memory.store.schema import check_row, unpack_facts
from fedrag_flwr.records import Cursor, Document, Granularity, Hyperedge, MemoryItem, Passage, Sentence

_Asked = TypeVar("_Asked", Passage, Sentence)


class StoreReader:
    """The reading half of a store."""

    def __init__(self, database: Database, identity: Mapping[str, str]) -> None:
        self._database = database
        self._identity = dict(identity)
        self._device, self._dimension = device_and_dimension(identity)

    @property
    def identity(self) -> dict[str, str]:
        """What the store was made with."""
        return dict(self._identity)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def database(self) -> Database:
        """The file, for rooms that keep tables of their own in it."""
        return self._database

    @property
    def id(self) -> str:
        """The store's id; a store that was made anew has another."""
        with self._database.reading() as connection:
            return queries.state(connection, "store")

    @property
    def version(self) -> int:
        """The store's version; grows with each committed change."""
        with self._database.reading() as connection:
            return queries.version(connection)

    def digests(self) -> dict[str, str]:
        """The digest of each document, by id."""
        with self._database.reading() as connection:
            return queries.digests(connection)

    def documents_without_memories(self) -> list[str]:
        """The ids of documents whose memories are not made yet, sorted."""
        with self._database.reading() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM documents WHERE remembered = 0 ORDER BY id")]

    def barren_documents(self) -> list[str]:
        """The ids of documents whose memories were made, but of which none rests on them now, sorted."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id FROM documents d WHERE remembered = 1 AND NOT EXISTS"
                " (SELECT 1 FROM units u JOIN support s ON s.unit = u.number WHERE u.document = d.number) ORDER BY id"
            )
            return [row[0] for row in rows]

    def document(self, document_id: str) -> Document:
        """One document; raises NotFoundError if it is not there."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT id, title, text, digest, checksum FROM documents WHERE id = ?", (document_id,)
            ).fetchone()
            if row is None:
                raise missing("document", [document_id])
            check_row(row[4], *row[:4])
            return Document(*row[:4])

    def passages(self, ids: Sequence[str] | None = None) -> list[Passage]:
        """Passages in the order of the ids as given, or all in reading order; raises NotFoundError for unknown ids."""
        with self._database.reading() as connection:
            which = "p.granularity = 'paragraph'" if ids is None else f"p.id {LISTED} AND +p.granularity = 'paragraph'"
            rows = connection.execute(
                "SELECT p.number, p.id, d.id, p.title, p.text, p.facts, p.checksum"
                " FROM units p JOIN documents d ON d.number = p.document"
                f" WHERE {which} ORDER BY d.id, p.place",
                () if ids is None else (listed(ids),),
            ).fetchall()
            within: defaultdict[str, list[Sentence]] = defaultdict(list)
            numbers = None if ids is None else [row[0] for row in rows]
            for sentence in _sentences(connection, f"s.passage {LISTED}", numbers):
                within[sentence.passage_id].append(sentence)
            found = []
            for _, unit, owner, title, text, facts, check in rows:
                check_row(check, unit, title, text, facts)
                found.append(Passage(unit, owner, title, text, tuple(within[unit])))
            return found if ids is None else _as_asked("passage", ids, {passage.id: passage for passage in found})

    def sentences(self, ids: Sequence[str] | None = None) -> list[Sentence]:
        """Sentences, as `passages` gives passages."""
        with self._database.reading() as connection:
            found = _sentences(connection, f"s.id {LISTED}", ids)
            return found if ids is None else _as_asked("sentence", ids, {sentence.id: sentence for sentence in found})

    def units(self, granularity: Granularity, ids: Iterable[str] | None = None) -> Units:
        """All units of one granularity, or those there are with the ids, with an (n, dimension) float32 matrix.

        They are sorted by id.
        """
        with self._database.reading() as connection:
            return queries.units(connection, granularity, self._dimension, ids)

    def paragraphs(self) -> tuple[int, Units, dict[str, str]]:
        """The version with its paragraphs, as `units` gives them, and the digests of just their documents, by id."""
        with self._database.reading() as connection:
            version, units = queries.version(connection), queries.units(connection, "paragraph", self._dimension)
            return version, units, queries.digests(connection)

    def hyperedges(
        self, granularity: Granularity | None = None, *, ids: Iterable[str] | None = None
    ) -> list[Hyperedge]:
        """All hyperedges, those of one granularity, or those there are with the ids, sorted by id."""
        asked = None if ids is None else list(ids)
        with self._database.reading() as connection:
            return queries.hyperedges(connection, self._dimension, granularity=granularity, ids=asked)

    def hyperedge(self, hyperedge_id: str) -> Hyperedge:
        """One hyperedge; raises NotFoundError if it is not there."""
        with self._database.reading() as connection:
            found = queries.hyperedges(connection, self._dimension, ids=[hyperedge_id])
        if not found:
            raise missing("hyperedge", [hyperedge_id])
        return found[0]

    def hyperedges_of(self, unit_ids: Iterable[str]) -> dict[str, list[str]]:
        """The ids of the hyperedges that each unit is in, sorted; none for a unit that is not there."""
        with self._database.reading() as connection:
            found: dict[str, list[str]] = {unit: [] for unit in unit_ids}
            for unit, edge in connection.execute(
                "SELECT DISTINCT u.id, h.id FROM units u JOIN members m ON m.unit = u.number"
                f" JOIN hyperedges h ON h.number = m.hyperedge WHERE u.id {LISTED} ORDER BY u.id, h.id",
                (listed(found),),
            ):
                found[unit].append(edge)
            return found

    def items(self, origin: str | None = None, since: int = 0, until: int | None = None) -> list[MemoryItem]:
        """Memories sorted by id: of one origin or all, only those that came or changed after one and until a version.

        An own memory's hyperedges are all that have a member in its support; it counts as changed when they change.
        """
        with self._database.reading() as connection:
            return item_rows.items(connection, self._dimension, origin=origin, since=since, until=until)

    def changes(
        self, since: int, after: Cursor, most: int, *, own: bool, but: str = ""
    ) -> list[tuple[Cursor, MemoryItem]]:
        """At most so many own, or others', memories later than a version and after a cursor, each with its cursor.

        They come in the order of the cursors, and none of the origin `but` is among them.
        """
        with self._database.reading() as connection:
            return item_rows.changes(connection, self._dimension, since, after, most, own=own, but=but)

    def rejected(self) -> list[Rejected]:
        """What documents say and something else speaks against, sorted by id; it never leaves the device."""
        with self._database.reading() as connection:
            return item_rows.rejected(connection, self._dimension)

    def written_by_model(self) -> frozenset[str]:
        """The ids of own memories that the model wrote."""
        with self._database.reading() as connection:
            return frozenset(
                row[0] for row in connection.execute("SELECT id FROM items WHERE own = 1 AND by_model = 1")
            )

    def asked(self) -> dict[str, int]:
        """The sentences about which the model has written questions, with the tokens that this took."""
        with self._database.reading() as connection:
            return dict(connection.execute("SELECT u.id, a.tokens FROM asked a JOIN units u ON u.number = a.unit"))

    def judged(self) -> bool:
        """Whether memories were judged by the documents as they are."""
        with self._database.reading() as connection:
            return connection.execute("SELECT 1 FROM state WHERE key = 'stale'").fetchone() is None

    def own_version(self) -> int:
        """The version at which an own memory last came, changed or went."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT max(coalesce((SELECT max(version) FROM items WHERE own = 1), 0),"
                " coalesce((SELECT max(version) FROM retractions WHERE own = 1), 0))"
            ).fetchone()
            return int(row[0])

    def gave_version(self, version: int) -> bool:
        """Whether others may know of a version; not where the store was put back to one from before it."""
        with self._database.reading() as connection:
            return connection.execute("SELECT 1 FROM given WHERE version = ?", (version,)).fetchone() is not None

    def item(self, item_id: str) -> MemoryItem:
        """One memory; raises NotFoundError if it is not there."""
        with self._database.reading() as connection:
            found = item_rows.items(connection, self._dimension, ids=[item_id])
        if not found:
            raise missing("memory", [item_id])
        return found[0]

    def origins(self, ids: Sequence[str]) -> dict[str, str]:
        """The origins of memories, by id; ids of none are left out."""
        with self._database.reading() as connection:
            return item_rows.origins(connection, ids)

    def retracted_since(self, version: int, *, own: bool = True) -> list[str]:
        """The ids of own, or of others', memories that went or were recalled after a version, sorted."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id FROM retractions WHERE version > ? AND own = ? ORDER BY id", (version, own)
            )
            return [row[0] for row in rows]

    def counts(self) -> Counts:
        """Count what the store holds."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT (SELECT count(*) FROM documents),"
                " (SELECT count(*) FROM units WHERE granularity = 'paragraph'),"
                " (SELECT count(*) FROM units WHERE granularity = 'sentence'),"
                " (SELECT count(*) FROM hyperedges),"
                " (SELECT count(*) FROM items WHERE own = 1), (SELECT count(*) FROM items WHERE own = 0)"
            ).fetchone()
            return Counts(*row)

    def contribution(self, document_id: str) -> Contribution:
        """The ids of what one document brought; raises NotFoundError if it is not there."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT number FROM documents WHERE id = ?", (document_id,)).fetchone()
            if row is None:
                raise missing("document", [document_id])

            def ids(statement: str) -> tuple[str, ...]:
                return tuple(found for (found,) in connection.execute(statement, row))

            by_grain = "SELECT id FROM units WHERE document = ? AND granularity = '{}' ORDER BY passage, place"
            return Contribution(
                passages=ids(by_grain.format("paragraph")),
                sentences=ids(by_grain.format("sentence")),
                hyperedges=ids(
                    "SELECT DISTINCT h.id FROM units u JOIN members m ON m.unit = u.number"
                    " JOIN hyperedges h ON h.number = m.hyperedge WHERE u.document = ? ORDER BY h.id"
                ),
                items=ids(
                    "SELECT DISTINCT i.id FROM units u JOIN support s ON s.unit = u.number"
                    " JOIN items i ON i.number = s.item WHERE u.document = ? ORDER BY i.id"
                ),
            )

    def meta(self, key: str) -> str | None:
        """A value that `set_meta` kept, or None."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            return None if row is None else str(row[0])

    def verify(self) -> None:
        """Read and check everything; raises StoreCorruptError if something is not whole."""
        self._database.verify()
        with self._database.reading() as connection:
            queries.hyperedges(connection, self._dimension)
            item_rows.items(connection, self._dimension)
            item_rows.rejected(connection, self._dimension)
            queries.units(connection, "paragraph", self._dimension)
            queries.units(connection, "sentence", self._dimension)
        self.passages()
        for document_id in self.digests():
            self.document(document_id)


def _sentences(connection: sqlite3.Connection, having: str, keys: Sequence[str | int] | None) -> list[Sentence]:
    # the plus keeps SQLite from walking all sentences where a few are asked for
    which = "s.granularity = 'sentence'" if keys is None else f"{having} AND +s.granularity = 'sentence'"
    rows = connection.execute(
        "SELECT s.id, p.id, s.title, s.text, s.facts, s.checksum"
        " FROM units s JOIN units p ON p.number = s.passage JOIN documents d ON d.number = s.document"
        f" WHERE {which} ORDER BY d.id, p.place, s.place",
        () if keys is None else (listed(keys),),
    ).fetchall()
    found = []
    for unit, passage, title, text, facts, check in rows:
        check_row(check, unit, title, text, facts)
        found.append(Sentence(unit, passage, text, unpack_facts(facts)))
    return found


def _as_asked(kind: str, ids: Sequence[str], found: dict[str, _Asked]) -> list[_Asked]:
    absent = [unit for unit in ids if unit not in found]
    if absent:
        raise missing(kind, absent)
    return [found[unit] for unit in ids]


def device_and_dimension(identity: Mapping[str, str]) -> tuple[str, int]:
    """Take the device's name and the vectors' length from an identity; raises SettingError where one is missing."""
    device, dimension = identity.get("device", ""), identity.get("dimension", "")
    if not device:
        raise SettingError("a store needs the device's name", where="device", fix="give it in the identity")
    if not dimension.isdecimal() or int(dimension) < 1:
        raise SettingError(f"is {dimension!r}", where="dimension", fix="give the encoder's dimension in the identity")
    return device, int(dimension)
