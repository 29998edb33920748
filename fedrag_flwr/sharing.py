"""What a device shares of its memories since another party heard of it last, and what it takes back."""

from __future__ import annotations

from collections.abc import Iterable

from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.privacy.export import ExportDoor, Released
from fedrag_flwr.records import Delta, MemoryItem

SHARED = "shared"  # meta key: the latest version of the store that others may know of


class OpaqueIds:
    """The store's opaque ids as a function, with many made in one write."""

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


def share_since(
    device: str, since: int, generation: str, store: MemoryStore, door: ExportDoor, hide: OpaqueIds
) -> Delta:
    """Release what came, changed or went after a version of the store; 0 is everything.

    A memory that was shared before the door learnt a name in it counts as changed: it is sent as the door now writes
    it, or withdrawn where it may no longer leave.

    Raises
    ------
    PrivacyError
        If an operator of the door fails; nothing is shared then.
    """
    version, released = _release(device, since, store, door, hide)
    while _recall_outdated(device, store, door):
        version, released = _release(device, since, store, door, hide)
    shown = {item.id for item in released.items}
    gone = map(hide, store.retracted_since(since) if since else [])
    if version > _shared(store):
        store.set_meta(SHARED, str(version))
    return Delta(
        origin=device,
        generation=generation,
        since=since,
        version=version,
        items=released.items,
        retracted=tuple(hidden for hidden in gone if hidden not in shown),
        withheld=tuple(f"{reason}={count}" for reason, count in released.withheld.items()),
    )


def _release(
    device: str, since: int, store: MemoryStore, door: ExportDoor, hide: OpaqueIds
) -> tuple[int, Released[MemoryItem]]:
    """Pass what changed after a version of the store through the door; with the version that it now has."""
    version = store.version
    items = store.items(origin=device, since=since)
    hide.prepare([item.id for item in items], [edge for item in items for edge in item.hyperedges])
    return version, door.release_items(items)


def _recall_outdated(device: str, store: MemoryStore, door: ExportDoor) -> bool:
    """Withdraw memories that were shared before the door learnt a name in them; whether there were any."""
    names = door.pending_names()
    outdated = door.holding(store.items(origin=device, until=_shared(store)), names) if names else []
    if outdated:
        store.recall(outdated)
    door.settle_names(names)
    return bool(outdated)


def _shared(store: MemoryStore) -> int:
    return int(store.meta(SHARED) or 0)
