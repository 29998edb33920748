"""Table 1 over a tiny file: all its rows in one command, and a part that fails says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrag_flwr.errors import ProcessError
from simulations.bench_table1 import SYSTEMS, main, part_of
from simulations.parts.side_by_side import run_part
from tests.simulations.tiny_data import write_data

SMALL = ("models.generator=smollm2-135m", "models.context-tokens=2048", "memory.tokens-per-kilotoken=0")
LOG = "local-hotpotqa.log"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_rows_stand_in_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    write_data(tmp_path, "hotpotqa")
    out = tmp_path / "out"
    words = ["table1", "--data", str(tmp_path), "--datasets", "hotpotqa", "--questions", "2", "--devices", "2"]
    words += ["--jobs", "2", "--out", str(out), *(word for one in SMALL for word in ("--set", one))]
    monkeypatch.setattr("sys.argv", words)
    main()
    table = (out / "table1.md").read_text(encoding="utf-8")
    assert table in capsys.readouterr().out
    named = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[3:]]
    assert named == [*SYSTEMS["local"], "**federated**", *SYSTEMS["federated"]]
    rows = [line for line in table.splitlines()[3:] if "**" not in line]
    assert all(line.count(" | ") == 4 and "–" not in line for line in rows)
    kept = (out / "local-hotpotqa" / "rows.jsonl").read_bytes()
    main()
    assert (out / "local-hotpotqa" / "rows.jsonl").read_bytes() == kept


def test_a_part_that_fails_names_its_log(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=LOG):
        run_part(part_of("local", "hotpotqa", tmp_path, []), tmp_path)
    assert "is not a file" in (tmp_path / LOG).read_text(encoding="utf-8")
