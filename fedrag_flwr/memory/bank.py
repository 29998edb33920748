"""The fused bank at the server: all shared memories with their origins, and what follows from them together."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedrag_flwr.memory.change import content_id
from fedrag_flwr.memory.composition import compose
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Delta, ImportReport, MemoryItem, ShareRequest
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import Pipeline

FUSION = "fusion"  # the origin of memories that fusion composed
BANK_ID = "bank-id"
MOST_COMPOSED = 6_000


class MemoryBank:
    """Fuses deltas of devices (FD-RAG eq. 18) and gives each device what it lacks.

    It lasts between runs: a device sends only what is new since its last upload, and gets only what is new since its
    last download.

    Parameters
    ----------
    store
        Holds the shared memories; all of them are foreign to it.
    encoder, pipeline
        Encode and analyse the questions that fusion composes.
    bridges_per_item
        Two-hop memories composed for each memory; 0 for none.
    seed
        Chooses among more two-hop memories than the bank keeps.
    """

    def __init__(
        self, store: MemoryStore, encoder: Encoder, pipeline: Pipeline, bridges_per_item: int, seed: int
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._pipeline = pipeline
        self._bridges_per_item = bridges_per_item
        self._seed = seed
        if store.meta(BANK_ID) is None:
            store.set_meta(BANK_ID, f"bank-{secrets.token_hex(8)}")

    @classmethod
    def open(cls, root: Path, encoder: Encoder, pipeline: Pipeline, bridges_per_item: int, seed: int) -> MemoryBank:
        """Open the bank in a directory, or make it."""
        identity = {"device": "bank", "encoder": encoder.id, "dimension": str(encoder.dimension)}
        return cls(MemoryStore.open(root, identity), encoder, pipeline, bridges_per_item, seed)

    @property
    def id(self) -> str:
        """The bank's id; a bank that was made anew has another."""
        return self._store.meta(BANK_ID) or ""

    @property
    def encoder_id(self) -> str:
        """The encoder that made the vectors in the bank."""
        return self._encoder.id

    @property
    def version(self) -> int:
        """Grows with each change."""
        return self._store.version

    def items(self) -> list[MemoryItem]:
        """All memories in the bank."""
        return self._store.items()

    def known_of(self, device: str) -> ShareRequest:
        """What the bank has of a device: ask it with this for the rest."""
        generation, _, since = (self._store.meta(f"shared {device}") or " 0").rpartition(" ")
        return ShareRequest("memories", int(since), generation)

    def take(self, delta: Delta) -> ImportReport:
        """Take a device's delta; it speaks for that device alone."""
        report = self._store.import_delta(delta, one_origin=True, snapshot=delta.since == 0)
        self._store.set_meta(f"shared {delta.origin}", f"{delta.generation} {delta.version}")
        return report

    def fuse(self) -> int:
        """Compose two-hop memories over all devices' items, and give how many the bank holds.

        An item whose answer is a name is put, as a description, into the question of an item that holds that name.
        """
        parts = [_owned(item) for item in self._store.items() if item.origin != FUSION]
        composed = self._composed(parts)
        self._store.import_delta(Delta(FUSION, 0, self.version, composed, ()), one_origin=True, snapshot=True)
        return len(composed)

    def delta_for(self, device: str, bank: str, version: int) -> Delta:
        """What a device lacks that took in this bank up to a version; all of it where it had another bank."""
        since = version if bank == self.id and version <= self.version else 0
        return Delta(
            origin=self.id,
            generation=self.id,
            since=since,
            version=self.version,
            items=tuple(item for item in self._store.items(since=since) if item.origin != device),
            retracted=tuple(self._store.retracted_since(since, own=False)) if since else (),
        )

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _composed(self, parts: Sequence[MemoryItem]) -> tuple[MemoryItem, ...]:
        limit = MOST_COMPOSED if self._bridges_per_item else 0
        composites = compose(parts, self._bridges_per_item, np.random.default_rng(self._seed), limit=limit)
        known = {item.id: item for item in self._store.items(origin=FUSION)}
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


def _owned(item: MemoryItem) -> MemoryItem:
    """An item whose hyperedges name their owner, as those of composed items do."""
    return replace(item, hyperedges=tuple(f"{item.origin}/{edge}" for edge in item.hyperedges))
