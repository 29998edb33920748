"""A shared memory put back from a backup, and devices that know what it held since: after a round both agree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fedrag_flwr.device.shared_memory import shared_memory_of, take_shared_memory
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import Delta
from tests.memory.fusion.test_shared import DIMENSION, item, open_shared, upload

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
