"""Files that several processes make at once."""

import multiprocessing
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from fedrag_flwr.caching import Tier
from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.files import best_effort
from fedrag_flwr.memory.store.summary_store import SummaryStore
from fedrag_flwr.privacy.ledger import DurableFile
from fedrag_flwr.privacy.released_words import ReleasedWords

PROCESSES, FILES = 3, 60  # without a turn for each, several of these openings fail
FILE = "file.sqlite"
TABLE = "CREATE TABLE IF NOT EXISTS words (word TEXT)"
OPENERS: dict[str, Callable[[Path], None]] = {
    "durable file": lambda folder: DurableFile(folder / "new" / FILE, "list", TABLE).close(),
    "summaries": lambda folder: SummaryStore(folder / "new", 4).close(),
    "tier of caches": lambda folder: Tier(folder / "new", 10**6).close(),
    "released words": lambda folder: ReleasedWords(folder / "new" / FILE).close(),
}
MADE_ANEW = {  # the kinds that are made anew where they are torn, and their file
    "tier of caches": "new/cache.db",
    "released words": f"new/{FILE}",
}


def _open_all(kind: str, folder: Path, start: Barrier) -> None:
    try:
        for one in _folders(folder):
            start.wait(60)
            OPENERS[kind](one)
    except BaseException:
        start.abort()  # the others need not wait for this one
        raise


@pytest.mark.parametrize("kind", OPENERS)
def test_all_who_open_a_new_file_at_once_get_it(kind: str, tmp_path: Path) -> None:
    for folder in _folders(tmp_path):
        folder.mkdir()
    _all_open(kind, tmp_path)


@pytest.mark.parametrize("kind", MADE_ANEW)
def test_all_who_open_a_torn_file_at_once_get_it_anew(kind: str, tmp_path: Path) -> None:
    for folder in _folders(tmp_path):
        torn = folder / MADE_ANEW[kind]
        torn.parent.mkdir(parents=True)
        torn.write_bytes(os.urandom(8_192))
    _all_open(kind, tmp_path)


@pytest.mark.parametrize("kind", OPENERS)
def test_a_file_whose_torn_names_cannot_be_read_is_torn(kind: str, tmp_path: Path) -> None:
    OPENERS[kind](tmp_path)
    [file] = (path for path in tmp_path.rglob("*") if path.suffix in (".sqlite", ".db"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [name] = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1").fetchone()
    file.write_bytes(file.read_bytes().replace(b"CREATE", b"\x8f" * 6).replace(name.encode(), b"\x8f" * len(name)))
    if kind in MADE_ANEW:
        OPENERS[kind](tmp_path)
    else:
        with pytest.raises(StoreCorruptError):
            OPENERS[kind](tmp_path)


def test_what_only_saves_time_fails_without_harm_but_errors_of_ours_are_told(tmp_path: Path) -> None:
    with best_effort(tmp_path / "gone" / FILE):
        (tmp_path / "gone" / FILE).write_bytes(b"")
    with pytest.raises(StoreCorruptError), best_effort(tmp_path / FILE):  # an OSError, too
        raise StoreCorruptError("torn")


def _folders(root: Path) -> list[Path]:
    return [root / str(number) for number in range(FILES)]


def _all_open(kind: str, folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(PROCESSES)
    processes = [context.Process(target=_open_all, args=(kind, folder, start)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
