"""Small documents, memories and whole changes for the store's tests, and what a store holds as plain values."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change, NewDocument, Rejected
from fedrag_flwr.memory.store.writer import Writer
from fedrag_flwr.records import Delta, Document, Fact, Granularity, Hyperedge, MemoryItem, Passage, Sentence

DIMENSION = 8
IDENTITY = {"device": "a", "dimension": str(DIMENSION), "encoder": "mini"}
PER_DOCUMENT = 2  # passages, and sentences in each passage


class ByOne(MemoryStore):
    """A store whose versions grow by one, so that a test can tell them."""

    def _writer(self, connection: sqlite3.Connection) -> Writer:
        writer = super()._writer(connection)
        writer._version = writer._version_before + 1
        return writer


def open_store(path: Path, **identity: str) -> MemoryStore:
    return ByOne.open(path, IDENTITY | identity)


def unit_vector(name: str, dimension: int = DIMENSION) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def unit_vectors(names: Sequence[str], dimension: int = DIMENSION) -> NDArray[np.float32]:
    return np.array([unit_vector(name, dimension) for name in names], dtype=np.float32).reshape(len(names), dimension)


def new_document(
    name: str,
    edition: int = 0,
    *,
    passages: int = PER_DOCUMENT,
    sentences: int = PER_DOCUMENT,
    dimension: int = DIMENSION,
) -> NewDocument:
    """A document whose unit ids stay from edition to edition while its texts and vectors change."""
    made = []
    for place in range(passages):
        passage = f"{name}/{place}"
        inner = tuple(
            Sentence(
                f"{passage}/{row}",
                passage,
                f"Sentence {row} of {passage}, edition {edition}.",
                (Fact(f"Fact {row}", "ORG", f"fact {row} {name}"),),
            )
            for row in range(sentences)
        )
        made.append(Passage(passage, name, f"Title of {name}", " ".join(line.text for line in inner), inner))
    text = "\n".join(passage.text for passage in made)
    lines = [sentence.text for passage in made for sentence in passage.sentences]
    return NewDocument(
        Document(name, f"Title of {name}", text, hashlib.sha256(text.encode()).hexdigest()),
        tuple(made),
        unit_vectors([passage.text for passage in made], dimension),
        unit_vectors(lines, dimension),
    )


def hyperedge(name: str, members: Sequence[str], weights: Sequence[float] | None = None) -> Hyperedge:
    grain = "sentence" if members[0].count("/") == 2 else "paragraph"
    return Hyperedge(
        name,
        "sentence" if grain == "sentence" else "paragraph",
        tuple(members),
        tuple(weights or [1.0] * len(members)),
        unit_vector(f"edge {name} {members}"),
    )


def memory(
    name: str,
    support: Sequence[str] = (),
    *,
    origin: str = "a",
    edition: int = 0,
    hyperedges: Sequence[str] = (),
    anchors: Sequence[str] = (),
    dimension: int = DIMENSION,
) -> MemoryItem:
    return MemoryItem(
        id=name,
        question=f"What is {name}, edition {edition}?",
        answer=f"It is {name}.",
        kind="single",
        answer_type="ORG",
        hyperedges=tuple(hyperedges),
        anchors=tuple(anchors) or (name, "common"),
        embedding=unit_vector(f"{name} {edition}", dimension),
        origin=origin,
        support=tuple(support),
    )


def rejected(name: str, support: Sequence[str]) -> Rejected:
    one = memory(name, support)
    return Rejected(name, one.question, one.answer, one.kind, one.answer_type, one.support, one.embedding)


def plain_held(held: Rejected) -> tuple[object, ...]:
    said = (held.id, held.question, held.answer, held.kind, held.answer_type, held.support)
    return (*said, held.embedding.tobytes())


def delta(
    *items: MemoryItem, retracted: Sequence[str] = (), since: int = 0, version: int = 1, origin: str = "shared-memory"
) -> Delta:
    return Delta(origin, since, version, tuple(items), tuple(retracted))


def plain_item(item: MemoryItem) -> tuple[object, ...]:
    return (
        *(item.id, item.question, item.answer, item.kind, item.answer_type, item.hyperedges, item.anchors),
        *(item.embedding.tobytes(), item.origin, item.support),
    )


def check_index(store: MemoryStore, granularity: Granularity) -> None:
    """See that the index of a granularity finds its units, and nothing else, by their vectors."""
    units, index = store.units(granularity), store.index(granularity)
    assert len(index) == len(units.ids)
    scores, names = index.search(units.vectors, len(units.ids))
    place, cosines = {unit: row for row, unit in enumerate(units.ids)}, units.vectors @ units.vectors.T
    for row, found in enumerate(names):
        assert sorted(found) == list(units.ids)
        np.testing.assert_allclose(scores[row], cosines[row, [place[unit] for unit in found]], atol=1e-5)


def plain_edge(edge: Hyperedge) -> tuple[object, ...]:
    return (edge.id, edge.granularity, edge.members, edge.weights, edge.prototype.tobytes())


def snapshot(store: MemoryStore) -> dict[str, object]:
    """Everything that a store holds and that does not depend on how it came about."""
    held: dict[str, object] = {
        "documents": [store.document(document) for document in store.digests()],
        "passages": store.passages(),
        "sentences": store.sentences(),
        "hyperedges": [plain_edge(edge) for edge in store.hyperedges()],
        "items": [plain_item(item) for item in store.items()],
        "rejected": [plain_held(held) for held in store.rejected()],
        "by model": store.written_by_model(),
        "to remember": store.documents_without_memories(),
    }
    for granularity in ("paragraph", "sentence"):
        units = store.units("paragraph" if granularity == "paragraph" else "sentence")
        held[granularity] = (units.ids, units.vectors.tobytes())
    return held


def two_documents() -> Change:
    """Two documents, two hyperedges that span both, one memory of each document and one of both."""
    return Change(
        documents=(new_document("d1"), new_document("d2")),
        hyperedges=(
            hyperedge("h1", ["d1/0/0", "d2/0/0"], [0.75, 0.5]),
            hyperedge("h2", ["d1/0/1", "d1/1/0"]),
            hyperedge("p1", ["d1/0", "d2/1"]),
        ),
        items=(memory("m1", ["d1/0/1"]), memory("m2", ["d2/0/0"]), memory("m12", ["d1/0/0", "d2/0/1"])),
        remembered=("d1", "d2"),
    )
