"""The benchmark: one protocol for all systems, rows that survive a kill, results in the shape of a run's."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest
from filelock import FileLock

from fedrag_flwr.errors import (
    FedragError,
    SettingError,
    SourceError,
    StoreCorruptError,
    StoreLockedError,
    StoreMismatchError,
)
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.models.llama import instructions
from fedrag_flwr.records import Answer, because, declined
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.sources.benchmark import read_pool
from simulations.baselines import BASELINES
from simulations.bench.comparing import compared
from simulations.bench.construction import READING
from simulations.bench.outcome import COGNIZER, MEMORIZER, ORACLE, _asked_apart, oracle, write_outcome
from simulations.bench.plan import BenchPlan, Setting
from simulations.bench.rows import PLAN, ROWS, Row, Rows, Session, read_rows
from simulations.bench.run import run_plan
from simulations.bench.systems import (
    CHANGES,
    ON_DEVICE,
    VARIANTS,
    changes_of,
    chosen_systems,
    order_of,
    system_names,
)
from simulations.bench.world import make_world
from simulations.bench_costs import main as print_costs
from simulations.bench_scaling import point
from strategies import STRATEGIES
from tests.simulations.tiny_data import write_data, write_pool

SMALL: dict[str, Plain] = {
    "models.generator": "smollm2-135m",
    "models.context-tokens": 2048,
    "memory.tokens-per-kilotoken": 0,
    "inference.max-answer-tokens": 6,
    "inference.passages": 2,
}
FAST = (MEMORIZER, "local-memory")


@pytest.fixture(autouse=True, scope="module")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def plan_of(path: Path, systems: tuple[str, ...] = FAST, setting: Setting = "local", questions: int = 4) -> BenchPlan:
    return BenchPlan((path,), systems, setting, devices=2, questions=questions, changes=SMALL)


SESSION = Session("0123abcd", "model@0123", 1e9)


def silent(_: str) -> None:
    return None


def test_rows_tables_and_report_come_out_of_a_run(data: Path, tmp_path: Path) -> None:
    plan = plan_of(data, (MEMORIZER, COGNIZER, "local-rag", "memory-fusion", "centralized"), "federated")
    worlds, rows = run_plan(plan, tmp_path / "out", silent)
    summary = write_outcome(plan, worlds, rows, tmp_path / "out")
    assert set(summary.systems) == {*plan.systems, ORACLE}
    assert all(result.n == 4 and result.missing == 0.0 for result in summary.systems.values())
    assert all(result.replayed == 0.0 for result in summary.systems.values())
    assert summary.systems["memory-fusion"].messages > summary.systems[MEMORIZER].messages == 0
    told = summary.systems["memory-fusion"]
    assert sum(phase.messages for phase in told.by_phase.values()) == told.messages
    assert summary.systems[ORACLE].acc >= max(summary.systems[name].acc for name in (MEMORIZER, COGNIZER))
    assert [name for name, result in summary.systems.items() if result.upper_bound] == [ORACLE]
    assert f"| {ORACLE} (upper bound) |" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    answers = read_answers(tmp_path / "out")
    assert len(answers) == 6 * 4
    read = [row for row in answers if row.path in ("cognizer", "remote")]
    assert {COGNIZER, "local-rag"} <= {row.system for row in read}
    assert all(row.evidence for row in read)
    for name in ("table.md", "table.csv", "report.html"):
        assert MEMORIZER in (tmp_path / "out" / name).read_text(encoding="utf-8")
    assert read_summary(tmp_path / "out") == summary
    answers_of = [row for row in rows.of("tiny", "memory-fusion") if row.question_id]
    assert all(row.server_seconds > 0.0 for row in answers_of)
    assert not any(row.server_seconds for row in rows.of("tiny", MEMORIZER))
    found = point(2, "memory-fusion", worlds[0], rows)
    assert (found.questions, found.low <= found.acc <= found.high) == (4, True)
    assert found.messages == sum(row.traffic.messages for row in answers_of) / 4 > 0.0
    assert found.sharing_up > found.bytes_up


def wordy(data: Path, folder: Path) -> Path:
    """The same questions over documents of which five passages, or twenty sentences, are more than a prompt takes."""
    path = folder / data.name
    with gzip.open(data, "rt", encoding="utf-8") as lines, gzip.open(path, "wt", encoding="utf-8") as out:
        for row in map(json.loads, lines):
            for one in row["paragraphs"]:
                told = (
                    f"In volume {number} of the papers of {one['title']} a clerk of the harbour wrote down on a grey "
                    "morning which carts and boats and barrels had come by the road."
                    for number in range(6)
                )
                one["text"] = " ".join([one["text"].replace(". ", "; "), *told])
            out.write(json.dumps(row) + "\n")
    return path


@pytest.mark.slow
def test_all_that_read_evidence_within_a_budget_read_as_much(data: Path, tmp_path: Path) -> None:
    systems = ("rag-route", "confidential-broadcast", "vanilla")
    changes = {**SMALL, "inference.passages": 5}
    plan = BenchPlan((wordy(data, tmp_path),), systems, "federated", devices=2, questions=3, changes=changes)
    _, rows = run_plan(plan, tmp_path / "out", silent)
    read = {name: [row.answer.cost.tokens_in for row in rows.of("tiny", name) if row.answer] for name in systems}
    for each in zip(*read.values(), strict=True):
        assert max(each) < 1.15 * min(each)


def test_what_a_system_differs_in_is_of_systems_that_there_are() -> None:
    assert set(CHANGES) <= set(STRATEGIES)
    assert set(ON_DEVICE) & {*STRATEGIES, *VARIANTS, *BASELINES} == set()
    for name in system_names():
        Settings.from_config(dict(changes_of(name)))  # refuses what is no setting


def test_summary_routing_runs_without_each_of_its_parts(data: Path, tmp_path: Path) -> None:
    parts = [name for name in VARIANTS if name.startswith("summary-routing-")]
    plan = plan_of(data, ("summary-routing", *parts), "federated", questions=2)
    _, rows = run_plan(plan, tmp_path, silent)
    found = {name: [row.answer for row in rows.of("tiny", name) if row.answer is not None] for name in plan.systems}
    assert all("gate: trust" in answer.explanation for answers in found.values() for answer in answers)
    drawn = {name: sum(one.cost.tokens_out for one in answers) for name, answers in found.items()}
    assert min(drawn.values()) == drawn["summary-routing-one-candidate"] < drawn["summary-routing"]


def test_finished_rows_are_not_made_again_and_systems_may_join(data: Path, tmp_path: Path) -> None:
    run_plan(plan_of(data, (MEMORIZER,)), tmp_path, silent)
    before = (tmp_path / ROWS).read_text(encoding="utf-8")
    said: list[str] = []
    _, rows = run_plan(plan_of(data), tmp_path, said.append)
    after = (tmp_path / ROWS).read_text(encoding="utf-8")
    assert after.startswith(before)
    assert not any(MEMORIZER in line for line in said)
    assert rows.of("tiny", "local-memory")[0].question_id == ""
    assert len(rows.of("tiny", MEMORIZER)) == len(rows.of("tiny", "local-memory")) == 5
    assert len(rows.sessions(FAST)) == 2
    assert len(rows.sessions([MEMORIZER])) == 1


def test_the_manifest_tells_of_all_processes_that_made_rows(data: Path, tmp_path: Path) -> None:
    plan = plan_of(data, (MEMORIZER,))
    worlds, rows = run_plan(plan, tmp_path, silent)
    first = write_outcome(plan, worlds, rows, tmp_path).manifest
    again = write_outcome(plan, *run_plan(plan, tmp_path, silent), tmp_path).manifest
    assert (again.started, again.seconds) == (first.started, first.seconds)
    [one] = {row.session for row in rows.of("tiny", MEMORIZER)}
    assert one is not None
    other = replace(one, code="f" * 12, began=time.time() - 60.0, machine=(("processor", "another"),))
    joined = Rows(tmp_path, plan.digest, plan.told(), other)
    joined.add(Row("tiny", MEMORIZER, "another question"))
    told = write_outcome(plan, worlds, joined, tmp_path).manifest
    assert told.versions["code"] == f"{one.code}; {'f' * 12}"
    assert told.models["generator"] == one.generator
    assert told.models["pipeline"] == worlds[0].models.pipeline.id
    assert told.versions["torch"] == version("torch")
    assert told.machine["processor"] == f"{dict(one.machine)['processor']}; another"
    assert told.machine["llama.cpp"] == f"{instructions()}; not told"
    asked = [row.load for row in rows.of("tiny", MEMORIZER) if row.question_id]
    assert first.machine["load"] == again.machine["load"] == pytest.approx(sum(asked) / len(asked), abs=0.05)
    assert told.seconds == pytest.approx(first.seconds + 60.0, abs=1.0)
    assert "bench.sessions" not in first.settings  # all were asked by the same processes
    joined.add(Row("tiny", COGNIZER, "another question"))
    apart = _asked_apart((MEMORIZER, COGNIZER), joined)["sessions"]
    assert apart[COGNIZER] == f"{datetime.fromtimestamp(other.began, UTC):%Y-%m-%d %H:%M}"
    assert apart[MEMORIZER].split(", ")[1:] == [apart[COGNIZER]]


def test_rows_that_an_idle_process_writes_out_are_not_its_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(data, (MEMORIZER,))
    first = write_outcome(plan, *run_plan(plan, tmp_path, silent), tmp_path).manifest
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.setattr("fedrag_flwr.evaluation.manifest.version", lambda package: "0.0")
    again = write_outcome(plan, *run_plan(plan, tmp_path, silent), tmp_path).manifest
    assert (again.versions, again.machine, again.models) == (first.versions, first.machine, first.models)
    assert again.settings["bench.peak-rss-mb"] == first.settings["bench.peak-rss-mb"]


def test_what_a_system_reads_under_settings_of_its_own_is_told(data: Path, tmp_path: Path) -> None:
    plan = plan_of(data, ("fd-rag-nearest", "closed-book"), questions=1)
    told = write_outcome(plan, *run_plan(plan, tmp_path, silent), tmp_path).manifest.settings
    assert told["bench.own-settings"] == {"fd-rag-nearest": {"retrieval.order": "similarity"}}


def test_the_floor_reads_as_local_rag_does_and_no_memory_is_made_for_it(data: Path, tmp_path: Path) -> None:
    plan = replace(plan_of(data, ("plain", "fd-rag-no-memory", "local-rag"), questions=2), seed=23)  # stores of its own
    _, rows = run_plan(plan, tmp_path, silent)
    builds = {name: [one for row in rows.of("tiny", name) for one in row.builds] for name in plan.systems}
    assert all(len(made) == 2 and not any(one.items for one in made) for made in builds.values())
    told = {name: [row.answer for row in rows.of("tiny", name) if row.answer is not None] for name in plan.systems}
    read = {name: [[unit.id for unit in one.evidence] for one in answers] for name, answers in told.items()}
    assert read["plain"] == read["local-rag"]
    assert [one.text for one in told["plain"]] == [one.text for one in told["local-rag"]]
    assert [len(units) for units in read["plain"]] == [2, 2]
    assert not any(one.path == "memorizer" for one in told["fd-rag-no-memory"])


def test_local_baselines_are_built_at_each_home_and_their_costs_are_shown(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("closed-book", "long-units")
    plan = plan_of(data, names, questions=2)
    worlds, rows = run_plan(plan, tmp_path, silent)
    summary = write_outcome(plan, worlds, rows, tmp_path)
    assert [summary.systems[name].llm_calls for name in names] == [1.0, 1.0]
    held = {name: {document.id for document in own} for name, own in worlds[0].partition.documents.items()}
    homes = {question.question_id: question.home for question in worlds[0].gold}
    for answer in (row.answer for row in rows.of("tiny", "long-units") if row.answer is not None):
        home = homes[answer.question_id]
        assert answer.sources
        for device, _, unit in (source.partition("/") for source in answer.sources):
            assert device == home
            assert unit.partition("#")[0].removesuffix(".md") in {name.removesuffix(".md") for name in held[home]}
    built = [row.constructions for row in rows.of("tiny", "long-units") if not row.question_id]
    assert [len(one) for one in built] == [2]
    construction = (tmp_path / "construction.md").read_text(encoding="utf-8")
    assert " units |" in construction
    with (tmp_path / ROWS).open("a", encoding="utf-8") as file:
        file.write('{"dataset": "tiny", "sys')  # a row that is being written
    before = (tmp_path / ROWS).read_bytes()
    print_costs([str(tmp_path)])
    told = capsys.readouterr().out
    assert "| closed-book | 2 |" in told
    assert construction in told
    assert (tmp_path / ROWS).read_bytes() == before


@pytest.mark.parametrize(("systems", "seed"), [((MEMORIZER, "vanilla"), 21), (("vanilla", MEMORIZER), 22)])
def test_reading_the_documents_is_charged_to_no_system_in_any_order(
    systems: tuple[str, ...], seed: int, data: Path, tmp_path: Path
) -> None:
    plan = replace(plan_of(data, systems, questions=2), seed=seed)  # of its own, so that no store was built before
    worlds, rows = run_plan(plan, tmp_path, silent)
    write_outcome(plan, worlds, rows, tmp_path)
    [reading] = rows.of("tiny", READING)
    held = worlds[0].partition.documents.values()
    assert [one.counts for one in reading.constructions] == [(f"documents={len(own)}",) for own in held]
    assert all(one.cost.seconds > 0.0 for one in reading.constructions)
    builds = [report for row in rows.of("tiny", MEMORIZER) for report in row.builds]
    assert [report.added for report in builds] == [0, 0]
    first = (tmp_path / "construction.md").read_text(encoding="utf-8").splitlines()[2]
    assert f"| tiny | {READING} |" in first
    assert f" {sum(map(len, held))} documents |" in first
    run_plan(replace(plan, systems=(*systems, "bm25")), tmp_path, silent)
    assert [row.constructions for row in read_rows(tmp_path) if row.system == READING] == [reading.constructions]


def test_another_plan_does_not_mix_with_these_rows(data: Path, tmp_path: Path) -> None:
    run_plan(plan_of(data, (MEMORIZER,)), tmp_path, silent)
    with pytest.raises(StoreMismatchError, match="another plan"):
        run_plan(plan_of(data, (MEMORIZER,), questions=3), tmp_path, silent)


def test_a_torn_last_row_is_cut_and_a_broken_one_is_named(tmp_path: Path) -> None:
    answer = Answer("q1", "Lindmoor", "memorizer", 0.9, decisions=(because("memory", "why"),))
    rows = Rows(tmp_path, "d", {"digest": "d"}, SESSION)
    rows.add(Row("tiny", "a", "q1", answer))
    rows.add(Row("tiny", "a", "q2"))
    whole = (tmp_path / ROWS).read_bytes()
    for cut in (1, len(whole) // 4):
        (tmp_path / ROWS).write_bytes(whole[:-cut])
        kept = Rows(tmp_path, "d", {"digest": "d"}, SESSION)
        assert [row.answer for row in kept.of("tiny", "a")] == [answer]
        assert (tmp_path / ROWS).read_bytes() == whole.splitlines(keepends=True)[0]
    (tmp_path / ROWS).write_bytes(b'{"dataset": 3}\n' + whole)
    with pytest.raises(StoreCorruptError, match=f"{ROWS}:1"):
        Rows(tmp_path, "d", {"digest": "d"}, SESSION)


def test_a_plan_is_replaced_whole_and_only_by_another(tmp_path: Path) -> None:
    Rows(tmp_path, "d", {"digest": "d"}, SESSION)
    first = tmp_path / "first.json"
    os.link(tmp_path / PLAN, first)
    Rows(tmp_path, "d", {"digest": "d"}, SESSION)
    assert (tmp_path / PLAN).samefile(first)
    Rows(tmp_path, "d", {"digest": "d", "systems": [MEMORIZER]}, SESSION)
    assert json.loads(first.read_text()) == {"digest": "d"}  # a kill at any moment leaves one or the other
    assert json.loads((tmp_path / PLAN).read_text())["systems"] == [MEMORIZER]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_a_broken_plan_is_named(body: bytes, tmp_path: Path) -> None:
    (tmp_path / PLAN).write_bytes(body)
    with pytest.raises(StoreCorruptError, match=PLAN):
        Rows(tmp_path, "d", {"digest": "d"}, SESSION)


def test_a_killed_run_goes_on_where_it_was(data: Path, tmp_path: Path) -> None:
    sets = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", "bench", "--data", str(data)]
    command += ["--systems", ",".join(FAST)]
    command += ["--devices", "2", "--questions", "6", "--out", str(tmp_path / "out"), *sets]
    rows = tmp_path / "out" / ROWS
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 120
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
    keys = [(row["system"], row["question_id"]) for row in map(json.loads, lines)]
    assert len(keys) == len(set(keys)) == 2 * (6 + 1)


def test_what_only_an_error_answered_is_asked_again(data: Path, tmp_path: Path) -> None:
    plan = BenchPlan((data,), (MEMORIZER,), "local", devices=1, questions=3, changes=SMALL)
    [world], rows = run_plan(plan, tmp_path / "out", silent)
    first, second, third = (row for row in rows.of(world.name, MEMORIZER) if row.question_id)
    rows.add(replace(first, answer=declined(first.question_id, "failed: StoreFullError")))
    rows.add(replace(second, answer=None))
    _, again = run_plan(plan, tmp_path / "out", silent)
    assert all(again.answered(world.name, MEMORIZER, one.question_id) for one in (first, second, third))
    kept = [row for row in read_rows(tmp_path / "out") if row.question_id]
    assert sorted(row.question_id for row in kept) == sorted(one.question_id for one in (first, second, third))
    lines = (tmp_path / "out" / ROWS).read_text(encoding="utf-8").splitlines()
    assert sum(json.loads(line)["question_id"] == third.question_id for line in lines) == 1


def test_datasets_of_the_hub_are_told_apart_by_their_whole_names() -> None:
    names = ("hub:a/qa.v2:alpha", "hub:a/qa.v2:beta", "hub:b/qa.v2:alpha")
    assert len({BenchPlan((Path(name),), FAST, changes=SMALL).digest for name in names}) == len(names)


def test_two_at_one_folder_are_refused(data: Path, tmp_path: Path) -> None:
    plan = BenchPlan((data,), (MEMORIZER,), "local", devices=1, questions=3, changes=SMALL)
    out = tmp_path / "out"
    out.mkdir()
    with FileLock(out / "lock"), pytest.raises(StoreLockedError, match="another benchmark"):
        run_plan(plan, out, silent)
    run_plan(plan, out, silent)


def test_several_datasets_have_results_each_and_together(data: Path, tmp_path: Path) -> None:
    other = write_data(tmp_path, "other")
    plan = BenchPlan((data, other), (MEMORIZER,), "local", devices=1, questions=3, changes=SMALL)
    worlds, rows = run_plan(plan, tmp_path / "out", silent)
    summary = write_outcome(plan, worlds, rows, tmp_path / "out")
    parts = [read_summary(tmp_path / "out" / name).systems[MEMORIZER] for name in ("tiny", "other")]
    assert summary.systems[MEMORIZER].n == sum(part.n for part in parts) == 6
    assert set(summary.devices) == {"tiny/device-0", "other/device-0"}
    both, answers = compared([tmp_path / "out" / "tiny", tmp_path / "out" / "other"])
    assert set(both.systems) == {f"tiny/{MEMORIZER}", f"other/{MEMORIZER}"}
    assert both.systems[f"tiny/{MEMORIZER}"].versus[f"other/{MEMORIZER}"].value == pytest.approx(
        parts[0].acc - parts[1].acc
    )
    assert len(answers) == 6


@pytest.mark.parametrize("name", ["my run", "_bench", "résultats"])
def test_a_folder_that_cannot_hold_results_is_refused_before_the_first_question(
    name: str, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(SettingError, match=f"--out.*{name}.*plain file name"):
        run_plan(plan_of(data), tmp_path / name, silent)
    assert not (tmp_path / name).exists()


def test_one_of_several_datasets_needs_a_name_that_a_folder_can_have(data: Path, tmp_path: Path) -> None:
    odd = write_data(tmp_path, "my questions")
    with pytest.raises(SettingError, match=r"--data.*my questions.*plain file name"):
        run_plan(BenchPlan((data, odd), FAST, changes=SMALL), tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()


def test_only_the_same_questions_at_the_same_homes_are_paired(data: Path, tmp_path: Path) -> None:
    for name, devices in (("one", 1), ("two", 4)):
        plan = BenchPlan((data,), (MEMORIZER,), "federated", devices=devices, questions=6, changes=SMALL)
        worlds, rows = run_plan(plan, tmp_path / name, silent)
        write_outcome(plan, worlds, rows, tmp_path / name)
    summary, _ = compared([tmp_path / "one", tmp_path / "two"])
    assert [result.versus for result in summary.systems.values()] == [{}, {}]
    told = summary.manifest.settings
    assert (told["bench.devices"], told["bench.setting"]) == ("one: 1; two: 4", "federated")
    assert told["bench.questions"] == {"tiny": 6}
    assert told["bench.at-home"] == "one: {'tiny': 6}; two: {'tiny': 5}"


def test_other_building_has_stores_of_its_own(data: Path) -> None:
    plain = make_world(plan_of(data), data)
    changed = replace(plan_of(data), changes={**SMALL, "hypergraph.grouping": "random"})
    asked = replace(plan_of(data), changes={**SMALL, "inference.words": 20})
    keys = [make_world(plan, data).settings.data_key for plan in (changed, asked)]
    assert keys[0] != plain.settings.data_key == keys[1]


def test_another_file_of_the_same_name_has_documents_of_its_own(data: Path, tmp_path: Path) -> None:
    other = tmp_path / data.name
    other.write_bytes(data.read_bytes() + b"\n")
    keys = [make_world(plan_of(path), path).settings.data_key for path in (data, other)]
    assert keys[0] != keys[1]


def test_another_corpus_beside_a_pool_s_questions_has_a_store_of_its_own(tmp_path: Path) -> None:
    path = write_pool(tmp_path)
    plan = BenchPlan((path,), (MEMORIZER,), "pool", questions=1, changes=SMALL)
    before = make_world(plan, path).settings.data_key
    with (tmp_path / "pool_corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps({'title': 'Another', 'text': 'One more passage.'})}\n")
    assert make_world(plan, path).settings.data_key != before


@pytest.mark.parametrize("setting", ["local", "federated"])
def test_homes_hold_what_the_setting_says(setting: Setting, data: Path) -> None:
    world = make_world(plan_of(data, setting=setting, questions=6), data)
    held = {name: {document.id for document in documents} for name, documents in world.partition.documents.items()}
    assert len(world.devices) == 2
    assert set.intersection(*held.values()) == set()
    at_home = [set(question.documents) <= held[question.home] for question in world.gold]
    assert len(at_home) == 6
    assert all(at_home) or setting == "federated"


def test_a_pool_lies_on_one_device(tmp_path: Path) -> None:
    path = write_pool(tmp_path)
    world = make_world(BenchPlan((path,), (MEMORIZER,), "pool", questions=5, changes=SMALL), path)
    assert world.devices == ("device-0",)
    assert len(world.gold) == 5
    assert all(question.documents and question.home == "device-0" for question in world.gold)
    (tmp_path / "pool_corpus.jsonl").write_text('{"title": "x"}\n', encoding="utf-8")
    with pytest.raises(FedragError, match=r"pool_corpus\.jsonl:1"):
        read_pool(path)
    with pytest.raises(SourceError, match="NAME_qa"):
        read_pool(tmp_path / "other.jsonl")


def test_a_pool_of_other_passages_does_not_mix_with_these_rows(tmp_path: Path) -> None:
    path = write_pool(tmp_path)
    plan = BenchPlan((path,), (MEMORIZER,), "pool", questions=1, changes=SMALL)
    Rows(tmp_path / "out", plan.digest, plan.told(), SESSION)
    with (tmp_path / "pool_corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps({'title': 'Another', 'text': 'One more passage.'})}\n")
    with pytest.raises(StoreMismatchError, match="another plan"):
        Rows(tmp_path / "out", plan.digest, plan.told(), SESSION)


def test_the_oracle_takes_memory_only_where_it_is_right() -> None:
    gold = [GoldQuestion(str(number), "?", "yes") for number in range(3)]
    fast = [Answer("0", "yes", "memorizer", 1.0), Answer("1", "no", "memorizer", 1.0)]
    slow = [Answer(str(number), text, "cognizer", 0.5) for number, text in enumerate(("no", "yes", "no"))]
    assert [answer.path for answer in oracle(gold, fast, slow)] == ["memorizer", "cognizer", "cognizer"]


def test_each_system_begins_as_often() -> None:
    assert [order_of(["a", "b", "c"], turn)[0] for turn in range(6)] == ["a", "b", "c"] * 2
    assert all(sorted(order_of(["a", "b", "c"], turn)) == ["a", "b", "c"] for turn in range(6))


def test_a_wrong_plan_is_refused_before_anything_is_loaded(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no-such-system"):
        chosen_systems("no-rag,no-such-system")
    for wrong in (
        {"questions": 0},
        {"devices": 0},
        {"systems": ()},
        {"setting": "pool", "split": "train"},
        {"changes": {"seed": 9}},
    ):
        with pytest.raises(SettingError):
            BenchPlan(**{"data": (data,), "systems": ("no-rag",), **wrong})  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="absent"):
        BenchPlan((tmp_path / "absent.jsonl",), ("no-rag",))
    with pytest.raises(SourceError, match="fits on one device"):
        make_world(BenchPlan((data,), ("no-rag",), "local", devices=11, questions=8, changes=SMALL), data)


def test_what_trains_on_questions_of_its_own_is_no_system_of_a_bench() -> None:
    assert "controller-fedavg" not in system_names()
    with pytest.raises(SettingError, match=r"controller-fedavg.*bench_controller\.py"):
        chosen_systems("no-rag,controller-fedavg")


def test_the_plan_lies_beside_the_rows(data: Path, tmp_path: Path) -> None:
    plan = plan_of(data, (MEMORIZER,))
    run_plan(plan, tmp_path, silent)
    told = json.loads((tmp_path / PLAN).read_text(encoding="utf-8"))
    content = hashlib.sha256(data.read_bytes()).hexdigest()[:12]
    assert (told["digest"], told["data"], told["systems"]) == (plan.digest, {"tiny": content}, [MEMORIZER])
