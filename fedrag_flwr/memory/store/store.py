"""A device's durable memory: documents, units, hyperedges and memories, with indexes beside them."""

from __future__ import annotations

import json
import logging
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from fedrag_flwr.errors import StoreError, StoreMismatchError
from fedrag_flwr.memory.store import imports, opaque, pages, queries
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.memory.store.database import FILE, LOCK_SECONDS, Database, write_lock
from fedrag_flwr.memory.store.index import Indexes, VectorIndex
from fedrag_flwr.memory.store.reader import StoreReader, device_and_dimension
from fedrag_flwr.memory.store.schema import MENDED
from fedrag_flwr.memory.store.writer import Writer
from fedrag_flwr.records import START, Delta, Granularity, ImportReport, Pending
from fedrag_flwr.sqlite_errors import REBUILD, own_errors

_log = logging.getLogger(__name__)


class MemoryStore(StoreReader):
    """One device's store; `open` makes it. Threads may share it; each process opens its own."""

    _passes_on = False  # whether what others share goes on from here

    def __init__(self, database: Database, identity: Mapping[str, str], secret: bytes, foreign_limit: int) -> None:
        super().__init__(database, identity)
        self._secret = secret
        self._foreign_limit = foreign_limit
        self._indexes = Indexes(database, self._dimension)

    @classmethod
    def open(
        cls,
        path: Path,
        identity: Mapping[str, str],
        *,
        create: bool = True,
        foreign_limit: int = 1_000_000,
    ) -> Self:
        """Open a device's store, or make it.

        Parameters
        ----------
        path
            The store's directory; made for this user only.
        identity
            What the store is made with; `device` and `dimension` are needed, new keys are recorded.
        create
            Make the store where there is none.
        foreign_limit
            Most memories of other origins.

        Raises StoreError if there is none or the directory cannot be used; of its kinds StoreMismatchError if a key or
        the schema is another, StoreCorruptError if the file is torn or no store, StoreLockedError, and StoreFullError.
        """
        with own_errors(path, FILE):
            if not (path / FILE).exists():
                if not create:
                    raise StoreError("there is no store here", where=path.name, fix="build it first")
                device_and_dimension(identity)
                _create(path)
        database = Database(path)
        try:
            database.check()
            known = _reconcile(database, identity)
            with database.reading() as connection:
                expected = queries.state(connection, "secret")
            with own_errors(path, FILE):
                secret = opaque.load_secret(path, expected)
            return cls(database, known, secret, foreign_limit)
        except BaseException:
            database.close()
            raise

    @staticmethod
    def erase(path: Path) -> None:
        """Remove a store's files, whole or torn, so that it can be built again; nothing else in the directory goes."""
        with own_errors(path, FILE):
            if not path.is_dir():
                return
            with write_lock(path, LOCK_SECONDS):
                for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}.new", opaque.SECRET):
                    (path / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the store's connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def apply(self, change: Change) -> int:
        """Write a change whole or not at all, and give the store's version after it.

        Removing or replacing a document removes its units and exactly the memories whose support includes one of them.

        Raises NotFoundError for a unit or document that is not there, StoreMismatchError for vectors of another shape,
        StoreLockedError and StoreFullError, and StoreError for ids that are not unique or a memory without support.
        """
        with self._database.writing() as connection:
            shrinks = bool(change.removed or change.documents)
            version = self._writer(connection).apply(change)
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", change.meta.items())
        if shrinks:
            self._forget()
        return version

    def recall(self, ids: Sequence[str]) -> int:
        """Withdraw own memories from others while they stay here, and give the store's version after it.

        They count as retracted and as changed: what of them may still leave replaces what was shared.
        """
        with self._database.writing() as connection:
            writer = self._writer(connection)
            writer.recall(ids)
            return writer.settle()

    def import_delta(
        self,
        delta: Delta,
        *,
        one_origin: bool = False,
        snapshot: bool = False,
        meta: Mapping[str, str] = MappingProxyType({}),
    ) -> ImportReport:
        """Take memories of other origins, whole or not at all; taking the same delta again changes nothing.

        With `one_origin` the delta speaks for its own origin alone and can neither add nor retract another's memories;
        as a `snapshot` it is all there is, and what it lacks goes. A page of a delta is put aside, and nothing changes
        until the last one is here. The `meta` values are kept with a delta that was taken.

        Refusals are counted by reason: ``own-origin``, ``dimension``, ``not-finite``, ``norm``, ``empty``,
        ``hyperedges`` (one origin's that no server can name), ``id-taken`` (another origin holds the id) and ``full``.
        The delta's version is kept as the meta value ``shared-version``.

        Raises WireError if a page does not go on where the last one ended, or there are too many.
        """
        sender = delta.origin if one_origin else ""
        with self._database.writing() as connection:
            dropped = pages.drop(connection, sender) if delta.after == START else 0  # it begins anew
            whole = pages.collect(connection, delta, sender)
            if whole is None:
                done = imports.Import(0, 0, 0, Counter(), queries.version(connection))
            else:
                done = imports.take(
                    connection,
                    whole,
                    self._writer(connection),
                    device=self._device,
                    dimension=self._dimension,
                    limit=self._foreign_limit,
                    one_origin=one_origin,
                    snapshot=snapshot,
                )
                dropped += pages.drop(connection, sender)
                connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
        if done.removed or dropped:
            self._forget()
        refused = tuple(f"{reason}={count}" for reason, count in sorted(done.refused.items()))
        return ImportReport(self._device, done.accepted, done.retracted, refused, done.version, delta.next)

    def pending(self, sender: str = "") -> Pending:
        """The pages that came of a delta which is not whole yet: one that speaks for its sender alone, or any other."""
        with self._database.reading() as connection:
            return pages.pending(connection, sender)

    def wants_all(self, sender: str = "") -> bool:
        """Whether all is to be sent again, as memories were refused as ``full`` that there is room for now."""
        with self._database.reading() as connection:
            return imports.missed_fit(connection, self._foreign_limit, sender or None)

    def give_version(self, version: int) -> None:
        """Remember that others may know of a version of this store."""
        if not self.gave_version(version):
            with self._database.writing() as connection:
                connection.execute("INSERT OR IGNORE INTO given VALUES (?)", (version,))

    def set_meta(self, key: str, value: str) -> None:
        """Keep a value beside the memory; the store's version stays."""
        with self._database.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _writer(self, connection: sqlite3.Connection) -> Writer:
        return Writer(connection, self._device, self._dimension, passes_on=self._passes_on)

    def _forget(self) -> None:
        """Clear the log of what was removed; the change itself is committed, whatever happens here."""
        try:
            self._database.forget_log()
        except StoreError as error:
            _log.warning("removed text may stay in the log until the next change: %s", error)

    # --- opaque ids ---

    def state(self) -> str:
        """A name for the documents as they are now, which says nothing of them."""
        return opaque.opaque_id(self._secret, "documents", json.dumps(self.digests()))

    def opaque(self, kind: str, ids: Iterable[str]) -> dict[str, str]:
        """Give opaque ids for ids of a kind, and remember them for `resolve_opaque`."""
        made = {plain: opaque.opaque_id(self._secret, kind, plain) for plain in ids}
        self.lead_back(kind, {hidden: plain for plain, hidden in made.items()})
        return made

    def lead_back(self, kind: str, hidden: Mapping[str, str]) -> None:
        """Remember for `resolve_opaque` which ids of a kind are behind those that others hold."""
        known = self.resolve_opaque(hidden)
        new = [(name, kind, plain) for name, plain in hidden.items() if name not in known]
        if new:
            with self._database.writing() as connection:
                connection.executemany("INSERT OR IGNORE INTO opaque VALUES (?, ?, ?)", new)

    def resolve_opaque(self, opaque_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Give kind and id behind opaque ids of this device; those it did not hand out are left out."""
        with self._database.reading() as connection:
            # hyperedges that took each other's place in turn may lead in a circle: UNION comes by each of them once
            rows = connection.execute(
                "WITH RECURSIVE led (opaque, kind, id) AS ("
                f"SELECT opaque, kind, id FROM opaque WHERE kind <> ? AND opaque {queries.LISTED} UNION"
                " SELECT led.opaque, led.kind, next.id FROM led JOIN opaque AS next ON next.opaque = ? || led.id"
                " WHERE NOT EXISTS (SELECT 1 FROM hyperedges WHERE hyperedges.id = led.id)"
                ") SELECT opaque, kind, id FROM led",
                (MENDED, queries.listed(opaque_ids), MENDED),
            )
            return {hidden: (kind, plain) for hidden, kind, plain in rows}  # the furthest comes last

    # --- indexes ---

    def index(self, granularity: Granularity) -> VectorIndex:
        """The search index over sentences or paragraphs, up to date with the store."""
        return self._indexes.get(granularity)


def _create(path: Path) -> None:
    """Make a store with its secret, unless another process was quicker."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    with write_lock(path, LOCK_SECONDS):
        if (path / FILE).exists():
            return
        secret = opaque.make_secret(path)
        Database.create(path, {"version": "0", "store": uuid.uuid4().hex, "secret": opaque.mark(secret)})


_OF_MODELS = {"encoder": "models.encoder", "pipeline": "models.pipeline"}  # the settings that decide these keys


def _reconcile(database: Database, identity: Mapping[str, str]) -> dict[str, str]:
    """Compare the recorded identity with the given one, and record new keys."""

    def known() -> dict[str, str]:
        with database.reading() as connection:
            return dict(connection.execute("SELECT key, value FROM identity").fetchall())

    recorded = known()
    for key in sorted(recorded.keys() & identity.keys()):
        if recorded[key] != identity[key]:
            raise StoreMismatchError(
                f"the store was built with {key} = {recorded[key]!r}, now it is {identity[key]!r}",
                where=database.directory.name,
                fix=f"{REBUILD}, or choose {_OF_MODELS.get(key, key)} = {recorded[key].partition('@')[0]!r}",
            )
    new = {key: value for key, value in identity.items() if key not in recorded}
    if not new:
        return recorded
    with database.writing() as connection:
        connection.executemany("INSERT OR IGNORE INTO identity VALUES (?, ?)", new.items())
    return _reconcile(database, identity)
