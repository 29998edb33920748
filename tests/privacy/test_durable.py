"""Files that last: what an error leaves of a transaction."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fedrag_flwr.errors import EmptySourceError, ModelMissingError, PrivacyError, StoreFullError
from fedrag_flwr.privacy.ledger import DurableFile
from fedrag_flwr.sqlite_errors import own_errors

WORDS = "CREATE TABLE IF NOT EXISTS words (word TEXT)"


def _put(file: DurableFile, *words: str) -> None:
    with file.writing() as connection:
        connection.executemany("INSERT INTO words VALUES (?)", [(word,) for word in words])


def test_an_error_of_ours_stays_what_it_is(tmp_path: Path) -> None:
    """Some of ours are also the operating system's."""
    with closing(DurableFile(tmp_path / "file.sqlite", "list", WORDS, 1)) as file:
        for error in (EmptySourceError("nothing there"), PrivacyError("it may not leave"), ModelMissingError("gone")):
            with pytest.raises(type(error), match=error.what), file.writing():
                raise error
            with pytest.raises(type(error), match=error.what), own_errors(tmp_path, "other.sqlite"):
                raise error


def test_a_full_disk_is_told_and_keeps_what_was_committed(tmp_path: Path) -> None:
    with closing(DurableFile(tmp_path / "file.sqlite", "list", WORDS, 1)) as file:
        _put(file, "first")
        with file.reading() as connection:
            connection.execute("PRAGMA max_page_count = 20")  # SQLite then behaves as on a full disk
        with pytest.raises(StoreFullError, match="the disk is full"):
            _put(file, *["long" * 1_000] * 50)
        _put(file, "last")
        with file.reading() as connection:
            assert connection.execute("SELECT word FROM words").fetchall() == [("first",), ("last",)]
