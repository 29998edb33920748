"""What people at a device see: an answer traced back; memories, hyperedges and documents with their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fedrag_flwr import __version__
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Counts
from fedrag_flwr.memory.store.imports import SHARED_VERSION
from fedrag_flwr.memory.store.search import find_items, items_on, nearest_hyperedges
from fedrag_flwr.records import Answer, Hyperedge, MemoryItem, Sentence

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One unit that an answer rests on; at another device only `origin` and the opaque `reference` are known."""

    origin: str
    reference: str
    item: str = ""
    hyperedges: tuple[str, ...] = ()
    passage: str = ""
    document: str = ""
    title: str = ""
    text: str = ""


def trace_answer(store: MemoryStore, device: str, answer: Answer) -> list[TraceLine]:
    """Follow each of an answer's sources to documents of this device, or to the border of another."""
    lines: list[TraceLine] = []
    for source in answer.sources:
        origin, _, reference = source.partition("/")
        if origin != device:
            lines.append(TraceLine(origin, reference))
            continue
        resolved = store.resolve_opaque([reference])
        lines += _at_home(store, device, resolved[reference][1] if reference in resolved else reference)
    return list(dict.fromkeys(lines))


def _at_home(store: MemoryStore, device: str, own_id: str) -> list[TraceLine]:
    item = _found(lambda: store.item(own_id))
    if item is not None:
        return [
            line for unit_id in item.support for line in _unit_lines(store, device, own_id, unit_id, item.hyperedges)
        ]
    edge = _found(lambda: store.hyperedge(own_id))
    if edge is not None:
        return [line for unit_id in edge.members for line in _unit_lines(store, device, "", unit_id, (edge.id,))]
    return _unit_lines(store, device, "", own_id, ())


def _unit_lines(
    store: MemoryStore, device: str, item_id: str, unit_id: str, hyperedges: tuple[str, ...]
) -> list[TraceLine]:
    sentence = _found(lambda: store.sentences([unit_id])[0])
    passage_id = sentence.passage_id if sentence is not None else unit_id
    passage = _found(lambda: store.passages([passage_id])[0])
    if passage is None:
        return []
    edges = hyperedges or tuple(store.hyperedges_of([unit_id]).get(unit_id, ()))
    text = sentence.text if sentence is not None else passage.text
    return [TraceLine(device, unit_id, item_id, edges, passage.id, passage.document_id, passage.title, text)]


