"""The device's memory of its surrogates: one entity keeps one surrogate, whatever happens to the process."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.privacy.durable import DurableFile

MEMO = "surrogates.sqlite"
_DRAW = "draw TEXT NOT NULL DEFAULT ''"
_SCHEMA = f"""CREATE TABLE IF NOT EXISTS surrogates (
    entity TEXT NOT NULL, partition TEXT NOT NULL, epoch INTEGER NOT NULL, surrogate TEXT NOT NULL, {_DRAW},
    PRIMARY KEY (entity, partition, epoch)) WITHOUT ROWID"""
_FREE = "free"
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw that costs: of which entity, from which partition version and in which epoch.

    `id` tells it from any other draw for the same; it is empty where an earlier release drew.
    """

    entity: str
    partition: str
    epoch: int
    id: str


class SurrogateMemo:
    """Surrogates by entity, partition version and epoch; fresh noise at each upload would let a reader average.

    Parameters
    ----------
    path
        The device's own file. It holds digests of entities, and names of the public partition.
    """

    def __init__(self, path: Path) -> None:
        self._file = DurableFile(path, "surrogate memo", _SCHEMA, 1)
        with self._file.writing() as connection:
            if "draw" not in [row[1] for row in connection.execute("PRAGMA table_info(surrogates)")]:
                connection.execute(f"ALTER TABLE surrogates ADD COLUMN {_DRAW}")  # a file of an earlier release

    def get(self, entities: Sequence[str], partition: str, epoch: int) -> dict[str, str]:
        """Look up the surrogates of entity digests; those that have none yet are left out."""
        found: dict[str, str] = {}
        with self._file.reading() as connection:
            for some, listed in _in_parts(entities):
                query = f"SELECT entity, surrogate FROM surrogates WHERE partition=? AND epoch=? AND entity IN {listed}"
                found.update(connection.execute(query, (partition, epoch, *some)).fetchall())
        return found

    def draws(self, entities: Sequence[str]) -> list[Draw]:
        """Give all draws of entity digests that cost, of any partition and epoch."""
        found: list[Draw] = []
        with self._file.reading() as connection:
            for some, listed in _in_parts(entities):
                query = f"SELECT entity, partition, epoch, draw FROM surrogates WHERE draw<>? AND entity IN {listed}"
                found += [Draw(*row) for row in connection.execute(query, (_FREE, *some))]
        return found

    def keep(self, drawn: Mapping[str, str], partition: str, epoch: int, free: Collection[str] = ()) -> dict[str, str]:
        """Write surrogates durably and give the ones that count: what was written first wins.

        Those of `free` entities were drawn without a look at the entity's own name, and cost nothing.
        """
        draw = secrets.token_hex(8)
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO surrogates (entity, partition, epoch, surrogate, draw) VALUES (?, ?, ?, ?, ?)",
                [
                    (entity, partition, epoch, surrogate, _FREE if entity in free else draw)
                    for entity, surrogate in drawn.items()
                ],
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
