"""Versions of a store that is put back from a backup: no number means two things to who knows the store."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

from fedrag_flwr.memory import Change, MemoryStore
from fedrag_flwr.memory.store.writer import LONGEST_JUMP
from tests.memory.store.samples import IDENTITY, new_document, open_store


def come(store: MemoryStore, name: str) -> int:
    """A document comes, and others are told of the version."""
    version = store.apply(Change(documents=(new_document(name),)))
    store.give_version(version)
    return version


def test_only_versions_that_were_given_count_as_known(tmp_path: Path) -> None:
    with open_store(tmp_path / "device") as store:
        given = come(store, "d1")
        kept = store.apply(Change(documents=(new_document("d2"),)))
        assert [store.gave_version(version) for version in (0, given, kept, kept + 1)] == [False, True, False, False]
    with open_store(tmp_path / "device") as store:
        assert store.gave_version(given)


def test_a_store_that_is_put_back_does_not_know_what_it_gave_since(tmp_path: Path) -> None:
    device, backup = tmp_path / "device", tmp_path / "backup"
    with open_store(device) as store:
        first = come(store, "d1")
    shutil.copytree(device, backup)
    with open_store(device) as store:
        lost = come(store, "d2")
    shutil.rmtree(device)
    backup.rename(device)
    with open_store(device) as store:
        assert store.apply(Change(documents=(new_document("d3"),))) == lost  # here steps are of one
        assert (store.gave_version(first), store.gave_version(lost)) == (True, False)


def test_versions_jump_so_that_two_histories_do_not_meet(tmp_path: Path) -> None:
    histories = []
    for number in range(2):
        with MemoryStore.open(tmp_path / str(number), IDENTITY) as store:
            versions = [0, *(come(store, f"d{row}") for row in range(8))]
        assert all(0 < after - before <= LONGEST_JUMP for before, after in itertools.pairwise(versions))
        histories.append(set(versions[1:]))
    assert not histories[0] & histories[1]
