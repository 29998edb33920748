"""The shared memory of all devices' memories: merged, taken apart, heard of by every device, put back from a backup."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr import wire
from fedrag_flwr.device.shared_memory import shared_memory_of, take_shared_memory
from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.fusion.merge import FUSION, owners
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import shared_id
from fedrag_flwr.memory.store.pages import PAGE_BYTES, weight
from fedrag_flwr.records import START, Cursor, Delta, MemoryItem, Pending
from tests.memory.store.samples import unit_vector
from tests.strategies.federation import small_models

DIMENSION = 384


def item(name: str, origin: str, question: str = "Who rang the bell?", answer: str = "Ada") -> MemoryItem:
    vector = unit_vector(question, DIMENSION).astype(np.float16).astype(np.float32)
    return MemoryItem(f"{origin}-{name}", question, answer, "single", "PERSON", (f"e-{name}",), (), vector, origin)


def many(origin: str, count: int) -> list[MemoryItem]:
    return [item(f"{number:02}", origin, f"Who rang bell {number} of {origin}?") for number in range(count)]


def kept(*items: MemoryItem) -> list[str]:
    """The ids under which the shared memory keeps memories, sorted."""
    return sorted(shared_id(one.origin, one.id) for one in items)


def upload(origin: str, *items: MemoryItem, version: int = 1, since: int = 0, gone: tuple[str, ...] = ()) -> Delta:
    return Delta(origin, since, version, items, gone, generation="g")


def open_shared(root: Path, *, page_bytes: int = PAGE_BYTES) -> SharedMemory:
    models = small_models()
    return SharedMemory(root, models.encoder, models.pipeline, page_bytes=page_bytes)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedMemory]:
    opened = open_shared(tmp_path / "shared")
    yield opened
    opened.close()


def test_what_two_devices_share_is_merged_and_comes_apart_when_one_withdraws(shared: SharedMemory) -> None:
    shared.take(upload("a", item("1", "a")))
    shared.take(upload("b", item("1", "b")))
    assert shared.fuse().merged == 1
    [both] = shared.items()
    assert both.origin == FUSION
    assert owners(both) == {"a", "b"}
    known = shared.version
    assert [one.id for one in shared.delta_for("c", "", 0).items] == [both.id]

    shared.take(upload("b", version=2, since=1, gone=("b-1",)))
    assert shared.fuse().merged == 0
    [single] = shared.items()
    assert ([single.id], single.origin) == (kept(item("1", "a")), "a")
    told = shared.delta_for("c", shared.id, known)
    assert (told.since, [one.id for one in told.items], told.retracted) == (known, [single.id], (both.id,))
    told = shared.delta_for("a", shared.id, known)
    assert (told.items, told.retracted) == ((), (both.id,))


def test_what_a_device_withdraws_is_in_no_file_of_the_shared_memory(shared: SharedMemory, tmp_path: Path) -> None:
    def holding() -> list[str]:
        files = (path for path in tmp_path.rglob("*") if path.is_file())
        return [path.name for path in files if b"oswin xqwu" in path.read_bytes().lower()]

    shared.take(upload("a", item("1", "a", answer="Oswin Xqwu"), item("2", "a", "Who sang?")))
    shared.take(upload("b", item("1", "b", answer="Oswin Xqwu")))
    shared.fuse()
    assert holding()
    shared.take(upload("a", version=2, since=1, gone=("a-1",)))
    shared.take(upload("b", version=2, since=1, gone=("b-1",)))
    shared.fuse()
    assert holding() == []


def test_a_fusion_that_changes_nothing_has_no_new_version(shared: SharedMemory) -> None:
    shared.take(upload("a", *many("a", 3)))
    shared.fuse()
    known = shared.version
    shared.take(upload("a", version=1, since=1))
    shared.fuse()
    assert shared.version == known


def pages_of(shared: SharedMemory, device: str, store: MemoryStore | None = None) -> list[Delta]:
    """All pages that a device gets, taken by its store if it has one."""
    found = [shared.delta_for(device, "", 0)]
    while (last := found[-1]).next != START:
        found.append(shared.delta_for(device, "", 0, Pending(last.generation, last.since, last.version, last.next)))
    for page in found if store else ():
        assert store is not None
        store.import_delta(page, snapshot=page.since == 0)
    return found


def paged(items: list[MemoryItem], size: int, origin: str = "a", version: int = 1) -> list[Delta]:
    """A delta in pages of so many memories."""
    cursors = [START, *(Cursor(0, 1, row) for row in range(size, len(items), size)), START]
    return [
        replace(upload(origin, *items[row : row + size], version=version), after=cursors[n], next=cursors[n + 1])
        for n, row in enumerate(range(0, len(items), size))
    ]


def test_a_memory_weighs_what_it_adds_to_a_message() -> None:
    items = [replace(one, anchors=("bell", "größe"), support=("s",)) for one in many("a", 5)]
    few, more = (wire.size_of(wire.encode(upload("a", *part), run="1")) for part in (items[:2], items))
    assert more - few == sum(map(weight, items[2:]))


@pytest.mark.parametrize("per_page", [1, 3, 20])
def test_the_pages_of_a_shared_memory_are_small_and_hold_everything_once(per_page: int, tmp_path: Path) -> None:
    items = many("a", 20)
    size = per_page * max(weight(replace(one, id=kept(one)[0])) for one in items)
    shared = open_shared(tmp_path / "shared", page_bytes=size)
    shared.take(upload("a", *items))
    shared.fuse()
    device = MemoryStore.open(tmp_path / "b", {"device": "b", "dimension": str(DIMENSION)})
    pages = pages_of(shared, "b", device)
    assert len(pages) >= 20 // per_page
    assert all(sum(map(weight, page.items)) <= size for page in pages)
    assert sorted(one.id for page in pages for one in page.items) == [one.id for one in device.items()]
    assert [one.id for one in device.items()] == kept(*items)
    assert pages_of(shared, "a")[0].items == ()
    shared.close()
    device.close()


def test_retractions_travel_in_pages_too(tmp_path: Path) -> None:
    shared = open_shared(tmp_path / "shared", page_bytes=100)
    shared.take(upload("a", *many("a", 30)))
    shared.fuse()
    known = shared.delta_for("b", "", 0).version
    shared.take(upload("a", *many("a", 2), version=2))
    shared.fuse()
    gone: list[str] = []
    pending = Pending()
    for _ in range(30):
        page = shared.delta_for("b", shared.id, known, pending)
        gone += page.retracted
        pending = Pending(page.generation, page.since, page.version, page.next)
        if page.next == START:
            break
    assert sorted(gone) == kept(*many("a", 30)[2:])
    shared.close()


def test_nothing_of_a_delta_is_seen_before_its_last_page(shared: SharedMemory) -> None:
    first, second, last = paged(many("a", 6), 2)
    shared.take(upload("a", item("old", "a"), version=1))
    shared.fuse()
    for page in (first, second):
        report = shared.take(page)
        assert (report.accepted, report.next) == (0, page.next)
        shared.fuse()
        assert [one.id for one in shared.items()] == kept(item("old", "a"))
    assert shared.known_of("a").since == 1
    assert shared.known_of("a").pending == Pending("g", 0, 1, second.next)
    assert shared.take(last).accepted == 6
    shared.fuse()
    assert [one.id for one in shared.items()] == kept(*many("a", 6))
    assert shared.known_of("a").pending == Pending()


def test_a_delta_that_was_cut_goes_on_after_a_restart(tmp_path: Path) -> None:
    first, second, last = paged(many("a", 6), 2)
    for page in (first, second):
        shared = open_shared(tmp_path / "shared")
        shared.take(page)
        shared.close()
    shared = open_shared(tmp_path / "shared")
    assert shared.known_of("a").pending.after == second.next
    shared.take(last)
    shared.fuse()
    assert len(shared.items()) == 6
    shared.close()


def test_a_delta_that_begins_again_replaces_the_pages_before(shared: SharedMemory) -> None:
    shared.take(paged(many("a", 6), 2)[0])
    for page in paged([item("new", "a"), item("newer", "a", "Who sang?")], 1, version=2):
        shared.take(page)
    shared.fuse()
    assert [one.id for one in shared.items()] == kept(item("new", "a"), item("newer", "a"))
    assert shared.known_of("a").since == 2


WRONG: dict[str, Callable[[list[Delta]], list[Delta]]] = {
    "without the first": lambda pages: pages[1:2],
    "one left out": lambda pages: [pages[0], pages[2]],
    "twice the same": lambda pages: [pages[0], pages[1], pages[1]],
    "of another version": lambda pages: [pages[0], replace(pages[1], version=9)],
    "of another generation": lambda pages: [pages[0], replace(pages[1], generation="h")],
    "since another version": lambda pages: [pages[0], replace(pages[1], since=1)],
    "that leads back": lambda pages: [pages[0], replace(pages[1], next=Cursor(0, 0, 1))],
    "that leads to itself": lambda pages: [pages[0], replace(pages[1], next=pages[1].after)],
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_page_is_refused_and_changes_nothing(case: str, shared: SharedMemory) -> None:
    shared.take(upload("a", item("old", "a")))
    *good, bad = WRONG[case](paged(many("a", 6), 2, version=2))
    for page in good:
        shared.take(page)
    before = shared.known_of("a")
    with pytest.raises(WireError, match=r"page|goes on"):
        shared.take(bad)
    assert shared.known_of("a") == before
    shared.fuse()
    assert [one.id for one in shared.items()] == kept(item("old", "a"))


def test_pages_without_end_are_cut_and_the_device_may_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedrag_flwr.memory.store.pages.MOST_PAGES", 3)
    shared = open_shared(tmp_path / "shared")
    pages = paged(many("a", 10), 1)
    shared.take(pages[0])
    shared.take(pages[1])
    with pytest.raises(WireError, match="more than 3 pages"):
        shared.take(pages[2])
    for page in paged(many("a", 3), 1):
        shared.take(page)
    shared.fuse()
    assert len(shared.items()) == 3
    shared.close()


def test_a_page_speaks_for_its_device_alone(shared: SharedMemory) -> None:
    shared.take(upload("b", item("1", "b", "Who sang?")))
    first, last = paged([item("1", "a"), replace(item("1", "b"), answer="Eve")], 1)
    shared.take(first)
    report = shared.take(replace(last, retracted=("b-1",)))
    assert (report.accepted, report.retracted, report.refused) == (1, 0, ("wrong-origin=1",))
    shared.fuse()
    assert [(one.id, one.answer) for one in shared.items()] == [
        (name, "Ada") for name in kept(item("1", "a"), item("1", "b"))
    ]


def test_a_delta_from_a_version_that_the_shared_memory_does_not_have_is_refused(shared: SharedMemory) -> None:
    shared.take(upload("a", item("1", "a"), version=4))
    for change in ({"since": 3}, {"since": 4, "generation": "h"}):
        with pytest.raises(WireError, match="does not have"):
            shared.take(replace(upload("a", version=9), **change))


BELLS = {number: item(str(number), "a", f"Who rang bell {number}?") for number in range(1, 7)}


def exchange(shared: SharedMemory, sent: Delta, store: MemoryStore) -> None:
    """One round: a device's delta goes into the shared memory, and another device takes what it lacks of it."""
    shared.take(sent)
    shared.fuse()
    take_shared_memory(store, shared.delta_for("b", *shared_memory_of(store)))


