"""What a device remembers of its randomised responses: spent budgets, and the surrogates that it gave."""

from __future__ import annotations

import math
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import BudgetError, SettingError, StoreMismatchError
from fedrag_flwr.files import making_in
from fedrag_flwr.sqlite_errors import own_errors

_BUSY_SECONDS = 10.0
_VERSION = 1  # of all schemas
_MEND = "restore it from a backup; do not delete a ledger"


class DurableFile:
    """One SQLite file in WAL mode: what a transaction committed stays; raises StoreError where the file cannot be
    opened, is torn, or is of another kind or version.

    Threads may share it; other processes wait for its write lock.

    Parameters
    ----------
    path
        The file; its folder is made, readable by its owner only, where it is missing. None keeps everything in working
        memory, for as long as the object lives.
    kind
        What the file is for; another kind of file at this path is refused.
    schema
        One ``CREATE TABLE`` statement.
    power_loss
        Whether a transaction must survive a power loss, too: then each waits for the disk, for milliseconds.
    """

    def __init__(self, path: Path | None, kind: str, schema: str, *, power_loss: bool = True) -> None:
        self._name = path.name if path else kind
        self._folder = path.parent if path else Path("memory")
        self._lock = threading.RLock()
        with self._errors():
            self._connection = _connected(path)
            self._connection.execute(f"PRAGMA synchronous={'FULL' if power_loss else 'NORMAL'}")
            self._connection.execute("PRAGMA secure_delete=ON")  # what is deleted is not left on free pages
            with self.writing():
                self._connection.execute("CREATE TABLE IF NOT EXISTS about (kind TEXT PRIMARY KEY, version INTEGER)")
                self._connection.execute(
                    "INSERT OR IGNORE INTO about SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM about)", (kind, _VERSION)
                )
                self._connection.execute(schema)
            about = self._connection.execute("SELECT kind, version FROM about").fetchall()
        if about != [(kind, _VERSION)]:
            self.close()
            raise StoreMismatchError(
                f"it is not a {kind} of version {_VERSION}",
                where=self._name,
                fix="use another file or an older release",
            )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock for one transaction: committed at the end, undone on an error.

        Within another one of this thread it is a part of that.
        """
        with self._lock, self._errors():
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # not where SQLite has undone it by itself, as on a full disk
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for a query."""
        with self._lock, self._errors():
            yield self._connection

    def forget_log(self) -> None:
        """Move the log into the file and empty it, unless a reader holds it: what was removed is then in neither."""
        with self.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _errors(self) -> AbstractContextManager[None]:
        return own_errors(self._folder, self._name, _MEND)


