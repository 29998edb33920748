"""A device's opaque ids as the function that its privacy door asks for."""

from __future__ import annotations

from collections.abc import Iterable

from fedrag_flwr.memory.store import MemoryStore


class OpaqueIds:
    """The opaque ids of one store, with many made in one write.

    Parameters
    ----------
    store
        Makes the ids and remembers them, so that it can resolve them later.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._made: dict[str, str] = {}

    def prepare(self, *groups: Iterable[str]) -> None:
        """Make opaque ids for many own ids at once."""
        self._made.update(self._store.opaque("own", {own for group in groups for own in group} - self._made.keys()))

    def __call__(self, own_id: str) -> str:
        if own_id not in self._made:
            self.prepare([own_id])
        return self._made[own_id]
