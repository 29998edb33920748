"""Table 1 over a tiny file: all its rows in one command, and a part that fails says so."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fedrag_flwr.errors import ProcessError
from fedrag_flwr.evaluation.results import write_results
from simulations.baselines import BASELINES
from simulations.bench.rows import LOCK
from simulations.bench_table1 import ALL, BY_WAY, SYSTEMS, chosen, main, part_of
from simulations.parts.side_by_side import run_part, set_words
from simulations.reporting.table1_tables import folder_of, tables
from strategies import STRATEGIES
from tests.evaluation.made_up_run import make_run
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
    assert table.count("\n- code: ") == 1
    paper, beside, over_all, ways, costs, _ = (part.splitlines()[2:] for part in table.split("\n\n")[::2])
    for lines, cells in ((paper, 4), (beside, 3), (over_all, 4)):
        named = [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]
        assert named == [*SYSTEMS["local"], "**federated**", *SYSTEMS["federated"]]
        assert all(line.count(" | ") == cells for line in lines if "**" not in line)
    assert not any("–" in line for line in paper)
    idle = {line.removeprefix("| ").split(" | ")[0] for line in costs if "–" in line}
    assert idle == {"confidential-broadcast", "centralized"}  # the server does nothing for their questions
    assert [line.split(" | ")[3] for line in beside if "–" in line] == ["– |", "– |"]  # the references'
    asked = [name for setting, names in BY_WAY.items() for name in names if name in SYSTEMS[setting]]
    assert [line.split(" | ")[0].removeprefix("| ") for line in ways] == asked
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
    assert set(SYSTEMS["local"]) == {*BASELINES, "fd-rag-local", "plain"}


def test_chosen_rows_keep_the_tables_order_and_their_references() -> None:
    assert chosen(SYSTEMS, ["rag-route", "pagerank", "vanilla"]) == {
        "local": ["vanilla", "pagerank", "fd-rag-local"],
        "federated": ["rag-route", "fedrag"],
    }
    assert chosen(SYSTEMS, None) == {setting: list(names) for setting, names in SYSTEMS.items()}


def test_two_strategies_have_no_row() -> None:
    assert set(STRATEGIES) - set(ALL["federated"]) == {"local-graph", "controller-fedavg"}  # as the script says


def test_a_part_that_fails_names_its_log(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=LOG):
        run_part(part_of("local", "hotpotqa", tmp_path, SYSTEMS["local"], []), tmp_path)
    assert "is not a file" in (tmp_path / LOG).read_text(encoding="utf-8")


def test_a_part_that_another_process_is_at_work_on_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path, "hotpotqa")
    part = part_of("local", "hotpotqa", tmp_path, ["closed-book"], ["--questions", "50", *set_words(SMALL)])
    (tmp_path / part.name).mkdir()
    works = "import sys, time, filelock\nwith filelock.FileLock(sys.argv[1]):\n print(flush=True)\n time.sleep(1.5)"
    with subprocess.Popen(
        [sys.executable, "-c", works, str(tmp_path / part.name / LOCK)], stdout=subprocess.PIPE
    ) as orphan:
        assert orphan.stdout is not None
        orphan.stdout.readline()
        with pytest.raises(ProcessError, match=LOG):
            run_part(part, tmp_path)
        assert orphan.poll() == 0
    assert capsys.readouterr().out == f"{part.name}: another process is at work there still, and is waited for\n"
    assert "50 were asked for" in (tmp_path / LOG).read_text(encoding="utf-8")  # read once the folder is its own


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ({"hotpotqa": "0123", "musique": "0123"}, "- code: 0123\n"),
        ({"hotpotqa": "0123", "musique": "4567"}, "- code: local-hotpotqa: 0123; local-musique: 4567\n"),
    ],
)
def test_under_the_table_stands_what_the_parts_were_made_with(
    codes: Mapping[str, str], told: str, tmp_path: Path
) -> None:
    run = make_run(24)
    for name, code in codes.items():
        manifest = replace(run.manifest, versions={**run.manifest.versions, "code": code})
        write_results(tmp_path, folder_of("local", name), manifest, run.systems, run.answers, run.gold, run.builds)
    systems = {"local": ("memory-fusion", "local-rag")}
    table = tables(tmp_path, systems, list(codes), {"local": "memory-fusion"}, systems)
    made = table[table.index("Made with") :]
    assert told in made
    for what, value in (*run.manifest.models.items(), *run.manifest.machine.items()):
        assert f"- {what}: {value}\n" in made
