"""The budget ledger: how much epsilon each entity has spent, and where it ends."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import BudgetError, SettingError
from fedrag_flwr.privacy.durable import DurableFile

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
    """Epsilon spent per entity, by sequential composition over everything that it was spent for.

    Parameters
    ----------
    path
        The device's own file; it holds digests of entities.
    limit
        Most epsilon that one entity may ever spend.

    Raises
    ------
    SettingError
        If the limit is not a positive number.
    """

    def __init__(self, path: Path, limit: float) -> None:
        if not (math.isfinite(limit) and limit > 0):
            raise SettingError("it must be a positive number", where="budget-limit")
        self.limit = limit
        self._file = DurableFile(path, "budget ledger", _SCHEMA, 1)

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
        """Record, durably and before it is used, that an entity spends epsilon for a purpose.

        The same purpose is paid once: what is drawn for it is kept and only read again.

        Raises
        ------
        BudgetError
            If the entity would exceed the limit; then nothing is recorded.
        """
        if self.spend_all([entity], purpose, epsilon):
            raise BudgetError(
                f"an entity would exceed {self.limit:g} epsilon", where="budget-limit", fix="raise it knowingly"
            )

    def spend_all(self, entities: Sequence[str], purpose: str, epsilon: float) -> set[str]:
        """Record in one durable step what each entity spends, and give those that would exceed the limit instead."""
        with self._file.writing() as connection:
            return {entity for entity in entities if not self._fits(connection, entity, purpose, epsilon)}

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

    def _fits(self, connection: sqlite3.Connection, entity: str, purpose: str, epsilon: float) -> bool:
        spent = dict(connection.execute("SELECT purpose, epsilon FROM spent WHERE entity=?", (entity,)).fetchall())
        spent[purpose] = max(epsilon, spent.get(purpose, 0.0))
        if sum(spent.values()) > self.limit + _SLACK:
            return False
        connection.execute("INSERT OR REPLACE INTO spent VALUES (?, ?, ?)", (entity, purpose, spent[purpose]))
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
