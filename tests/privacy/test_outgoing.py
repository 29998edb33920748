"""The outgoing ledger: every release is counted once, by hour, run and kind, and survives the device."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.ledger import BudgetLedger
from fedrag_flwr.privacy.outgoing import FILE, OutgoingLedger, weight
from fedrag_flwr.records import Answer, EvidenceUnit, because
from tests.privacy.conftest import ExportMaker, ItemMaker

NOON = 1_800_000_000 // 3600 * 3600


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("", 0),
        ("é", 2),
        (("ab", ("c",)), 3),
        (np.zeros(4, dtype=np.float32), 8),
        (np.zeros(4, dtype=np.uint8), 4),
        (EvidenceUnit("id", "text", "a", 0.5, "title"), 2 + 4 + 1 + 5),
        (7, 0),
    ],
)
def test_texts_and_vectors_weigh_what_they_take(value: object, size: int) -> None:
    assert weight(value) == size


def test_what_left_is_kept_by_hour_run_and_kind(tmp_path: Path) -> None:
    now = [NOON + 10.0]
    ledger = OutgoingLedger(tmp_path / FILE, lambda: now[0])
    assert ledger.newest(5) == ledger.by_kind() == []
    assert not (tmp_path / FILE).exists()
    ledger.note("items", ["ab", "c"], 1)
    ledger.note("items", ["d"])
    ledger.write("run-1", "query.share", 100)
    now[0] += 3600
    ledger.note("answers", [], 1)
    ledger.write("run-2", "query.answer", 20)
    ledger.write("run-2", "query.answer", 30)
    ledger.close()
    rows = [
        (row.hour, row.run, row.kind, row.count, row.bytes, row.withheld)
        for row in OutgoingLedger(tmp_path / FILE).newest(9)
    ]
    assert rows == [
        (NOON + 3600, "run-2", "answers", 0, 0, 1),
        (NOON + 3600, "run-2", "query.answer", 2, 50, 0),
        (NOON, "run-1", "items", 3, 4, 1),
        (NOON, "run-1", "query.share", 1, 100, 0),
    ]


def test_what_no_message_carried_is_written_when_the_export_filter_closes(tmp_path: Path) -> None:
    ledger = OutgoingLedger(tmp_path / FILE, lambda: NOON)
    ledger.note("vectors", [np.zeros(3, dtype=np.float32)])
    ledger.close()
    [row] = OutgoingLedger(tmp_path / FILE).by_kind()
    assert (row.kind, row.count, row.bytes) == ("vectors", 1, 6)


def test_what_a_failed_message_released_is_not_counted() -> None:
    ledger = OutgoingLedger(None, lambda: NOON)
    ledger.note("items", ["ab"])
    ledger.forget()
    ledger.write("run", "query.share", 5)
    assert [row.kind for row in ledger.by_kind()] == ["query.share"]
    ledger.close()


@given(st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=1, max_size=6))
def test_threads_keep_their_releases_apart(shares: list[list[int]]) -> None:
    ledger = OutgoingLedger(None, lambda: NOON)

    def release(place: int) -> None:
        for count in shares[place]:
            ledger.note("evidence", ["x"] * count)
        ledger.write(f"run-{place}", "query.retrieve", 1)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(release, range(len(shares))))
    told = {row.run: row.count for row in ledger.newest(99) if row.kind == "evidence"}
    assert told == {f"run-{place}": sum(share) for place, share in enumerate(shares) if share}
    ledger.close()


def test_the_export_filter_counts_what_it_releases_and_keeps_no_text(
    export_of: ExportMaker, encoder: Encoder, item: ItemMaker, tmp_path: Path
) -> None:
    export = export_of("type-masking", folder=tmp_path)
    secret = "Maria Lopez"
    released = export.release_items([item(f"Where does {secret} live?", "In Lisbon"), item("Who?", secret, origin="b")])
    answer = export.release_answer(
        Answer("q", "Lisbon", "memorizer", 0.9, ("device-a/item-1",), decisions=(because("memory", "memory"),))
    )
    export.release_vector(encoder.encode(["a question"])[0])
    export.outgoing.write("run", "query.answer", 1234)
    counted = {row.kind: row for row in export.outgoing.by_kind()}
    export.close()
    assert (counted["items"].count, counted["items"].withheld) == (len(released.items), 2 - len(released.items))
    assert counted["items"].bytes == sum(map(weight, released.items))
    assert (counted["answers"].count, counted["answers"].bytes) == (1, weight(answer))
    assert (counted["vectors"].count, counted["vectors"].bytes) == (1, 2 * encoder.dimension)
    assert counted["query.answer"].bytes == 1234
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(word.encode() in kept for word in ("Maria", "Lopez", "Lisbon", "live"))
    with sqlite3.connect(tmp_path / FILE) as connection:
        assert connection.execute("SELECT count(*) FROM outgoing").fetchone() == (4,)


def test_the_budget_of_all_entities_is_summed_up(tmp_path: Path) -> None:
    ledger = BudgetLedger(tmp_path / "budget.sqlite", 2.0)
    assert (ledger.account().entities, ledger.account().most) == (0, 0.0)
    ledger.spend("one", "epoch 0", 1.0)
    ledger.spend("one", "epoch 1", 1.0)
    ledger.spend("two", "epoch 0", 0.5)
    account = ledger.account()
    assert (account.limit, account.entities, account.most, account.mean, account.exhausted) == (2.0, 2, 2.0, 1.25, 1)
    ledger.close()
