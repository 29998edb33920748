"""The fused bank at the server: what devices shared, and what they get of it: merged, within quotas, and composed."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.change import content_id
from fedrag_flwr.memory.composition import compose
from fedrag_flwr.memory.fusing import FUSION, FusionRules, merge, owned
from fedrag_flwr.memory.paging import MOST_PAGES, PAGE_BYTES, cut
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import (
    NOTHING_PENDING,
    START,
    Cursor,
    Delta,
    ImportReport,
    MemoryItem,
    Pending,
    ShareRequest,
)
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import Pipeline

BANK_ID = "bank-id"
MOST_COMPOSED = 6_000


@dataclass(frozen=True, slots=True)
class FusionReport:
    """How many memories of devices were left, how many are of several, were composed, and fell to the quota."""

    kept: int
    merged: int
    composed: int
    over_quota: int


class MemoryBank:
    """Fuses deltas of devices (FD-RAG eq. 18) and gives each device what it lacks.

    It lasts between runs: a device sends only what is new since its last upload, and gets only what is new since its
    last download. It keeps what devices shared apart from what it made of that, so that a memory which a device
    withdraws is gone from everything at the next fusion.

    Parameters
    ----------
    received, fused
        What devices shared, and what they get; all of it is foreign to the bank.
    encoder, pipeline
        Encode and analyse the questions that fusion composes.
    bridges_per_item
        Two-hop memories composed for each memory; 0 for none.
    rules
        When memories say the same, and how often one device may say it.
    seed
        Chooses among more two-hop memories than the bank keeps.
    page_bytes
        Bytes of one page of what a device gets.
    """

    def __init__(
        self,
        received: MemoryStore,
        fused: MemoryStore,
        encoder: Encoder,
        pipeline: Pipeline,
        bridges_per_item: int,
        rules: FusionRules,
        seed: int,
        page_bytes: int,
    ) -> None:
        self._received = received
        self._fused = fused
        self._encoder = encoder
        self._pipeline = pipeline
        self._bridges_per_item = bridges_per_item
        self._rules = rules
        self._seed = seed
        self._page_bytes = page_bytes
        if fused.meta(BANK_ID) is None:
            fused.set_meta(BANK_ID, f"bank-{secrets.token_hex(8)}")

    @classmethod
    def open(
        cls,
        root: Path,
        encoder: Encoder,
        pipeline: Pipeline,
        *,
        bridges_per_item: int = 0,
        rules: FusionRules | None = None,
        seed: int = 0,
        page_bytes: int = PAGE_BYTES,
        most_pages: int = MOST_PAGES,
    ) -> MemoryBank:
        """Open the bank in a directory, or make it; a device's delta comes in at most so many pages."""
        identity = {"device": "bank", "encoder": encoder.id, "dimension": str(encoder.dimension)}
        received, fused = (
            MemoryStore.open(root / part, identity, most_pages=most_pages) for part in ("received", "fused")
        )
        return cls(received, fused, encoder, pipeline, bridges_per_item, rules or FusionRules(), seed, page_bytes)

    @property
    def id(self) -> str:
        """The bank's id; a bank that was made anew has another."""
        return self._fused.meta(BANK_ID) or ""

    @property
    def encoder_id(self) -> str:
        """The encoder that made the vectors in the bank."""
        return self._encoder.id

    @property
    def version(self) -> int:
        """Grows with each change of what devices get."""
        return self._fused.version

    def items(self) -> list[MemoryItem]:
        """All memories that devices get."""
        return self._fused.items()

    def known_of(self, device: str) -> ShareRequest:
        """What the bank has of a device: ask it with this for the rest."""
        generation, _, since = (self._received.meta(f"shared {device}") or " 0").rpartition(" ")
        return ShareRequest("memories", int(since), generation, self._received.pending(device))

    def take(self, delta: Delta) -> ImportReport:
        """Take a device's delta, or a page of it, which speaks for that device alone; the last page makes it count.

        Raises
        ------
        WireError
            If it goes on from a version that the bank does not have, or a page from another than the last.
        """
        known = self.known_of(delta.origin)
        if delta.since and (delta.since, delta.generation) != (known.since, known.generation):
            raise WireError("the delta goes on from a version that the bank does not have", where="Delta")
        report = self._received.import_delta(delta, one_origin=True, snapshot=delta.since == 0)
        if report.next == START:
            self._received.set_meta(f"shared {delta.origin}", f"{delta.generation} {delta.version}")
        return report

    def fuse(self) -> FusionReport:
        """Merge what devices share, cut what floods, and compose two-hop memories over what is left.

        Two memories meet where one's answer is a name that the other's question holds.
        """
        merging = merge(self._received.items(), self._rules)
        composed = self._composed([item if item.origin == FUSION else owned(item) for item in merging.items])
        made = Delta(self.id, 0, self._received.version, (*merging.items, *composed), ())
        self._fused.import_delta(made, snapshot=True)
        merged = sum(item.origin == FUSION for item in merging.items)
        return FusionReport(len(merging.items), merged, len(composed), merging.over_quota)

    def delta_for(self, device: str, bank: str, version: int, pending: Pending = NOTHING_PENDING) -> Delta:
        """The next page of what a device lacks that took in a bank up to a version; all of it where that was another.

        Parameters
        ----------
        device
            The device's name; what it alone shared is left out.
        bank, version
            The bank that the device has, and its version.
        pending
            The pages that the device has beyond that.
        """
        bank_id, newest = self.id, self.version
        since = version if bank == bank_id and version <= newest else 0
        gone = self._fused.retracted_since(since, own=False) if since else []
        after = pending.place(bank_id, since, newest)

        def read(place: Cursor, most: int) -> list[tuple[Cursor, MemoryItem]]:
            return self._fused.changes(since, place, most, own=False, but=device)

        page = cut(gone, read, after, self._page_bytes)
        return Delta(
            origin=bank_id,
            generation=bank_id,
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

    def _composed(self, parts: Sequence[MemoryItem]) -> tuple[MemoryItem, ...]:
        limit = MOST_COMPOSED if self._bridges_per_item else 0
        composites = compose(parts, self._bridges_per_item, np.random.default_rng(self._seed), limit=limit)
        known = {item.id: item for item in self._fused.items(origin=FUSION)}
        ids = [content_id(composite.question, composite.answer, *composite.parts) for composite in composites]
        new = [(item_id, c) for item_id, c in zip(ids, composites, strict=True) if item_id not in known]
        questions = [composite.question for _, composite in new]
        vectors, analyses = self._encoder.encode(questions), self._pipeline.questions(questions)
        made = {
            item_id: MemoryItem(
                id=item_id,
                question=composite.question,
                answer=composite.answer,
                kind=composite.kind,
                answer_type=composite.answer_type,
                hyperedges=composite.hyperedges[:16],
                anchors=item_anchors(analysis, composite.answer_type),
                embedding=vector,
                origin=FUSION,
            )
            for (item_id, composite), vector, analysis in zip(new, vectors, analyses, strict=True)
        }
        return tuple({item_id: known[item_id] if item_id in known else made[item_id] for item_id in ids}.values())
