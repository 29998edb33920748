"""The device's memory of its surrogates: one entity keeps one surrogate, whatever happens to the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedrag_flwr.privacy.durable import DurableFile

_SCHEMA = """CREATE TABLE IF NOT EXISTS surrogates (
    entity TEXT NOT NULL, partition TEXT NOT NULL, epoch INTEGER NOT NULL, surrogate TEXT NOT NULL,
    PRIMARY KEY (entity, partition, epoch)) WITHOUT ROWID"""
_AT_ONCE = 500


class SurrogateMemo:
    """Surrogates by entity, partition version and epoch; fresh noise at each upload would let a reader average.

    Parameters
    ----------
    path
        The device's own file. It holds digests of entities, and names of the public partition.
    """

    def __init__(self, path: Path) -> None:
        self._file = DurableFile(path, "surrogate memo", _SCHEMA, 1)

    def get(self, entities: Sequence[str], partition: str, epoch: int) -> dict[str, str]:
        """Look up the surrogates of entity digests; those that have none yet are left out."""
        found: dict[str, str] = {}
        with self._file.reading() as connection:
            for start in range(0, len(entities), _AT_ONCE):
                some = entities[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                query = (
                    f"SELECT entity, surrogate FROM surrogates WHERE partition=? AND epoch=? AND entity IN ({marks})"
                )
                found.update(connection.execute(query, (partition, epoch, *some)).fetchall())
        return found

    def keep(self, drawn: Mapping[str, str], partition: str, epoch: int) -> dict[str, str]:
        """Write surrogates durably and give the ones that count: what was written first wins."""
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO surrogates VALUES (?, ?, ?, ?)",
                [(entity, partition, epoch, surrogate) for entity, surrogate in drawn.items()],
            )
        return self.get(list(drawn), partition, epoch)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
