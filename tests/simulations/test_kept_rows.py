"""Rows that long benchmarks keep: a torn one is measured again, and so are those of other code, models or settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedrag_flwr.evaluation.manifest import code_digest
from simulations.reporting.kept_rows import KeptRows, Row, RowFile, this_code


def tear(path: Path) -> None:
    """Leave a file as a process does that is killed while it writes."""
    with path.open("a", encoding="utf-8") as out:
        out.write('{"made_by": "')


def test_a_row_is_measured_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def measure() -> Row:
        calls.append("now")
        return {"value": 1.5}

    first = KeptRows(tmp_path / "rows.jsonl", "me").row("a", measure)
    tear(tmp_path / "rows.jsonl")
    again = KeptRows(tmp_path / "rows.jsonl", "me")
    assert again.row("a", measure) == first
    again.row("b", lambda: first)
    assert KeptRows(tmp_path / "rows.jsonl", "me").row("b", measure) == first
    assert calls == ["now"]


@pytest.mark.parametrize("old", [{"made_by": "another"}, {}], ids=["other code", "not told"])
def test_rows_of_others_are_set_aside(old: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    kept = {**old, "key": "a", "row": {"value": 1.5}}
    path.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    mine = KeptRows(path, "me")
    assert "rows.jsonl: 1 rows of other code, models or settings are set aside" in capsys.readouterr().out
    assert mine.row("a", lambda: {"value": 2.5}) == {"value": 2.5}
    assert KeptRows(path, "me").row("a", dict) == {"value": 2.5}
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0]) == kept


def test_rows_name_the_code_and_what_it_used(tmp_path: Path) -> None:
    assert this_code("model@1", "seed=7") == f"{code_digest()} model@1 seed=7"
    kept = RowFile(tmp_path / "new" / "rows.jsonl", this_code("model@1"))
    kept.add({"id": "a"}, {"id": "b"})
    assert kept.rows() == [{"id": "a"}, {"id": "b"}]
    assert RowFile(kept.path, this_code("model@2")).rows() == []
