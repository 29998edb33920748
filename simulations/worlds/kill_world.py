"""A device to be killed: its documents change with each edition, and it takes in a bank's delta after each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import Delta, MemoryItem
from fedrag_flwr.settings import Settings

NAME, BANK = "workshop", "bank-of-tests"
SETTINGS = Settings.from_config({"memory.tokens-per-kilotoken": 0, "hypergraph.steps": 60})
FOREIGN = 400  # memories in a delta; enough for an import to last a while
TEXTS = (
    "The glass kiln of Orvale was lit in {year}. Its master fired {count} lamps each week. Blue glass cost 4 coins.",
    "The ferry Heron crosses Lake Tamm in {count} minutes. It was built in {year}. A cook and a pilot serve on it.",
    "The orchard at Brisel grows {count} kinds of plum. It was planted in {year} by the town council.",
    "The clock tower of Nemby holds {count} bells. The largest bell was cast in {year}. It weighs 900 kilograms.",
    "The library of Halvic lends {count} maps. The first map was drawn in {year}. Its reading room faces the harbour.",
    "The tram line to Pelluc has {count} stops. It opened in {year}. Two carriages run on Sundays.",
)


def documents(edition: int) -> dict[str, str]:
    """The documents of an edition, by file name: from one to the next, one goes, one comes back and one changes."""
    count = len(TEXTS)
    found = {}
    for number, text in enumerate(TEXTS):
        if (edition + number) % count:
            changed = max(edition - (edition - number) % count, 0)
            found[f"paper-{number}.txt"] = text.format(year=1700 + changed, count=20 + changed)
    return found


def import_edition(device: EdgeDevice, edition: int) -> None:
    """Take in what a bank sends after an edition; all of it where the last import was not finished."""
    card = device.describe()
    device.import_bank(delta(edition, card.dimension, since=card.bank_version if card.bank == BANK else 0))


def delta(edition: int, dimension: int, since: int) -> Delta:
    """What a bank holds after an edition: all of its memories are new, and the last edition's go."""
    vectors = np.random.default_rng(edition).standard_normal((FOREIGN, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    items = tuple(
        MemoryItem(
            id=f"far-{edition}-{number}",
            question=f"Which year saw fair {number} of edition {edition}?",
            answer=str(1500 + number),
            kind="single",
            answer_type="YEAR",
            hyperedges=(f"edge-{edition}-{number}",),
            anchors=(f"fair {number}",),
            embedding=vector,
            origin="harbour",
        )
        for number, vector in enumerate(vectors)
    )
    gone = tuple(f"far-{edition - 1}-{number}" for number in range(FOREIGN))
    return Delta(BANK, since, edition, items, gone if since else ())


def write_documents(folder: Path, edition: int) -> None:
    """Make a folder hold exactly an edition's documents."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = documents(edition)
    for file in folder.iterdir():
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


def build_edition(device: EdgeDevice, edition: int) -> None:
    """Take a device's documents to an edition and build."""
    assert device.documents is not None
    write_documents(device.documents, edition)
    device.build()


def open_device(root: Path, models: Models) -> EdgeDevice:
    """Open the device whose documents and store lie under a directory."""
    return EdgeDevice(NAME, root / "documents", root / "store", SETTINGS, models)


def assert_whole(store: MemoryStore) -> None:
    """See that no document, memory or hyperedge of a store is half there."""
    sentences = {sentence.id for sentence in store.sentences()}
    passages = {passage.id: passage for passage in store.passages()}
    for document_id in store.digests():
        text = store.document(document_id).text
        held = [sentence.text for p in passages.values() if p.document_id == document_id for sentence in p.sentences]
        assert " ".join(held) == text, "a document lacks a unit"
    assert set(store.units("sentence").ids) == sentences
    assert set(store.units("paragraph").ids) == set(passages)
    for item in store.items(origin=NAME):
        assert item.support, "a memory has lost its support"
        assert set(item.support) <= sentences | set(passages)
    for edge in store.hyperedges():
        assert edge.members, "a hyperedge has lost its members"
        assert set(edge.members) <= sentences | set(passages)
    assert not store.documents_without_memories()
    foreign = {item.id.split("-")[1] for item in store.items(origin="harbour")}
    assert len(foreign) <= 1, "a part of an import"


def contents(store: MemoryStore) -> dict[str, object]:
    """All that a store holds, but for its vectors."""
    return {
        "documents": store.digests(),
        "passages": store.passages(),
        "items": [(i.id, i.question, i.answer, i.support, len(i.hyperedges), i.origin) for i in store.items()],
        "hyperedges": [(edge.granularity, edge.members) for edge in store.hyperedges()],
    }
