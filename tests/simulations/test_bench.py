"""The benchmark of systems over devices: one protocol for all, rows that survive a kill, tables of what was found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from fedrag_flwr.errors import SettingError, SourceError, StoreLockedError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.records import Answer, declined
from fedrag_flwr.settings import Plain, Settings
from simulations.answers.sets import rows_after
from simulations.bench.fixture import Fixture, make_fixture
from simulations.bench.outcome import COGNIZER, MEMORIZER, ORACLE, answer_frame, oracle, prepared_frame, write_outcome
from simulations.bench.plan import BenchPlan, Setting, named
from simulations.bench.rows import Row, Rows
from simulations.bench.run import run_plan
from simulations.bench.systems import (
    CHANGES,
    ON_DEVICE,
    SYSTEMS,
    VARIANTS,
    changes_of,
    order_of,
    refuse_clashes,
)
from simulations.benchmarks.federation import TABLE, accuracy_table, cost_table, over_all_table, path_table
from strategies import STRATEGIES
from tests.simulations.tiny_data import write_data

SMALL: dict[str, Plain] = {
    "models.generator": "smollm2-135m",
    "models.context-tokens": 2048,
    "memory.tokens-per-kilotoken": 0,
    "inference.max-answer-tokens": 6,
    "inference.passages": 2,
}
FAST = (MEMORIZER, "local-memory")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def plan_of(path: Path, systems: tuple[str, ...] = FAST, setting: Setting = "local", questions: int = 4) -> BenchPlan:
    return BenchPlan(path, systems, setting, devices=2, questions=questions, changes=SMALL)


def silent(_: str) -> None:
    return None


@pytest.fixture(scope="module")
def asked(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[BenchPlan, Fixture, Rows, Path]:
    """Systems of all kinds over a tiny file, and what they left."""
    out = tmp_path_factory.mktemp("bench") / "out"
    systems = (MEMORIZER, COGNIZER, "plain", "no-rag", "local-rag", "memory-fusion")
    plan = plan_of(data, systems, "federated")
    fixture, rows = run_plan(plan, out, silent)
    write_outcome(plan, fixture, rows, out)
    return plan, fixture, rows, out


def test_a_run_leaves_a_summary_answers_and_a_report(asked: tuple[BenchPlan, Fixture, Rows, Path]) -> None:
    plan, _, _, out = asked
    summary = read_summary(out)
    assert set(summary.systems) == {*plan.systems, ORACLE}
    assert all(result.n == 4 and result.missing == 0.0 for result in summary.systems.values())
    assert summary.systems["memory-fusion"].messages > summary.systems[MEMORIZER].messages == 0
    assert summary.systems[ORACLE].acc >= max(summary.systems[name].acc for name in (MEMORIZER, COGNIZER))
    assert [name for name, result in summary.systems.items() if result.upper_bound] == [ORACLE]
    answers = read_answers(out)
    assert len(answers) == 7 * 4
    assert all(row.evidence for row in answers if row.system == COGNIZER and row.path == "cognizer")
    assert "memory-fusion" in (out / "report.html").read_text(encoding="utf-8")


def test_tables_count_each_question_once(asked: tuple[BenchPlan, Fixture, Rows, Path]) -> None:
    plan, fixture, rows, out = asked
    answers = answer_frame(plan, fixture, rows)
    summary = read_summary(out)
    assert answers.groupby("system").size().to_dict() == dict.fromkeys(summary.systems, 4)
    accuracy = accuracy_table(answers).set_index("system")["tiny: ACC"]
    for name, result in summary.systems.items():
        assert accuracy[name] == pytest.approx(100 * result.acc, abs=0.06)
    over_all = over_all_table(answers).set_index("system")
    assert all(float(str(told).split(" to ")[1].rstrip(")")) > 40.0 for told in over_all["ACC"])  # of four questions
    assert over_all.loc["local-rag", "minus local-rag"] == ""
    assert over_all.loc["plain", "right"] == answers[answers["system"] == "plain"]["right"].sum()
    costs = cost_table(answers).set_index("system")
    assert costs.loc["local-rag", "messages"] == 2.0  # the question and its answer
    assert costs.loc["no-rag", "calls"] == 1.0
    assert costs["server s"][MEMORIZER] == 0.0 < answers[answers["system"] == "memory-fusion"]["server s"].min()
    paths = path_table(answers).set_index("system")
    assert str(paths.loc["no-rag", "cognizer"]).startswith("4 / ")


def test_preparations_are_told_and_stores_are_built_once(asked: tuple[BenchPlan, Fixture, Rows, Path]) -> None:
    plan, fixture, rows, _ = asked
    before = prepared_frame(plan, fixture, rows).set_index("system")
    assert tuple(before.index) == plan.systems
    added = {name: [report.added for report in rows[name, ""].builds] for name in (MEMORIZER, COGNIZER)}
    assert added == {MEMORIZER: list(map(len, fixture.partition.documents.values())), COGNIZER: [0, 0]}
    assert before.loc[MEMORIZER, "memories"] == sum(report.items for report in rows[MEMORIZER, ""].builds) > 0
    assert before.loc[COGNIZER, "memories"] == 0
    for answer in (row.answer for row in rows.of("plain") if row.answer is not None):
        home = next(gold.home for gold in fixture.gold if gold.question_id == answer.question_id)
        names = {document.id.removesuffix(".md") for document in fixture.partition.documents[home]}
        assert answer.sources
        for device, _, unit in (source.partition("/") for source in answer.sources):
            assert (device, unit.partition("#")[0].removesuffix(".md") in names) == (home, True)


def test_the_floor_reads_as_local_rag_does(asked: tuple[BenchPlan, Fixture, Rows, Path]) -> None:
    _, _, rows, _ = asked
    told = {name: [row.answer for row in rows.of(name) if row.answer is not None] for name in ("plain", "local-rag")}
    assert [one.text for one in told["plain"]] == [one.text for one in told["local-rag"]]
    assert [[unit.id for unit in one.evidence] for one in told["plain"]] == [
        [unit.id for unit in one.evidence] for one in told["local-rag"]
    ]


def test_finished_rows_are_not_made_again_and_systems_may_join(data: Path, tmp_path: Path) -> None:
    run_plan(plan_of(data, (MEMORIZER,)), tmp_path, silent)
    before = (tmp_path / "rows.jsonl").read_text(encoding="utf-8")
    said: list[str] = []
    _, rows = run_plan(plan_of(data), tmp_path, said.append)
    assert (tmp_path / "rows.jsonl").read_text(encoding="utf-8").startswith(before)
    assert not any(MEMORIZER in line for line in said)
    assert len(rows.of(MEMORIZER)) == len(rows.of("local-memory")) == 5
    _, other = run_plan(plan_of(data, (MEMORIZER,), questions=3), tmp_path, silent)  # another plan's are set aside
    assert len(other.of(MEMORIZER)) == 4


def test_what_only_an_error_answered_is_asked_again(tmp_path: Path) -> None:
    given = Answer("q1", "Lindmoor", "memorizer", 0.9)
    rows = Rows(tmp_path / "rows.jsonl", "me")
    rows.add(Row("a", "q1", given))
    rows.add(Row("a", "q2", declined("q2", "failed: StoreFullError")))
    rows.add(Row("a", "q3"))
    again = Rows(tmp_path / "rows.jsonl", "me")
    assert [("a", name) in again for name in ("q1", "q2", "q3")] == [True, False, False]
    assert again["a", "q1"].answer == given


def test_a_killed_run_goes_on_where_it_was(data: Path, tmp_path: Path) -> None:
    sets = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", "bench", "federation"]
    command += ["--sets", str(data), "--setting", "local", "--systems", ",".join(FAST)]
    command += ["--devices", "2", "--questions", "6", "--out", str(tmp_path / "out"), *sets]
    rows = tmp_path / "out" / "local-tiny-2" / "rows.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 240
        while first.poll() is None and time.monotonic() < deadline:
            if rows.is_file() and rows.read_bytes().count(b"\n") >= 5:
                os.kill(first.pid, signal.SIGKILL)
                break
            time.sleep(0.005)
    finished = [line for line in rows.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    assert 5 <= len(finished) < 14
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    lines = rows.read_text(encoding="utf-8").splitlines()
    assert lines[: len(finished)] == finished
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)) == 2 * (6 + 1)
    assert len((tmp_path / "out" / "answers.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 6


def test_two_at_one_folder_are_refused(data: Path, tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock"), pytest.raises(StoreLockedError, match="another benchmark"):
        run_plan(plan_of(data), tmp_path, silent)


@pytest.mark.parametrize(
    ("changes", "same"), [({"hypergraph.grouping": "random"}, False), ({"inference.passages": 2}, True)]
)
def test_other_building_and_other_files_have_stores_of_their_own(
    changes: dict[str, Plain], same: bool, data: Path, tmp_path: Path
) -> None:
    plain = make_fixture(plan_of(data)).settings.data_key
    changed = replace(plan_of(data), changes={**SMALL, **changes})
    assert (make_fixture(changed).settings.data_key == plain) is same
    other = tmp_path / data.name
    other.write_bytes(data.read_bytes() + b"\n")
    assert make_fixture(plan_of(other)).settings.data_key != plain


@pytest.mark.parametrize("setting", ["local", "federated"])
def test_homes_hold_what_the_setting_says(setting: Setting, data: Path) -> None:
    fixture = make_fixture(plan_of(data, setting=setting, questions=6))
    held = {name: {document.id for document in documents} for name, documents in fixture.partition.documents.items()}
    assert len(fixture.devices) == 2
    assert set.intersection(*held.values()) == set()
    at_home = [set(question.documents) <= held[question.home] for question in fixture.gold]
    assert len(at_home) == 6
    assert all(at_home) or setting == "federated"


def test_the_oracle_takes_memory_only_where_it_is_right() -> None:
    gold = [GoldQuestion(str(number), "?", "yes") for number in range(3)]
    fast = [Answer("0", "yes", "memorizer", 1.0), Answer("1", "no", "memorizer", 1.0)]
    slow = [Answer(str(number), text, "cognizer", 0.5) for number, text in enumerate(("no", "yes", "no"))]
    assert [answer.path for answer in oracle(gold, fast, slow)] == ["memorizer", "cognizer", "cognizer"]


def test_each_system_begins_as_often() -> None:
    assert [order_of(["a", "b", "c"], turn)[0] for turn in range(6)] == ["a", "b", "c"] * 2
    assert all(sorted(order_of(["a", "b", "c"], turn)) == ["a", "b", "c"] for turn in range(6))


def test_rows_that_are_passed_over_leave_nothing_behind(data: Path) -> None:
    every, later = rows_after(data, "dev", 0, 8), rows_after(data, "dev", 3, 5)
    assert later.questions == every.questions[3:8]
    needed = {name for one in later.questions for name in one.documents}
    assert needed <= {one.id for one in later.documents} < {one.id for one in every.documents}
    with pytest.raises(SourceError, match="pass over fewer"):
        make_fixture(BenchPlan(data, ("no-rag",), "federated", devices=2, after=10_000, changes=SMALL))


def test_a_wrong_plan_is_refused_before_anything_is_loaded(data: Path, tmp_path: Path) -> None:
    for told in ("no-rag,no-such-system", "controller-fedavg", " , "):
        with pytest.raises(SettingError, match=r"is not a system.*no-rag"):
            named(told, SYSTEMS)
    for wrong in (
        {"split": "test"},
        {"questions": 0},
        {"devices": 0},
        {"setting": "pool"},
        {"after": -1},
        {"changes": {"seed": 9}},
    ):
        with pytest.raises(SettingError):
            BenchPlan(data, **{"systems": ("no-rag",), **wrong})  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="absent"):
        BenchPlan(tmp_path / "absent.jsonl", ("no-rag",))
    with pytest.raises(SourceError, match="fits on one device"):
        make_fixture(BenchPlan(data, ("no-rag",), "local", devices=11, questions=8, changes=SMALL))


@pytest.mark.parametrize(
    ("system", "changes", "told"),
    [
        ("fd-rag-random-edges", {"hypergraph.grouping": "learned"}, "'learned' does not fit.*which sets random"),
        ("topic-walk", {"exchange": "encrypted"}, "exchange: 'encrypted' does not fit topic-walk.*\"plain\""),
        (
            "summary-routing",
            {"exchange": "download", "routing.answers-at": "server"},
            "'server' does not fit.*\"home\"",
        ),
    ],
)
def test_a_system_that_cannot_run_under_the_settings_is_refused(
    system: str, changes: dict[str, Plain], told: str
) -> None:
    with pytest.raises(SettingError, match=told):
        refuse_clashes(["plain", system], Settings.from_config(changes), changes)


def test_systems_have_names_of_their_own_and_settings_that_there_are() -> None:
    assert len(set(SYSTEMS)) == len(SYSTEMS)
    assert set(CHANGES) <= set(STRATEGIES)
    assert {*VARIANTS, *ON_DEVICE}.isdisjoint(STRATEGIES)
    assert {name for names in TABLE.values() for name in names} <= set(SYSTEMS)
    for name in SYSTEMS:
        refuse_clashes([name], Settings.from_config(dict(changes_of(name))), {})
