"""What a device tells its neighbours of what it holds and reaches, within a budget, and what they told it."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import BudgetError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.overlay.sketches import Levels, claim, noisy_sketch, offers
from fedrag_flwr.overlay.topics import Topics
from fedrag_flwr.overlay.walk_records import Json, WalkNotes
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.ledger import BudgetLedger
from fedrag_flwr.records import GossipReply, GossipRequest, Told
from fedrag_flwr.settings import Settings

_LOG = logging.getLogger(__name__)
SKETCHES, BUDGET = "sketches.sqlite", "sketch-budget.sqlite"
_ANY_DOCUMENT = "any document"  # the budget's entity: a sketch spends it for all documents alike


@dataclass(frozen=True, slots=True)
class DeviceSketches:
    """A device's sketch and those that its neighbours told."""

    device: str  # the device's name
    # store, export: its memory, and what lets sketches leave.
    store: MemoryStore
    export: ExportFilter
    notes: WalkNotes  # where what was told is kept
    topics: Topics  # by which documents are filed
    settings: Settings  # of the run
    kept: Path  # where sketches and their budget are kept; they outlive the store, or the budget would start anew

    def gossip(self, request: GossipRequest) -> GossipReply:
        """Keep what neighbours told, and tell each what is reached without it.

        A sketch of another length than there are topics here is left out: it costs what others told nothing.
        """
        fitting = [one for one in request.told if len(one.levels) == len(self.topics)]
        if len(fitting) < len(request.told):
            _LOG.warning("%d sketches are of other topics than here", len(request.told) - len(fitting))
        self.notes.put("told", {one.neighbour: {"levels": list(one.levels)} for one in fitting})
        known, none = self.notes.all("told"), np.zeros(len(self.topics), dtype=np.uint8)
        near = [self._levels(known[name]) if name in known else none for name in request.neighbours]
        said = offers(self.own(), np.array(near, dtype=np.uint8).reshape(-1, len(self.topics)))
        rows = zip(request.neighbours, said, strict=True)
        return GossipReply(self.device, tuple(Told(name, self.export.release_levels(row)) for name, row in rows))

    def claim(self, neighbour: str, topics: Mapping[int, float]) -> float:
        """How many documents a neighbour has promised on a question's weighted topics."""
        body = self.notes.get("told", neighbour)
        return claim(self._levels(body), topics) if body else 0.0

    def own(self) -> Levels:
        """This device's own sketch, shape (topics,).

        Documents that change make a new one as long as `privacy.budget` lasts; then the last one of the same topics
        stays. While they do not change the last one is told again, so that noise cannot be averaged away; counts that
        return are drawn and paid for anew, as an earlier sketch told again would show that they did.
        """
        named = hashlib.sha256("\x1f".join(self.topics.names).encode()).hexdigest()[:16]
        counts = self.topics.counts(document_vectors(self.store, self.topics.centroids.shape[1]))
        epsilon = self.settings.overlay.epsilon
        digest = hashlib.sha256(repr((counts.tolist(), epsilon, self.topics.names)).encode()).hexdigest()
        notes = WalkNotes(self.kept / SKETCHES)
        ledger = BudgetLedger(self.kept / BUDGET, self.settings.privacy.budget)
        try:
            kept = notes.all("sketch")
            last = next((told for told, one in reversed(kept.items()) if one.get("topics") == named), "")
            drawn = kept[digest] if digest == last else None
            if drawn is None:
                ledger.spend(_ANY_DOCUMENT, f"{digest}:{secrets.token_hex(8)}", epsilon)  # a lost sketch is paid anew
                rng = np.random.default_rng(secrets.randbits(128))
                drawn = {"topics": named, "levels": noisy_sketch(counts, epsilon, rng).tolist()}
                notes.put("sketch", {digest: drawn})
        except BudgetError:
            before = [one for one in notes.all("sketch").values() if one.get("topics") == named]
            drawn = before[-1] if before else {"levels": []}
        finally:
            notes.close()
            ledger.close()
        return self._levels(drawn)

    def _levels(self, body: Json) -> Levels:
        """A sketch as it was kept; nothing is reached where it was of other topics."""
        levels = np.array(body["levels"], dtype=np.uint8)
        return levels if len(levels) == len(self.topics) else np.zeros(len(self.topics), dtype=np.uint8)


def document_vectors(store: MemoryStore, dimension: int) -> NDArray[np.float32]:
    """A vector for each document, the direction of the sum of its passages', shape (documents, dimension)."""
    units = store.units("paragraph")
    owner = {passage.id: passage.document_id for passage in store.passages(units.ids)} if units.ids else {}
    sums: dict[str, NDArray[np.float32]] = {}
    for name, vector in zip(units.ids, units.vectors, strict=True):
        sums[owner[name]] = sums.get(owner[name], np.zeros_like(vector)) + vector
    rows = np.array(list(sums.values()), dtype=np.float32).reshape(len(sums), dimension)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), dtype=np.float32)
