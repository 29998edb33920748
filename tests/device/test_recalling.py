"""What was shared before a name was known to be private is withdrawn, or replaced by its masked form."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import AskedQuestion, Delta, EvidenceUnit, HitsRequest, ShareRequest
from tests.device.test_building import Watched

NAME = "xqwu"
BEFORE = {
    "town.txt": "The Xqwu anthem was composed in 1950. The Xqwu lamp weighs 40 kilograms. The Xqwu bridge was "
    "opened in 1911.",
    "mill.txt": "The Tarn Mill was built in 1874. The Tarn Mill has two wheels. It was repaired by the Halden Company.",
}
TELLING = {
    "a title": "Dr. Oswin Xqwu signed the record of the mill in 1961.",
    "the recogniser": "Oswin Xqwu signed the record of the mill in 1961. Oswin Xqwu lived in France.",
}


@pytest.fixture
def shared_memory(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "shared", {"device": "shared-memory", "dimension": "384"}) as store:
        yield store


def told(shared_memory: MemoryStore) -> dict[str, str]:
    """All that the server can read, by id."""
    return {item.id: " ".join((item.question, item.answer, *item.anchors)).casefold() for item in shared_memory.items()}


def send(device: Watched, shared_memory: MemoryStore, since: Delta | None) -> Delta:
    """One round: what is new since a delta, taken into the shared memory."""
    with device.open() as opened:
        asked = ShareRequest(since.version, since.generation) if since else ShareRequest(0)
        delta = opened.giving.memories(asked)
    shared_memory.import_delta(delta, one_origin=True, snapshot=delta.since == 0)
    return delta


@dataclass(frozen=True)
class Shared:
    """A device, the first delta that it sent, and the ids of the memories in it that hold the name in clear."""

    device: Watched
    first: Delta
    clear: set[str]


@pytest.fixture
def shared(tmp_path: Path, shared_memory: MemoryStore) -> Shared:
    device = Watched(tmp_path, privacy__export="type-masking", privacy__public_names="")
    device.write(**BEFORE)
    device.build()
    first = send(device, shared_memory, None)
    clear = {name for name, text in told(shared_memory).items() if NAME in text}
    assert clear  # nothing tells yet that this is a person
    return Shared(device, first, clear)


def test_a_memory_that_changed_since_is_withdrawn_with_the_name(shared: Shared, shared_memory: MemoryStore) -> None:
    """Its document is edited, and what tells that the name is private comes in the same round."""
    device, first = shared.device, shared.first
    device.write(
        **{"town.txt": f"{BEFORE['town.txt']} Oswin Xqwu signed its record.", "record.txt": TELLING["a title"]}
    )
    device.build()
    second = send(device, shared_memory, first)
    left = told(shared_memory)
    assert second.since == first.version
    assert {name for name, text in left.items() if NAME in text} == set()


def test_what_was_read_before_a_document_came_leaves_as_that_has_it(tmp_path: Path) -> None:
    """A build may end between the reading of evidence for a request and its release."""
    device = Watched(tmp_path, privacy__export="type-masking", privacy__public_names="")
    device.write(**BEFORE)
    with device.open() as opened:
        opened.build()
        passages = opened.store.passages(opened.store.units("paragraph").ids)
        units = [EvidenceUnit(one.id, one.text, "here", 0.9, one.title) for one in passages]
        assert NAME in repr(opened.export.release_evidence(units)).casefold()
        device.write(**{"record.txt": TELLING["a title"]})
        opened.build()
        assert NAME not in repr(opened.export.release_evidence(units)).casefold()


def test_a_long_title_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    title = f"{'The record of the winter on the river Ossel and ' * 4}of Jadwiga Kowalska"
    device = Watched(tmp_path, privacy__export="type-masking", privacy__public_names="", privacy__lookup=True)
    title = title[title.index("Kowalska") - 193 :]  # the cut at 200 characters goes through the name
    device.write(
        **{
            "ossel.md": "# Ossel\n\nThe Ossel rises on Mount Cairl.\n",
            "winter.md": f"# {title}\n\nMrs. Jadwiga Kowalska crossed the Ossel on Mount Cairl.\n",
        }
    )
    with device.open() as opened:
        opened.build()
        request = HitsRequest((AskedQuestion("q", "Where does the Ossel rise?"),), records=1, related=2)
        [summary] = opened.summaries.answer(request).summaries
        assert summary.related
        assert "Kowal" not in repr(summary)


@pytest.mark.parametrize("telling", TELLING)
def test_a_later_document_withdraws_a_name(shared: Shared, shared_memory: MemoryStore, telling: str) -> None:
    device, first, clear = shared.device, shared.first, shared.clear
    others = told(shared_memory).keys() - clear
    assert others
    device.write(**{"record.txt": TELLING[telling]})
    device.build()
    second = send(device, shared_memory, first)
    assert second.since == first.version  # no whole snapshot
    left = told(shared_memory)
    assert {name for name, text in left.items() if NAME in text} == set()
    assert clear <= {item.id for item in second.items} | set(second.retracted)
    assert not {item.id for item in second.items} & set(second.retracted)
    assert others <= left.keys()
    again = send(device, shared_memory, first)  # the reply was lost, and the server asks once more
    assert {item.id for item in again.items} == {item.id for item in second.items}
    assert set(again.retracted) == set(second.retracted)
    third = send(device, shared_memory, again)
    assert (third.items, third.retracted) == ((), ())
    assert told(shared_memory) == left
