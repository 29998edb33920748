"""A bank that is put back from a backup, and devices that know what it held since: after a round both agree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fedrag_flwr.device.shared_memory import bank_of, take_bank
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import Delta
from tests.memory.fusion.test_shared import DIMENSION, item, open_shared, upload

BELLS = {number: item(str(number), "a", f"Who rang bell {number}?") for number in range(1, 7)}


def exchange(bank: SharedMemory, sent: Delta, store: MemoryStore) -> None:
    """One round: a device's delta goes into the bank, and another device takes what it lacks of it."""
    bank.take(sent)
    bank.fuse()
    take_bank(store, bank.delta_for("b", *bank_of(store)))


@pytest.mark.parametrize("rounds", [1, 2, 3], ids="after {} more".format)
def test_a_device_that_knows_more_than_a_restored_bank_is_told_everything(tmp_path: Path, rounds: int) -> None:
    store = MemoryStore.open(tmp_path / "b", {"device": "b", "dimension": str(DIMENSION)})
    bank = open_shared(tmp_path / "bank")
    exchange(bank, upload("a", BELLS[1], BELLS[2]), store)
    bank.close()
    shutil.copytree(tmp_path / "bank", tmp_path / "backup")
    bank = open_shared(tmp_path / "bank")
    exchange(bank, upload("a", BELLS[3], since=1, version=2), store)
    bank.close()
    shutil.rmtree(tmp_path / "bank")
    (tmp_path / "backup").rename(tmp_path / "bank")

    bank = open_shared(tmp_path / "bank")
    assert bank.known_of("a").since == 1
    for number in range(rounds):  # the store that b has is brought up to date after the last of them only
        gone = (BELLS[1].id,) if number == 0 else ()
        bank.take(upload("a", BELLS[4 + number], since=1 + number, version=2 + number, gone=gone))
        bank.fuse()
    take_bank(store, bank.delta_for("b", *bank_of(store)))
    held = {one.question for one in store.items()}
    assert held == {one.question for one in bank.items()}
    assert held == {BELLS[number].question for number in (2, *range(4, 4 + rounds))}
    take_bank(store, bank.delta_for("b", *bank_of(store)))
    assert bank.delta_for("b", *bank_of(store)).since > 0  # from then on only what is new travels
    bank.close()
    store.close()
