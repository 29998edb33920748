"""What people's questions left goes from a store into the next, whatever that holds already."""

import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fedrag_flwr.errors import StoreCorruptError, StoreFullError
from fedrag_flwr.memory.store import MemoryStore, carry_over
from fedrag_flwr.memory.store.database import FILE
from fedrag_flwr.memory.store.outbox import DeliveredAnswers, Outbox
from fedrag_flwr.records import Answer, Question


def opened(root: Path) -> MemoryStore:
    return MemoryStore.open(root, {"device": "here", "dimension": "4"})


def leave(root: Path, *names: str) -> None:
    """Let questions wait in a store, and put an answer to another of each name."""
    with opened(root) as store:
        for name in names:
            Outbox(store.database, root.parent / "keys").put(Question(name, f"What is {name}?", "here"))
        DeliveredAnswers(store.database).put(Answer(f"{name}-told", "yes", "remote", 0.5) for name in names)


def test_what_several_cut_rebuilds_left_comes_into_one_store(tmp_path: Path) -> None:
    root = tmp_path / "store"
    for names in (("a", "b"), ("b", "c")):
        leave(root, *names)
        carry_over.pack(root)
        MemoryStore.erase(root)
    assert (root / carry_over.CARRIED).stat().st_mode & 0o777 == 0o600
    leave(root, "d", "e")
    with opened(root) as store:
        carry_over.unpack(root, store.database)
        carry_over.unpack(root, store.database)  # nothing is left to unpack
        waiting = Outbox(store.database, tmp_path / "keys").waiting()
        assert {one.id: one.text for one in waiting} == {name: f"What is {name}?" for name in "abcde"}
        assert DeliveredAnswers(store.database).all().keys() == {f"{name}-told" for name in "abcde"}
    assert not (root / carry_over.CARRIED).exists()


def waiting(root: Path, *, withdrawn: str = "") -> set[str]:
    """Who waits in a store after what was packed came into it, and one question is withdrawn then."""
    with opened(root) as store:
        carry_over.unpack(root, store.database)
        outbox = Outbox(store.database, root.parent / "keys")
        if withdrawn:
            assert outbox.withdraw(withdrawn)
        return {one.id for one in outbox.waiting()}


def test_a_rebuild_cut_before_the_store_went_brings_nothing_back(tmp_path: Path) -> None:
    root = tmp_path / "store"
    leave(root, "a", "b", "c")
    carry_over.pack(root)  # and the store could not be erased
    packed = (root / carry_over.CARRIED).read_bytes()
    assert waiting(root, withdrawn="a") == {"b", "c"}
    (root / carry_over.CARRIED).write_bytes(packed)  # as if the device had been asked before it was built
    assert waiting(root) == {"b", "c"}
    (root / carry_over.CARRIED).write_bytes(packed)
    carry_over.pack(root)
    MemoryStore.erase(root)
    packed = (root / carry_over.CARRIED).read_bytes()
    assert waiting(root, withdrawn="b") == {"c"}
    (root / carry_over.CARRIED).write_bytes(packed)  # and the process was killed before the file went
    assert waiting(root) == {"c"}


def test_two_cut_rebuilds_lose_nobodys_question(tmp_path: Path) -> None:
    root = tmp_path / "store"
    leave(root, "a", "b")
    carry_over.pack(root)
    MemoryStore.erase(root)  # and the first was cut here
    leave(root, "b", "c")
    for withdrawn, left in (("", {"a", "b", "c"}), ("c", {"a", "b"})):
        carry_over.pack(root)  # and the next were cut here
        assert waiting(root, withdrawn=withdrawn) == left
        assert not (root / carry_over.CARRIED).exists()


def test_a_store_that_nobody_asked_leaves_no_file(tmp_path: Path) -> None:
    carry_over.pack(tmp_path)
    opened(tmp_path / "store").close()
    carry_over.pack(tmp_path / "store")
    assert not list(tmp_path.rglob(carry_over.CARRIED))


def test_a_whole_store_that_cannot_be_read_now_stops_the_rebuild(tmp_path: Path) -> None:
    root = tmp_path / "store"
    leave(root, "a")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # SQLite makes a file beside one that it opens
    try:
        with pytest.raises(StoreFullError):
            MemoryStore.erase(root, first=carry_over.pack)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert waiting(root) == {"a"}


def test_what_is_no_store_is_erased_all_the_same(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()
    with closing(sqlite3.connect(root / FILE)) as connection, connection:
        connection.execute("CREATE TABLE outbox (word TEXT)")
    MemoryStore.erase(root, first=carry_over.pack)
    assert not (root / FILE).exists()


@pytest.mark.parametrize(("torn", "left"), [("delivered_answers", {"a"}), ("outbox", set())])
def test_a_torn_table_costs_the_other_nothing(torn: str, left: set[str], tmp_path: Path) -> None:
    root = tmp_path / "store"
    leave(root, "a")
    with closing(sqlite3.connect(root / FILE)) as connection:
        [page] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (torn,)).fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    with (root / FILE).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    MemoryStore.erase(root, first=carry_over.pack)
    with opened(root) as store:
        carry_over.unpack(root, store.database)
        assert {one.id for one in Outbox(store.database, tmp_path / "keys").waiting()} == left
        assert set(DeliveredAnswers(store.database).all()) == ({"a-told"} if torn == "outbox" else set())


@pytest.mark.parametrize("body", [b"{", b"{}", b'{"stores": ["one"]}'])
def test_a_damaged_file_is_an_error_that_keeps_it(body: bytes, tmp_path: Path) -> None:
    root = tmp_path / "store"
    leave(root, "a")
    (root / carry_over.CARRIED).write_bytes(body)
    with opened(root) as store, pytest.raises(StoreCorruptError, match="damaged"):
        carry_over.unpack(root, store.database)
    with pytest.raises(StoreCorruptError, match="damaged"):
        carry_over.pack(root)
    assert (root / carry_over.CARRIED).read_bytes() == body


def test_of_a_store_whose_torn_names_cannot_be_read_nothing_is_packed(tmp_path: Path) -> None:
    leave(tmp_path / "store", "a")
    file = tmp_path / "store" / FILE
    with closing(sqlite3.connect(file)) as connection:
        [name] = connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone()
    file.write_bytes(file.read_bytes().replace(b"CREATE", b"\x8f" * 6).replace(name.encode(), b"\x8f" * len(name)))
    carry_over.pack(tmp_path / "store")
    assert not (tmp_path / "store" / carry_over.CARRIED).exists()
