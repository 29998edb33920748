"""What a device shares of its memories since another party heard of it last, and what it takes back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedrag_flwr.errors import StaleMessageError, WireError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import shared_id
from fedrag_flwr.memory.store.imports import SHARED_VERSION
from fedrag_flwr.memory.store.pages import Page, Read, cut, weight
from fedrag_flwr.privacy.export import ExportFilter, Released
from fedrag_flwr.records import Cursor, Delta, ImportReport, MemoryItem, ShareRequest

SHARED_MEMORY = "shared-memory"  # meta key: the id of the shared memory that was taken in last
SHARED = "shared"  # meta key: the latest version of the store that others may know of


class OpaqueIds:
    """The store's opaque ids as a function, with many made in one write.

    They are made anew of each version of the store, which forgets them with what goes, even where that comes again.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._made: dict[str, str] = {}
        self._version = -1  # of the store that they were made of

    def prepare(self, *groups: Iterable[str]) -> None:
        """Make opaque ids for many own ids at once."""
        made = self._present()
        made |= self._store.opaque("own", {own for group in groups for own in group} - made.keys())

    def __call__(self, own_id: str) -> str:
        made = self._present()
        if own_id not in made:
            made |= self._store.opaque("own", [own_id])
        return made[own_id]

    def _present(self) -> dict[str, str]:
        """What was made of the store as it is."""
        if self._version != (version := self._store.version):
            self._made, self._version = {}, version
        return self._made


@dataclass(frozen=True, slots=True)
class Sharing:
    """How a device shares its memories."""

    device: str  # the device's name
    # store, export, hide: the device's memories, what lets them leave, and its opaque ids.
    store: MemoryStore
    export: ExportFilter
    hide: OpaqueIds
    page_bytes: int  # bytes that a page may take on the wire

    def page(self, request: ShareRequest, generation: str) -> Delta:
        """Release a page of what came, changed or went since the version that a request names; raises PrivacyError if
        an operator of the export filter fails; nothing is shared then.

        Where the other side knows another generation, or a version from before the store was put back from a backup,
        everything is sent; where it has pages of another version than the present one, they come again from the first.
        A memory that was shared before the filter learnt a name in it counts as changed: it is sent as the filter now
        writes it, or withdrawn where it may no longer leave.
        """
        delta = self._release(request, generation)
        while self._recall_outdated():
            delta = self._release(request, generation)
        self.store.give_version(delta.version)
        if delta.version > self._shared():
            self.store.set_meta(SHARED, str(delta.version))
        return delta

    def _release(self, request: ShareRequest, generation: str) -> Delta:
        """Pass the page of the store's present version that the request asks for through the export filter."""
        version = self.store.own_version()  # what is imported meanwhile does not count
        known = request.generation == generation and self.store.gave_version(request.since)
        since = request.since if known else 0
        after = request.pending.place(generation, since, version)
        gone = self.store.retracted_since(since) if since else []

        def read(place: Cursor, most: int) -> list[tuple[Cursor, MemoryItem]]:
            return self.store.changes(since, place, most, own=True)

        page, released = self._page_of(read, gone, after, self.page_bytes)
        shown = {item.id for item in released.items}
        kept = [item.id for item in page.items] if since else []  # what may no longer leave may be known from before
        return Delta(
            origin=self.device,
            generation=generation,
            since=since,
            version=version,
            items=released.items,
            retracted=tuple(name for name in map(self.hide, (*page.retracted, *kept)) if name not in shown),
            after=after,
            next=page.next,
        )

    def _page_of(self, read: Read, gone: Sequence[str], after: Cursor, size: int) -> tuple[Page, Released[MemoryItem]]:
        """One page and what the filter lets pass of it; a smaller one where the filter makes the texts much longer."""
        page = cut(gone, read, after, size)
        edges = (edge for item in page.items for edge in item.hyperedges)
        self.hide.prepare(page.retracted, (item.id for item in page.items), edges)
        names = {shared_id(self.device, self.hide(item.id)): item.id for item in page.items}
        self.store.lead_back("own", names)  # by these the server gives them to others
        released = self.export.release_items(page.items)
        if len(page.items) > 1 and sum(map(weight, released.items)) > 2 * size:
            return self._page_of(read, gone, after, size // 2)
        return page, released

    def _recall_outdated(self) -> bool:
        """Withdraw memories that were shared before the export filter learnt a name in them; whether there were any."""
        names = self.export.names.pending()
        known = self.store.items(origin=self.device, until=self._shared()) if names else []
        outdated = self.export.names.holding(known, names) if names else []
        if outdated:
            self.store.recall(outdated)
        self.export.names.settle(names)
        return bool(outdated)

    def _shared(self) -> int:
        return int(self.store.meta(SHARED) or 0)


def shared_memory_of(store: MemoryStore) -> tuple[str, int]:
    """The id and the version of the shared memory beyond which a device lacks it; version 0 where it wants all."""
    known, version = _taken(store)
    return known, 0 if store.wants_all() else version


def take_shared_memory(store: MemoryStore, delta: Delta) -> ImportReport:
    """Take in others' memories; what is malformed is refused and counted by reason; raises WireError where the delta
    goes on from a shared memory that the device does not have, or ends before what it has.

    Of a delta in pages each but the last is put aside: until then the shared memory is what it was, and so it is where
    the last one is refused.
    """
    known, version = _taken(store)
    if delta.since and (delta.origin != known or delta.since > version):
        raise WireError("the delta goes on from a shared memory that this device does not have", where="Delta")
    if delta.since and delta.version < version:
        raise StaleMessageError("the delta ends before what this device has of the shared memory", where="Delta")
    return store.import_delta(delta, snapshot=delta.since == 0, meta={SHARED_MEMORY: delta.origin})


def _taken(store: MemoryStore) -> tuple[str, int]:
    """The id and the version of the shared memory that was taken in last; "" and 0 where there is none."""
    return store.meta(SHARED_MEMORY) or "", int(store.meta(SHARED_VERSION) or 0)
