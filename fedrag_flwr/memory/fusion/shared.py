"""The shared memory at the server: what devices shared, and what they get of it: merged, and within quotas."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.fusion.incremental import IncrementalMerge, counts
from fedrag_flwr.memory.fusion.merge import FusionRules, Words
from fedrag_flwr.memory.store import MemoryStore, item_rows
from fedrag_flwr.memory.store.change import shared_id
from fedrag_flwr.memory.store.pages import PAGE_BYTES, cut
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import (
    NOTHING_PENDING,
    Cursor,
    Delta,
    ImportReport,
    MemoryItem,
    Pending,
    ShareRequest,
)
from fedrag_flwr.text.pipeline import Pipeline

SHARED_ID = "shared-id"  # meta key: the shared memory's id
MOST_RECEIVED = 1_000_000  # memories of all devices; of each a fifth
_AT_ONCE = 1_000
_MERGED = "merged"  # meta key in both stores: under which rules they were merged, and a mark of this merge
_TAKEN = "shared {}"  # what was taken of a device
_RULES = 2  # grows when the same memories come to be fused otherwise


class FusedStore(MemoryStore):
    """What devices get: memories of others that go on to others, so that retractions go on, too."""

    _passes_on = True

    def ids(self) -> set[str]:
        """The ids of all memories."""
        with self._database.reading() as connection:
            return {row[0] for row in connection.execute("SELECT id FROM items")}

    def put_made(self, items: Iterable[MemoryItem], gone: Callable[[], Iterable[str]]) -> None:
        """Put memories that fusion made, and remove others, in one step.

        Parameters
        ----------
        items
            Memories; what is equal to what is there is not written. Read first, a thousand at a time.
        gone
            Gives the ids that go, once all of `items` was read.
        """
        with self._database.writing() as connection:
            writer = self._writer(connection)
            waiting = iter(items)
            while fresh := {item.id: item for item in islice(waiting, _AT_ONCE)}:
                there = {item.id: item for item in item_rows.items(connection, self._dimension, ids=list(fresh))}
                for item in fresh.values():
                    writer.put_foreign(item, there.get(item.id))
            writer.retract_foreign(list(gone()))
            writer.settle()
        if writer.removed:
            self._forget()


@dataclass(frozen=True, slots=True)
class FusionReport:
    """How many memories of devices were left, how many are of several, and fell to the quota."""

    kept: int
    merged: int
    over_quota: int


class SharedMemory:
    """Fuses deltas of devices (FD-RAG eq. 18) and gives each device what it lacks.

    It lasts between runs: a device sends only what is new since its last upload, and gets only what is new since its
    last download. It keeps what devices shared apart from what it made of that, so that a memory which a device
    withdraws is gone from everything at the next fusion.

    Parameters
    ----------
    root
        The folder of two stores: of what devices shared, and of what they get; all of it is foreign to the server.
    encoder, pipeline
        Encode and analyse the questions whose devices do not agree.
    rules
        When memories say the same, and how often one device may say it.
    page_bytes
        Bytes of one page of what a device gets.
    """

    def __init__(
        self,
        root: Path,
        encoder: Encoder,
        pipeline: Pipeline,
        *,
        rules: FusionRules | None = None,
        page_bytes: int = PAGE_BYTES,
    ) -> None:
        identity = {"device": "server", "encoder": encoder.id, "dimension": str(encoder.dimension)}
        self._received = MemoryStore.open(root / "received", identity, foreign_limit=MOST_RECEIVED)
        self._fused = FusedStore.open(root / "fused", identity)
        self._encoder = encoder
        self._pipeline = pipeline
        self._rules = rules or FusionRules()
        self._page_bytes = page_bytes
        if self._fused.meta(SHARED_ID) is None:
            self._fused.set_meta(SHARED_ID, f"shared-memory-{secrets.token_hex(8)}")

    @property
    def id(self) -> str:
        """Its id; a shared memory that was made anew has another."""
        return self._fused.meta(SHARED_ID) or ""

    @property
    def encoder_id(self) -> str:
        """The encoder that made all vectors."""
        return self._encoder.id

    @property
    def version(self) -> int:
        """Grows with each change of what devices get."""
        return self._fused.version

    def items(self) -> list[MemoryItem]:
        """All memories that devices get."""
        return self._fused.items()

    def known_of(self, device: str) -> ShareRequest:
        """What is here of a device: ask it with this for the rest, or for all where there is room again."""
        generation, since = self._taken(device)
        since = 0 if self._received.wants_all(device) else since
        return ShareRequest(since, generation, self._received.pending(device))

    def take(self, delta: Delta) -> ImportReport:
        """Take a device's delta, or a page of it, which speaks for that device alone; the last page makes it count.

        Whatever ids a device gives its memories, they are kept under others, which are no other device's. Raises
        WireError if it goes on from a version that is not here, or a page from another than the last.
        """
        if delta.since and (delta.generation, delta.since) != self._taken(delta.origin):
            raise WireError("the delta goes on from a version that the server does not have", where="Delta")
        known_now = {_TAKEN.format(delta.origin): f"{delta.generation} {delta.version}"}
        return self._received.import_delta(_apart(delta), one_origin=True, snapshot=delta.since == 0, meta=known_now)

    def fuse(self) -> FusionReport:
        """Merge what devices share, and cut what floods: what changed since the last time, and what that touches.

        Everything is merged where that is not known. What devices get is written first: if this is cut after that, the
        two stores bear other marks, and the next time everything is merged.
        """
        self._merge()
        with self._received.database.reading() as connection:
            return FusionReport(*counts(connection))

    def _merge(self) -> None:
        rules = f"{_RULES} {self._rules.near} {self._rules.quota} "
        before = self._received.meta(_MERGED) or ""
        words = Words(self._encoder.encode, self._pipeline.questions)
        with self._received.database.writing() as connection:
            merging = IncrementalMerge(connection, self._received.dimension, self._rules, words)
            whole = not before.startswith(rules) or before != self._fused.meta(_MERGED)
            if whole:
                merging.clear()
            keys = merging.touched()
            if not keys and not whole:
                return
            held = self._fused.ids()
            self._fused.put_made(merging.made(keys), lambda: held - merging.shown())
            mark = f"{rules}{secrets.token_hex(8)}"
            self._fused.set_meta(_MERGED, mark)
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_MERGED, mark))

    def delta_for(self, device: str, known: str, version: int, pending: Pending = NOTHING_PENDING) -> Delta:
        """The next page of what a device lacks that took in a shared memory up to a version.

        All of it comes where that was another one, or this one before it was put back from a backup.

        Parameters
        ----------
        device
            The device's name; what it alone shared is left out.
        known, version
            The id of the shared memory that the device has, and its version.
        pending
            The pages that the device has beyond that.
        """
        own, newest = self.id, self.version
        since = version if known == own and self._fused.gave_version(version) else 0
        self._fused.give_version(newest)
        gone = self._fused.retracted_since(since, own=False) if since else []
        after = pending.place(own, since, newest)

        def read(place: Cursor, most: int) -> list[tuple[Cursor, MemoryItem]]:
            return self._fused.changes(since, place, most, own=False, but=device)

        page = cut(gone, read, after, self._page_bytes)
        return Delta(
            origin=own,
            generation=own,
            since=since,
            version=newest,
            items=page.items,
            retracted=page.retracted,
            after=after,
            next=page.next,
        )

    def close(self) -> None:
        """Close the stores."""
        self._received.close()
        self._fused.close()

    def _taken(self, device: str) -> tuple[str, int]:
        """The generation and the version of a device that were taken last; "" and 0 where there are none."""
        generation, _, since = (self._received.meta(_TAKEN.format(device)) or " 0").rpartition(" ")
        return generation, int(since)


def _apart(delta: Delta) -> Delta:
    """A device's delta under the ids that are kept here; a memory without an id stays one, and is refused."""
    items = tuple(replace(item, id=item.id and shared_id(delta.origin, item.id)) for item in delta.items)
    return replace(delta, items=items, retracted=tuple(shared_id(delta.origin, name) for name in delta.retracted))
