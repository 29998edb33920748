"""The ledger of fusion: what an error leaves of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import StoreError, StoreFullError
from fedrag_flwr.memory.fusion.ledger import FILE, Ledger, Part
from fedrag_flwr.sqlite_errors import own_errors


def _put(ledger: Ledger, *numbers: int) -> None:
    parts = [Part(n, f"id-{n}", "ward", "Ada" * 1_000, 0, True, 0, None) for n in numbers]
    with ledger.writing():
        ledger.put_in(parts, np.zeros((len(parts), 4), np.float16))


@pytest.mark.parametrize("place", range(0, 20, 3))
def test_a_ledger_with_a_torn_page_is_made_anew(tmp_path: Path, place: int) -> None:
    with closing(Ledger(tmp_path / FILE)) as ledger:
        _put(ledger, *range(1, 101))
    torn = bytearray((tmp_path / FILE).read_bytes())
    torn[4_096 * place : 4_096 * (place + 1)] = b"\xff" * 4_096
    (tmp_path / FILE).write_bytes(torn)
    with closing(Ledger(tmp_path / FILE)) as ledger:
        assert ledger.counts() == (0, 0, 0)
        _put(ledger, 1)


def test_it_waits_for_another_fusion_as_long_as_the_stores_do(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / FILE)) as ledger:
        assert ledger._connection.execute("PRAGMA busy_timeout").fetchone() == (30_000,)


def test_its_errors_name_its_own_file_while_a_store_is_written(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / FILE)) as ledger:
        ledger._connection.execute("DROP TABLE meta")
        with pytest.raises(StoreError, match=FILE), own_errors(tmp_path, "store.sqlite"):
            ledger.meta("rules")


def test_a_full_disk_is_told_and_keeps_what_was_committed(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / FILE)) as ledger:
        _put(ledger, 1)
        ledger._connection.execute("PRAGMA max_page_count = 50")  # SQLite then behaves as on a full disk
        with pytest.raises(StoreFullError, match="the disk is full"):
            _put(ledger, *range(2, 102))
        _put(ledger, 2)
        parts, _ = ledger.group("origin", "ward")
        assert [part.number for part in parts] == [1, 2]
