"""Building a device's memory: what changed is read, learnt and distilled; the rest stays as it is."""

from __future__ import annotations

import hashlib
import resource
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.hypergraph import LearningSettings, Units, learn, update
from fedrag_flwr.inference.memorizer import type_anchor
from fedrag_flwr.memory.store import Change, MemoryStore, NewDocument
from fedrag_flwr.memory.synthesis import Draft, Synthesis
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import BuildReport, Cost, Document, Hyperedge, MemoryItem, Passage, Progress
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.folder import Reading
from fedrag_flwr.text.base import ParsedPassage, Pipeline

RELEARN_SHARE = 0.5  # with more of the units new than this, the hypergraph is learnt afresh


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What a build makes and with which settings."""

    memories: bool
    learning: LearningSettings
    seed: int

    @classmethod
    def of(cls, settings: Settings, memories: bool) -> BuildPlan:
        """The plan that a run's settings ask for."""
        return cls(memories, LearningSettings(**settings.hypergraph.model_dump()), settings.seed)


@dataclass(frozen=True, slots=True)
class _Difference:
    """How the documents differ from the store's."""

    added: tuple[Document, ...]
    changed: tuple[Document, ...]
    removed: tuple[str, ...]
    unremembered: tuple[str, ...]  # in the store, but without memories yet

    @property
    def empty(self) -> bool:
        return not (self.added or self.changed or self.removed or self.unremembered)


def difference(documents: Iterable[Document], store: MemoryStore, memories: bool) -> _Difference:
    """Compare documents with a store by their digests."""
    known = store.digests()
    present = {document.id: document for document in documents}
    changed = {i for i, document in present.items() if i in known and known[i] != document.digest}
    waiting = set(store.documents_without_memories()) if memories else set()
    return _Difference(
        added=tuple(document for i, document in present.items() if i not in known),
        changed=tuple(present[i] for i in sorted(changed)),
        removed=tuple(sorted(known.keys() - present.keys())),
        unremembered=tuple(sorted((waiting & present.keys()) - changed)),
    )
