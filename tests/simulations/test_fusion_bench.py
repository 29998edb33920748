"""The benchmark of fusion: what was measured for other devices, another seed or by other code is measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from simulations.bench_fusion import SEED, Key, Measured, Round, known, missing, table

COUNTS = {"kept": 1, "merged": 0, "composed": 0, "over_quota": 0}
ROUND = Round(items=10, raw_bytes_up=10, fused=COUNTS)
ROW = Measured(10, 2, ROUND, ROUND, 1.0, 2.0, 3.0, SEED, "me")


@pytest.mark.parametrize(
    ("asked", "by", "left"),
    [
        ((10, 2, SEED), "me", False),
        ((10, 2, SEED), "other code", True),
        ((10, 3, SEED), "me", True),
        ((10, 2, SEED + 1), "me", True),
        ((11, 2, SEED), "me", True),
    ],
)
def test_only_the_same_is_not_measured_again(asked: Key, by: str, left: bool, tmp_path: Path) -> None:
    (tmp_path / "fusion.json").write_text(json.dumps([asdict(ROW)]), encoding="utf-8")
    rows = known(tmp_path / "fusion.json")
    assert list(rows.values()) == [ROW]
    assert missing([asked], rows, by) == ([asked] if left else [])


def test_published_rows_that_name_no_code_are_shown_and_measured_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = {key: value for key, value in asdict(ROW).items() if key not in ("seed", "made_by")}
    (tmp_path / "fusion.json").write_text(json.dumps([old]), encoding="utf-8")
    rows = known(tmp_path / "fusion.json")
    assert "| 10 | first |" in table(list(rows.values()))
    assert missing([(10, 2, SEED)], rows, "me") == [(10, 2, SEED)]
    assert "1 rows of other code are measured anew" in capsys.readouterr().out
