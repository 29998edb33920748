"""From an answer back to documents: answer, memory item, hyperedge, passage, document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import Answer

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
    """Follow each of an answer's sources to documents of this device, or to the border of another.

    Parameters
    ----------
    store
        The device's store.
    device
        The device's name.
    answer
        With sources as ``origin/id``; opaque ids of this device are resolved.
    """
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
