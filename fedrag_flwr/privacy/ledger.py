"""The budget ledger: how much epsilon each entity has spent, and where it ends."""

from __future__ import annotations

import math
from pathlib import Path

from fedrag_flwr.errors import BudgetError, SettingError
from fedrag_flwr.privacy.durable import DurableFile

_SCHEMA = """CREATE TABLE IF NOT EXISTS spent (
    entity TEXT NOT NULL, purpose TEXT NOT NULL, epsilon REAL NOT NULL, PRIMARY KEY (entity, purpose)) WITHOUT ROWID"""
_SLACK = 1e-9  # epsilons are added as floats


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

    def spend(self, entity: str, purpose: str, epsilon: float) -> None:
        """Record, durably and before it is used, that an entity spends epsilon for a purpose.

        The same purpose is paid once: what is drawn for it is kept and only read again.

        Raises
        ------
        BudgetError
            If the entity would exceed the limit; then nothing is recorded.
        """
        with self._file.writing() as connection:
            row = connection.execute(
                "SELECT epsilon FROM spent WHERE entity=? AND purpose=?", (entity, purpose)
            ).fetchone()
            if row is not None and row[0] >= epsilon:
                return
            total = connection.execute(
                "SELECT TOTAL(epsilon) FROM spent WHERE entity=? AND purpose<>?", (entity, purpose)
            ).fetchone()[0]
            if total + epsilon > self.limit + _SLACK:
                raise BudgetError(
                    f"an entity has spent {total:g} of {self.limit:g} epsilon",
                    where="budget-limit",
                    fix="raise it knowingly",
                )
            connection.execute("INSERT OR REPLACE INTO spent VALUES (?, ?, ?)", (entity, purpose, epsilon))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
