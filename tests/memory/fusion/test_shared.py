"""The bank of all devices' memories: what is merged comes apart again, and every device hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr import wire
from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.fusion.merge import FUSION, owners
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import shared_id
from fedrag_flwr.memory.store.pages import MOST_PAGES, PAGE_BYTES, weight
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
    """The ids under which the bank keeps memories, sorted."""
    return sorted(shared_id(one.origin, one.id) for one in items)


def upload(origin: str, *items: MemoryItem, version: int = 1, since: int = 0, gone: tuple[str, ...] = ()) -> Delta:
    return Delta(origin, since, version, items, gone, generation="g")


def open_shared(root: Path, *, page_bytes: int = PAGE_BYTES, most_pages: int = MOST_PAGES) -> SharedMemory:
    models = small_models()
    return SharedMemory.open(root, models.encoder, models.pipeline, page_bytes=page_bytes, most_pages=most_pages)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[SharedMemory]:
    opened = open_shared(tmp_path / "bank")
    yield opened
    opened.close()


def test_what_two_devices_share_is_merged_and_comes_apart_when_one_withdraws(bank: SharedMemory) -> None:
    bank.take(upload("a", item("1", "a")))
    bank.take(upload("b", item("1", "b")))
    assert bank.fuse().merged == 1
    [both] = bank.items()
    assert both.origin == FUSION
    assert owners(both) == {"a", "b"}
    known = bank.version
    assert [one.id for one in bank.delta_for("c", "", 0).items] == [both.id]

    bank.take(upload("b", version=2, since=1, gone=("b-1",)))
    assert bank.fuse().merged == 0
    [single] = bank.items()
    assert ([single.id], single.origin) == (kept(item("1", "a")), "a")
    told = bank.delta_for("c", bank.id, known)
    assert (told.since, [one.id for one in told.items], told.retracted) == (known, [single.id], (both.id,))
    told = bank.delta_for("a", bank.id, known)
    assert (told.items, told.retracted) == ((), (both.id,))


def test_what_a_device_withdraws_is_in_no_file_of_the_bank(bank: SharedMemory, tmp_path: Path) -> None:
    def holding() -> list[str]:
        files = (path for path in tmp_path.rglob("*") if path.is_file())
        return [path.name for path in files if b"oswin xqwu" in path.read_bytes().lower()]

    bank.take(upload("a", item("1", "a", answer="Oswin Xqwu"), item("2", "a", "Who sang?")))
    bank.take(upload("b", item("1", "b", answer="Oswin Xqwu")))
    bank.fuse()
    assert holding()
    bank.take(upload("a", version=2, since=1, gone=("a-1",)))
    bank.take(upload("b", version=2, since=1, gone=("b-1",)))
    bank.fuse()
    assert holding() == []


def test_a_fusion_that_changes_nothing_has_no_new_version(bank: SharedMemory) -> None:
    bank.take(upload("a", *many("a", 3)))
    bank.fuse()
    known = bank.version
    bank.take(upload("a", version=1, since=1))
    bank.fuse()
    assert bank.version == known


# --- pages ------------------------------------------------------------------------------------------------


def pages_of(bank: SharedMemory, device: str, store: MemoryStore | None = None) -> list[Delta]:
    """All pages that a device gets, taken by its store if it has one."""
    found = [bank.delta_for(device, "", 0)]
    while (last := found[-1]).next != START:
        found.append(bank.delta_for(device, "", 0, Pending(last.generation, last.since, last.version, last.next)))
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
def test_the_pages_of_a_bank_are_small_and_hold_everything_once(per_page: int, tmp_path: Path) -> None:
    items = many("a", 20)
    size = per_page * max(weight(replace(one, id=kept(one)[0])) for one in items)
    bank = open_shared(tmp_path / "bank", page_bytes=size)
    bank.take(upload("a", *items))
    bank.fuse()
    device = MemoryStore.open(tmp_path / "b", {"device": "b", "dimension": str(DIMENSION)})
    pages = pages_of(bank, "b", device)
    assert len(pages) >= 20 // per_page
    assert all(sum(map(weight, page.items)) <= size for page in pages)
    assert sorted(one.id for page in pages for one in page.items) == [one.id for one in device.items()]
    assert [one.id for one in device.items()] == kept(*items)
    assert pages_of(bank, "a")[0].items == ()
    bank.close()
    device.close()


def test_retractions_travel_in_pages_too(tmp_path: Path) -> None:
    bank = open_shared(tmp_path / "bank", page_bytes=100)
    bank.take(upload("a", *many("a", 30)))
    bank.fuse()
    known = bank.delta_for("b", "", 0).version
    bank.take(upload("a", *many("a", 2), version=2))
    bank.fuse()
    gone: list[str] = []
    pending = Pending()
    for _ in range(30):
        page = bank.delta_for("b", bank.id, known, pending)
        gone += page.retracted
        pending = Pending(page.generation, page.since, page.version, page.next)
        if page.next == START:
            break
    assert sorted(gone) == kept(*many("a", 30)[2:])
    bank.close()


def test_nothing_of_a_delta_is_seen_before_its_last_page(bank: SharedMemory) -> None:
    first, second, last = paged(many("a", 6), 2)
    bank.take(upload("a", item("old", "a"), version=1))
    bank.fuse()
    for page in (first, second):
        report = bank.take(page)
        assert (report.accepted, report.next) == (0, page.next)
        bank.fuse()
        assert [one.id for one in bank.items()] == kept(item("old", "a"))
    assert bank.known_of("a").since == 1
    assert bank.known_of("a").pending == Pending("g", 0, 1, second.next)
    assert bank.take(last).accepted == 6
    bank.fuse()
    assert [one.id for one in bank.items()] == kept(*many("a", 6))
    assert bank.known_of("a").pending == Pending()


def test_a_delta_that_was_cut_goes_on_after_a_restart(tmp_path: Path) -> None:
    first, second, last = paged(many("a", 6), 2)
    for page in (first, second):
        bank = open_shared(tmp_path / "bank")
        bank.take(page)
        bank.close()
    bank = open_shared(tmp_path / "bank")
    assert bank.known_of("a").pending.after == second.next
    bank.take(last)
    bank.fuse()
    assert len(bank.items()) == 6
    bank.close()


def test_a_delta_that_begins_again_replaces_the_pages_before(bank: SharedMemory) -> None:
    bank.take(paged(many("a", 6), 2)[0])
    for page in paged([item("new", "a"), item("newer", "a", "Who sang?")], 1, version=2):
        bank.take(page)
    bank.fuse()
    assert [one.id for one in bank.items()] == kept(item("new", "a"), item("newer", "a"))
    assert bank.known_of("a").since == 2


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
def test_a_wrong_page_is_refused_and_changes_nothing(case: str, bank: SharedMemory) -> None:
    bank.take(upload("a", item("old", "a")))
    *good, bad = WRONG[case](paged(many("a", 6), 2, version=2))
    for page in good:
        bank.take(page)
    before = bank.known_of("a")
    with pytest.raises(WireError, match=r"page|goes on"):
        bank.take(bad)
    assert bank.known_of("a") == before
    bank.fuse()
    assert [one.id for one in bank.items()] == kept(item("old", "a"))


def test_pages_without_end_are_cut_and_the_device_may_begin_again(tmp_path: Path) -> None:
    bank = open_shared(tmp_path / "bank", most_pages=3)
    pages = paged(many("a", 10), 1)
    bank.take(pages[0])
    bank.take(pages[1])
    with pytest.raises(WireError, match="more than 3 pages"):
        bank.take(pages[2])
    for page in paged(many("a", 3), 1):
        bank.take(page)
    bank.fuse()
    assert len(bank.items()) == 3
    bank.close()


def test_a_page_speaks_for_its_device_alone(bank: SharedMemory) -> None:
    bank.take(upload("b", item("1", "b", "Who sang?")))
    first, last = paged([item("1", "a"), replace(item("1", "b"), answer="Eve")], 1)
    bank.take(first)
    report = bank.take(replace(last, retracted=("b-1",)))
    assert (report.accepted, report.retracted, report.refused) == (1, 0, ("wrong-origin=1",))
    bank.fuse()
    assert [(one.id, one.answer) for one in bank.items()] == [
        (name, "Ada") for name in kept(item("1", "a"), item("1", "b"))
    ]


def test_a_delta_from_a_version_that_the_bank_does_not_have_is_refused(bank: SharedMemory) -> None:
    bank.take(upload("a", item("1", "a"), version=4))
    for change in ({"since": 3}, {"since": 4, "generation": "h"}):
        with pytest.raises(WireError, match="does not have"):
            bank.take(replace(upload("a", version=9), **change))
