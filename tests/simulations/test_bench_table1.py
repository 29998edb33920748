"""Table 1 over a tiny file: all its rows in one command, and a part that fails says so."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from fedrag_flwr.baselines import BASELINES
from fedrag_flwr.errors import ProcessError
from simulations.bench_table1 import ALL, BY_WAY, SYSTEMS, main, part_of
from simulations.parts.side_by_side import run_part
from strategies import STRATEGIES
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
    paper, beside, over_all, ways, costs = (part.splitlines()[2:] for part in table.split("\n\n")[::2])
    for lines, cells in ((paper, 4), (beside, 2), (over_all, 3)):
        named = [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]
        assert named == [*SYSTEMS["local"], "**federated**", *SYSTEMS["federated"]]
        assert all(line.count(" | ") == cells for line in lines if "**" not in line)
    assert not any("–" in line for line in paper)
    idle = {line.removeprefix("| ").split(" | ")[0] for line in costs if "–" in line}
    assert idle == {"confidential-broadcast", "centralized"}  # the server does nothing for their questions
    assert [line.split(" | ")[2] for line in beside if "–" in line] == ["– |", "– |"]  # the references'
    assert [line.split(" | ")[0].removeprefix("| ") for line in ways] == [*BY_WAY["local"], *BY_WAY["federated"]]
    sent = {name: told for name, told, *_ in (line.removeprefix("| ").split(" | ") for line in costs)}
    assert tuple(sent) == SYSTEMS["federated"]
    assert float(sent["local-rag"]) == 2.0  # the question and its answer
    assert float(sent["confidential-broadcast"]) > 2.0
    rows = list(csv.DictReader((out / "table1.csv").open(encoding="utf-8")))
    told = [(row["setting"], row["system"]) for row in rows]
    assert told == [(setting, name) for setting, names in SYSTEMS.items() for name in names]
    kept = (out / "local-hotpotqa" / "rows.jsonl").read_bytes()
    main()
    assert (out / "local-hotpotqa" / "rows.jsonl").read_bytes() == kept


def test_all_baselines_stand_beside_fd_rag() -> None:
    assert set(SYSTEMS["local"]) == {*BASELINES, "fd-rag-local"}


def test_two_strategies_have_no_row() -> None:
    assert set(STRATEGIES) - set(ALL["federated"]) == {"local-graph", "controller-fedavg"}  # as the script says


def test_a_part_that_fails_names_its_log(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=LOG):
        run_part(part_of("local", "hotpotqa", tmp_path, SYSTEMS["local"], []), tmp_path)
    assert "is not a file" in (tmp_path / LOG).read_text(encoding="utf-8")
