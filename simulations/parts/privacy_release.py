"""What passes the export filter under a mechanism, and which names the export filter replaced where."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.loaded_models import Models
from fedrag_flwr.privacy import (
    DEFAULT_MASK_TYPES,
    SENSITIVE_TYPES,
    EntityPartition,
    LocalDifferentialPrivacy,
    PrivacyMode,
    RandomisedResponse,
    SurrogateMemo,
    make_export_filter,
)
from fedrag_flwr.privacy.bundles import item_bundle
from fedrag_flwr.privacy.masking import entity_masks
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.randomised_response import OutOfVocabulary, Randomness
from fedrag_flwr.privacy.rewriting import placeholder, rewrite
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.base import Pipeline
from simulations.corpora.privacy_corpus import DEVICE, Corpus

MASKED = tuple(dict.fromkeys((*DEFAULT_MASK_TYPES, *SENSITIVE_TYPES)))  # what FD-RAG D.3 masks, and identifiers


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A way to share; epsilon, the least group size and what becomes of other names only where surrogates are drawn."""

    name: str
    mode: PrivacyMode
    epsilon: float = 0.0
    size: int = 0
    unknown: OutOfVocabulary = "mask"


@dataclass(frozen=True, slots=True)
class Slot:
    """One name in one memory that the export filter replaces.

    `note` is the memory's text with the name's placeholder in its place, all else as it is; `covered` says that the
    name is in the partition.
    """

    item: MemoryItem
    kind: str
    text: str
    note: str
    covered: bool

    @property
    def name(self) -> str:
        """The name in normal form."""
        return normal_name(self.text)

    @property
    def place(self) -> str:
        """The placeholder."""
        return placeholder(self.kind)


@dataclass(frozen=True, slots=True)
class Shared:
    """What passed: memories by the own id behind them, what was kept back, and each drawn name's surrogate."""

    items: Mapping[str, MemoryItem]
    withheld: Mapping[str, int]
    surrogates: Mapping[str, str]
    by_hyperedge: Mapping[str, tuple[MemoryItem, ...]]

    def beside(self, item: MemoryItem) -> list[MemoryItem]:
        """The shared memories that show a hyperedge in common with a shared one, that one first."""
        shown = self.items[item.id]
        near = {other.id: other for edge in shown.hyperedges for other in self.by_hyperedge[edge]}
        return [shown, *(other for other in near.values() if other.id != shown.id)]


def find_slots(corpus: Corpus, partition: EntityPartition, pipeline: Pipeline, folder: Path) -> list[Slot]:
    """Find every name of a sensitive type as the filter finds it and in full; each name once in a memory."""
    response = RandomisedResponse(partition, 1.0, SurrogateMemo(folder / "unused.sqlite"))
    bundles = [corpus.register.tell(item_bundle(item)) for item in corpus.items]
    found = LocalDifferentialPrivacy(pipeline, response).entities(bundles)
    slots = []
    for item, bundle, forms in zip(corpus.items, bundles, found, strict=True):
        names: set[str] = set()
        for form in forms:
            name = normal_name(form.text)
            if name not in names and holds(item, name):
                names.add(name)
                note = " ".join(rewrite(bundle, entity_masks(form)).prose)
                covered = partition.find(form.type, form.text) is not None
                slots.append(Slot(item, form.type, form.text, note, covered))
    return slots


def holds(item: MemoryItem, name: str) -> bool:
    """Whether a name in normal form can be read in a memory: in question, answer or anchors, in any case."""
    text = " | ".join(map(normal_name, (item.question, item.answer, *item.anchors)))
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def release(
    corpus: Corpus,
    slots: Sequence[Slot],
    mechanism: Mechanism,
    partition: EntityPartition | None,
    models: Models,
    folder: Path,
    source: Randomness,
) -> Shared:
    """Pass all memories through a fresh device's export filter."""
    export = make_export_filter(
        mechanism.mode,
        encoder=models.encoder,
        pipeline=models.pipeline,
        opaque=_hide,
        device=DEVICE,
        mask_types=MASKED,
        partition=partition,
        folder=folder,
        epsilon=mechanism.epsilon or None,
        out_of_vocabulary=mechanism.unknown,
        source=source,
    )
    export.names.know(corpus.register)
    passed = export.release_items(corpus.items)
    own = {_hide(item.id): item.id for item in corpus.items}
    by_hyperedge: defaultdict[str, list[MemoryItem]] = defaultdict(list)
    for shown in passed.items:
        for edge in shown.hyperedges:
            by_hyperedge[edge].append(shown)
    return Shared(
        {own[shown.id]: shown for shown in passed.items},
        passed.withheld,
        _surrogates(slots, partition, mechanism.epsilon, folder, source) if partition else {},
        {edge: tuple(items) for edge, items in by_hyperedge.items()},
    )


def _surrogates(
    slots: Sequence[Slot], partition: EntityPartition, epsilon: float, folder: Path, source: Randomness
) -> dict[str, str]:
    """Read what the export filter has drawn out of the device's own memory."""
    response = RandomisedResponse(partition, epsilon, SurrogateMemo(folder / "surrogates.sqlite"), source=source)
    covered = [slot for slot in slots if slot.covered]
    drawn = response.perturb([(slot.kind, slot.text) for slot in covered])
    return {slot.name: surrogate.name for slot, surrogate in zip(covered, drawn, strict=True)}


def _hide(own_id: str) -> str:
    return hmac.new(b"benchmark", own_id.encode(), hashlib.sha256).hexdigest()[:32]