@pytest.mark.parametrize("rounds", [1, 2, 3], ids="after {} more".format)
def test_a_device_that_knows_more_than_a_restored_shared_memory_is_told_everything(tmp_path: Path, rounds: int) -> None:
    store = MemoryStore.open(tmp_path / "b", {"device": "b", "dimension": str(DIMENSION)})
    shared = open_shared(tmp_path / "shared")
    exchange(shared, upload("a", BELLS[1], BELLS[2]), store)
    shared.close()
    shutil.copytree(tmp_path / "shared", tmp_path / "backup")
    shared = open_shared(tmp_path / "shared")
    exchange(shared, upload("a", BELLS[3], since=1, version=2), store)
    shared.close()
    shutil.rmtree(tmp_path / "shared")
    (tmp_path / "backup").rename(tmp_path / "shared")

    shared = open_shared(tmp_path / "shared")
    assert shared.known_of("a").since == 1
    for number in range(rounds):  # the store that b has is brought up to date after the last of them only
        gone = (BELLS[1].id,) if number == 0 else ()
        shared.take(upload("a", BELLS[4 + number], since=1 + number, version=2 + number, gone=gone))
        shared.fuse()
    take_shared_memory(store, shared.delta_for("b", *shared_memory_of(store)))
    held = {one.question for one in store.items()}
    assert held == {one.question for one in shared.items()}
    assert held == {BELLS[number].question for number in (2, *range(4, 4 + rounds))}
    take_shared_memory(store, shared.delta_for("b", *shared_memory_of(store)))
    assert shared.delta_for("b", *shared_memory_of(store)).since > 0  # from then on only what is new travels
    shared.close()
    store.close()