def _found(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except NotFoundError:
        return None


_MOST_NEIGHBOURS = 12


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A memory in a list; `own` ones were made here, and `sources` says on how many sentences they rest."""

    id: str
    question: str
    answer: str
    kind: str
    origin: str
    own: bool
    sources: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A part of a list of memories, and how long it is."""

    total: int
    offset: int
    memories: tuple[MemoryLine, ...]


@dataclass(frozen=True, slots=True)
class UnitView:
    """A sentence or passage with where it stands; `weight` is its membership where it is seen as a member, else 0."""

    id: str
    text: str
    passage: str
    document: str
    title: str
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory with the sentences that it rests on, and its hyperedges: opaque ids where another device made it."""

    memory: MemoryLine
    answer_type: str
    anchors: tuple[str, ...]
    hyperedges: tuple[str, ...]
    support: tuple[UnitView, ...]


@dataclass(frozen=True, slots=True)
class NextHyperedge:
    """A hyperedge beside another one: the cosine of their prototypes, and the text of its heaviest member."""

    id: str
    nearness: float
    text: str


@dataclass(frozen=True, slots=True)
class HyperedgeView:
    """A hyperedge with its members, the heaviest first, the memories that rest on them, and hyperedges beside it."""

    id: str
    granularity: str
    members: tuple[UnitView, ...]
    memories: tuple[MemoryLine, ...]
    beside: tuple[NextHyperedge, ...]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document with its passages, and what it brought."""

    id: str
    title: str
    passages: tuple[UnitView, ...]
    sentences: int
    hyperedges: tuple[str, ...]
    memories: tuple[MemoryLine, ...]


@dataclass(frozen=True, slots=True)
class DeviceView:
    """What a device is: its release, the versions of its own and the shared memory, its models, and what it holds."""

    name: str
    release: str
    memory_version: int
    shared_memory_version: int
    encoder: str
    generator: str
    pipeline: str
    holds: Counts


def view_device(store: MemoryStore, generator: str) -> DeviceView:
    """The device of a store, whose generator has an id."""
    made_with = store.identity
    return DeviceView(
        made_with["device"],
        __version__,
        store.version,
        int(store.meta(SHARED_VERSION) or 0),
        made_with["encoder"],
        generator,
        made_with.get("pipeline", ""),
        store.counts(),
    )


def view_memories(store: MemoryStore, words: str, offset: int, limit: int) -> MemoryPage:
    """A part of the memories whose question or answer holds each word."""
    total, items = find_items(store, words, offset, limit)
    return MemoryPage(total, offset, _lines(store, items))


def view_memory(store: MemoryStore, memory_id: str) -> MemoryView:
    """One memory; raises NotFoundError if it is not there."""
    item = store.item(memory_id)
    return MemoryView(
        _lines(store, [item])[0], item.answer_type, item.anchors, item.hyperedges, tuple(_units(store, item.support))
    )


def view_hyperedge(store: MemoryStore, hyperedge_id: str) -> HyperedgeView:
    """One hyperedge; raises NotFoundError if it is not there."""
    edge = store.hyperedge(hyperedge_id)
    heaviest = sorted(zip(edge.members, edge.weights, strict=True), key=lambda one: -one[1])
    items = [store.item(name) for name in items_on(store, edge.id)]
    return HyperedgeView(
        edge.id,
        edge.granularity,
        tuple(_units(store, [unit for unit, _ in heaviest], [weight for _, weight in heaviest])),
        _lines(store, items),
        _beside(store, edge),
    )


def view_document(store: MemoryStore, document_id: str) -> DocumentView:
    """One document; raises NotFoundError if it is not there."""
    document, brought = store.document(document_id), store.contribution(document_id)
    return DocumentView(
        document.id,
        document.title,
        tuple(_units(store, brought.passages)),
        len(brought.sentences),
        brought.hyperedges,
        _lines(store, [store.item(name) for name in brought.items]),
    )


def _beside(store: MemoryStore, edge: Hyperedge) -> tuple[NextHyperedge, ...]:
    found = nearest_hyperedges(store, edge, _MOST_NEIGHBOURS)
    heaviest = [max(zip(one.weights, one.members, strict=True))[1] for one, _ in found]
    units = _units(store, heaviest)
    return tuple(NextHyperedge(one.id, near, unit.text) for (one, near), unit in zip(found, units, strict=True))


def _units(store: MemoryStore, ids: Sequence[str], weights: Sequence[float] = ()) -> list[UnitView]:
    """Sentences, or passages, with where they stand."""
    try:
        found: list[Sentence] | None = store.sentences(ids)
    except NotFoundError:
        found = None
    passages = {one.id: one for one in store.passages([one.passage_id for one in found] if found is not None else ids)}
    shown = []
    for place, name in enumerate(ids):
        passage = passages[name if found is None else found[place].passage_id]
        text = passage.text if found is None else found[place].text
        weight = float(weights[place]) if weights else 0.0
        shown.append(UnitView(name, text, passage.id, passage.document_id, passage.title, weight))
    return shown


def _lines(store: MemoryStore, items: Sequence[MemoryItem]) -> tuple[MemoryLine, ...]:
    device = store.identity["device"]
    return tuple(
        MemoryLine(
            item.id, item.question, item.answer, item.kind, item.origin, item.origin == device, len(item.support)
        )
        for item in items
    )