def _connected(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _opened(":memory:")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with making_in(path.parent):  # SQLite does not wait while another process turns to its log
        path.touch(mode=0o600)
        connection = _opened(path)
        connection.execute("PRAGMA journal_mode=WAL")
        return connection


def _opened(where: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(where, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


BUDGET = "budget.sqlite"
_SCHEMA = """CREATE TABLE IF NOT EXISTS spent (
    entity TEXT NOT NULL, purpose TEXT NOT NULL, epsilon REAL NOT NULL, PRIMARY KEY (entity, purpose)) WITHOUT ROWID"""
_SLACK = 1e-9  # epsilons are added as floats


@dataclass(frozen=True, slots=True)
class BudgetAccount:
    """What entities have spent, in epsilon: the most and the mean of one, of the limit for each.

    `exhausted` entities have spent it all.
    """

    limit: float
    entities: int
    most: float
    mean: float
    exhausted: int


class BudgetLedger:
    """Epsilon spent per entity, by sequential composition over everything that it was spent for; raises SettingError
    where the limit is not a positive number.

    The device's own file holds digests of entities; `limit` is the most epsilon that one of them may ever spend.
    """

    def __init__(self, path: Path, limit: float) -> None:
        if not (math.isfinite(limit) and limit > 0):
            raise SettingError("it must be a positive number", where="budget-limit")
        self.limit = limit
        self._file = DurableFile(path, "budget ledger", _SCHEMA)

    def spent(self, entity: str) -> float:
        """Give the epsilon that an entity (its digest) has spent."""
        with self._file.reading() as connection:
            return float(connection.execute("SELECT TOTAL(epsilon) FROM spent WHERE entity=?", (entity,)).fetchone()[0])

    def account(self) -> BudgetAccount:
        """Sum up what all entities have spent."""
        with self._file.reading() as connection:
            row = connection.execute(
                "SELECT count(*), coalesce(max(spent), 0.0), coalesce(avg(spent), 0.0), total(spent >= ?)"
                " FROM (SELECT total(epsilon) AS spent FROM spent GROUP BY entity)",
                (self.limit - _SLACK,),
            ).fetchone()
        return BudgetAccount(self.limit, int(row[0]), float(row[1]), float(row[2]), int(row[3]))

    def spend(self, entity: str, purpose: str, epsilon: float) -> None:
        """Record, durably and before it is used, that an entity spends epsilon for a purpose; raises BudgetError where
        the entity would exceed the limit: then nothing is recorded.

        The same purpose is paid once: what is drawn for it is kept and only read again.
        """
        with self._file.writing() as connection:
            spent = dict(connection.execute("SELECT purpose, epsilon FROM spent WHERE entity=?", (entity,)).fetchall())
            spent[purpose] = max(epsilon, spent.get(purpose, 0.0))
            if sum(spent.values()) > self.limit + _SLACK:
                raise BudgetError(
                    f"an entity would exceed {self.limit:g} epsilon", where="budget-limit", fix="raise it knowingly"
                )
            connection.execute("INSERT OR REPLACE INTO spent VALUES (?, ?, ?)", (entity, purpose, spent[purpose]))

    def beyond(self, entities: Iterable[str], epsilon: float) -> set[str]:
        """Give the entities whom so much more epsilon would take beyond the limit; nothing is recorded."""
        return {entity for entity in entities if self.spent(entity) + epsilon > self.limit + _SLACK}

    def book(self, spendings: Collection[tuple[str, str, float]]) -> None:
        """Record durably what entities spent for which purposes, beyond the limit too; what is known stays as it is."""
        with self._file.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO spent VALUES (?, ?, ?)", spendings)

    def paid(self, entities: Iterable[str], purpose: str) -> set[str]:
        """Give the entities that spent for a purpose, or for a part of it (``purpose:part``)."""
        query = "SELECT 1 FROM spent WHERE entity=? AND (purpose=? OR substr(purpose, 1, ?)=?)"
        part = f"{purpose}:"
        with self._file.reading() as connection:
            return {one for one in entities if connection.execute(query, (one, purpose, len(part), part)).fetchone()}

    def close(self) -> None:
        """Close the file."""
        self._file.close()


MEMO = "surrogates.sqlite"
_MEMO_SCHEMA = """CREATE TABLE IF NOT EXISTS surrogates (
    entity TEXT NOT NULL, partition TEXT NOT NULL, epoch INTEGER NOT NULL, surrogate TEXT NOT NULL, draw TEXT NOT NULL,
    PRIMARY KEY (entity, partition, epoch)) WITHOUT ROWID"""
_AT_ONCE = 500


class SurrogateMemo:
    """Surrogates by entity, partition version and epoch; fresh noise at each upload would let a reader average.

    The device's own file holds digests of entities, and names of the public partition.
    """

    def __init__(self, path: Path) -> None:
        self._file = DurableFile(path, "surrogate memo", _MEMO_SCHEMA)

    def get(self, entities: Sequence[str], partition: str, epoch: int) -> dict[str, str]:
        """Look up the surrogates of entity digests; those that have none yet are left out."""
        found: dict[str, str] = {}
        with self._file.reading() as connection:
            for some, listed in _in_parts(entities):
                query = f"SELECT entity, surrogate FROM surrogates WHERE partition=? AND epoch=? AND entity IN {listed}"
                found.update(connection.execute(query, (partition, epoch, *some)).fetchall())
        return found

    def draws(self, entities: Sequence[str]) -> list[tuple[str, str, float]]:
        """Give what all draws for entity digests cost, of any partition and epoch, as `BudgetLedger.book` takes it."""
        found: list[tuple[str, str, float]] = []
        with self._file.reading() as connection:
            for some, listed in _in_parts(entities):
                query = f"SELECT entity, partition, epoch, draw FROM surrogates WHERE entity IN {listed}"
                for entity, partition, epoch, draw in connection.execute(query, tuple(some)):
                    found.append((entity, f"{partition}:{epoch}:{draw}", float(partition.rpartition(":")[2])))
        return found

    def keep(self, drawn: Mapping[str, str], partition: str, epoch: int) -> dict[str, str]:
        """Write surrogates durably and give the ones that count: what was written first wins.

        The partition's version ends in the epsilon of a draw, which `draws` reads there.
        """
        draw = secrets.token_hex(8)  # tells these draws from any others for the same
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO surrogates VALUES (?, ?, ?, ?, ?)",
                [(entity, partition, epoch, surrogate, draw) for entity, surrogate in drawn.items()],
            )
        return self.get(list(drawn), partition, epoch)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else draw meanwhile; what is kept within is written at the end, or not at all on an error."""
        with self._file.writing():
            yield

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _in_parts(entities: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
    """No more entities at once than a query may have values, with the marks that stand for them."""
    for start in range(0, len(entities), _AT_ONCE):
        some = entities[start : start + _AT_ONCE]
        yield some, f"({','.join('?' * len(some))})"
