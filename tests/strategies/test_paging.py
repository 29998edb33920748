"""Deltas in pages over the grid: nothing is lost, what is cut goes on, and who never ends is named."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from flwr.app import Message
from flwr.common.serde import message_from_proto
from flwr.proto.message_pb2 import Message as MessageProto

from fedrag_flwr import wire
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import START, Cursor, Delta, ImportReport, MemoryItem, ShareRequest
from strategies import MemoryFusion, ServerTools
from strategies.outcome import RunOutcome
from tests.strategies.federation import DEVICES, NODES, Federation, FirstRun, of

RUN = "1"
PAGE = 2_048


@pytest.fixture
def files(first: FirstRun, tmp_path: Path) -> Federation:
    """Devices with memories, and a server that has no shared memory yet."""
    copied = first.files.copy_to(tmp_path).with_changes(baselines="", federation__page_bytes=PAGE)
    shutil.rmtree(copied.root / "home" / "shared-memory")
    return copied


def run(files: Federation, grid: LocalGrid) -> RunOutcome:
    return MemoryFusion(files.settings, [], ServerTools(files.settings)).run(grid, RUN)


def deltas(grid: LocalGrid, phase: str, device: str) -> list[tuple[Delta, int]]:
    """The deltas that a device sent (query.share) or got (query.import), and their sizes."""
    found = []
    for data in grid.sent:
        message = message_from_proto(MessageProto.FromString(data))
        metadata = message.metadata
        if metadata.message_type != phase or NODES[device] not in (metadata.src_node_id, metadata.dst_node_id):
            continue
        if wire.kind_of(message.content) == "Delta":
            found.append((wire.decode(message.content, Delta, run=RUN), wire.size_of(message.content)))
    return found


def held(files: Federation) -> dict[str, set[tuple[str, str, str]]]:
    """What the shared memory and the devices hold of others."""

    def plain(items: Iterable[MemoryItem]) -> set[tuple[str, str, str]]:
        return {(item.id, item.question, item.answer) for item in items}

    shared = ServerTools(files.settings).shared_memory
    found = {"all": plain(shared.items())}
    shared.close()
    for name in DEVICES:
        with files.device(name) as device:
            found[name] = plain(item for item in device.store.items() if item.origin != name)
    return found


class Losing:
    """Loses the reply of one number."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, reply: Message) -> Message | None:
        self.left -= 1
        return None if self.left == 0 else reply


def test_pages_bring_what_one_message_brings(files: Federation, tmp_path: Path) -> None:
    whole = files.copy_to(tmp_path / "whole").with_changes(federation__page_bytes=2**25)
    large, small = whole.grid(), files.grid()
    assert run(whole, large).traffic.missing == {}
    assert run(files, small).traffic.missing == {}
    for name in DEVICES:
        for phase in ("query.share", "query.import"):
            [(once, _)] = deltas(large, phase, name)
            pages = deltas(small, phase, name)
            assert len(pages) > 1
            assert all(size < PAGE + 600 for _, size in pages)  # the names of the columns
            assert sorted(item.id for page, _ in pages for item in page.items) == sorted(i.id for i in once.items)
    assert {place: {text[1:] for text in texts} for place, texts in held(files).items()} == {
        place: {text[1:] for text in texts} for place, texts in held(whole).items()
    }


@pytest.mark.parametrize("phase", ["query.share", "query.import"])
def test_a_lost_page_leaves_what_was_and_the_next_run_goes_on(phase: str, files: Federation) -> None:
    before = held(files)["rivers"]
    short = files.with_changes(federation__round_timeout=2.0)
    outcome = run(short, short.grid(of("rivers", phase, Losing(2))))
    assert phase in outcome.traffic.missing["rivers"]
    assert set(outcome.traffic.missing) == {"rivers"}
    now = held(files)
    if phase == "query.share":
        with files.device("rivers") as device:
            own = {item.question for item in device.giving.memories(ShareRequest(0)).items}
        assert own
        assert not own & {question for _, question, _ in now["all"]}
    else:
        assert now["rivers"] == before
    with files.device("rivers") as device:
        pending = device.describe().pending

    again = files.grid()
    assert run(files, again).traffic.missing == {}
    assert deltas(again, phase, "rivers")[0][0].after != START
    if phase == "query.import":
        assert deltas(again, phase, "rivers")[0][0].after == pending.after != START
        assert deltas(again, phase, "people")[0][0].items == ()
    now = held(files)
    assert own_of(files, "rivers") | {name for name, _, _ in now["rivers"]} == {name for name, _, _ in now["all"]}


def own_of(files: Federation, name: str) -> set[str]:
    """The ids in the shared memory of what one device alone shared."""
    shared = ServerTools(files.settings).shared_memory
    found = {item.id for item in shared.items() if item.origin == name}
    shared.close()
    return found


def without_end(reply: Message) -> Message:
    """Say that one more page follows, for ever."""
    sent = wire.decode(reply.content, Delta, run=RUN)
    row = sent.after.row + 1
    item = replace(sent.items[0], id=f"{row:032x}") if sent.items else None
    reply.content = wire.encode(
        replace(sent, items=(item,) if item else (), after=Cursor(0, 0, row - 1), next=Cursor(0, 0, row)), run=RUN
    )
    return reply


def anew(reply: Message) -> Message:
    """Begin again with every page."""
    sent = wire.decode(reply.content, Delta, run=RUN)
    reply.content = wire.encode(replace(sent, after=START, next=Cursor(0, 0, 1)), run=RUN)
    return reply


def astray(reply: Message) -> Message:
    """Ask for another page than the next."""
    sent = wire.decode(reply.content, ImportReport, run=RUN)
    reply.content = wire.encode(replace(sent, next=Cursor(9, 9, 9)), run=RUN)
    return reply


def backwards(reply: Message) -> Message:
    """Lead from the second page back to the first."""
    sent = wire.decode(reply.content, Delta, run=RUN)
    if sent.after != START:
        reply.content = wire.encode(replace(sent, next=Cursor(0, 0, 1)), run=RUN)
    return reply


HOSTILE: list[tuple[str, Callable[[Message], Message], str]] = [
    ("query.share", without_end, "12 pages of its memories without coming to an end"),
    ("query.share", anew, "12 pages of its memories without coming to an end"),
    ("query.share", backwards, "leads back"),
    ("query.import", astray, "another page"),
]


@pytest.mark.parametrize(("phase", "change", "reason"), HOSTILE)
def test_a_device_that_cheats_with_pages_is_named_and_the_run_goes_on(
    phase: str, change: Callable[[Message], Message], reason: str, files: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    if change is not backwards:
        files = files.with_changes(federation__page_bytes=2**16)
        monkeypatch.setattr("strategies.memory_fusion.MOST_PAGES", 12)
    outcome = run(files, files.grid(of("rivers", phase, change)))
    assert set(outcome.traffic.missing) == {"rivers"}
    assert reason in outcome.traffic.missing["rivers"]
    shared = ServerTools(files.settings).shared_memory
    origins = {item.origin for item in shared.items()}
    shared.close()
    assert origins >= {*DEVICES} - {"rivers"}
    assert ("rivers" in origins) == (phase == "query.import")
