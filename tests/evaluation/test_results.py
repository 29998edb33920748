"""Result files: round trip, refusal of what is not a summary, and no half-written file."""

import errno
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedrag_flwr
from fedrag_flwr.errors import FedragError, NotFoundError, SettingError, StoreCorruptError, StoreError, StoreFullError
from fedrag_flwr.evaluation.manifest import PACKAGES, collect_manifest, fitted_on
from fedrag_flwr.evaluation.results import read_answers, read_summary, write_results
from fedrag_flwr.evaluation.table import devices_table
from fedrag_flwr.files import replace_file
from fedrag_flwr.records import AnswerPath, EvidenceUnit
from tests.evaluation.made_up_run import Run, make_build, make_run, with_text

DOCUMENTED = (
    *("acc", "f1", "em", "abstained", "paths", "latency_s", "llm_calls", "tokens_in", "tokens_out"),
    *("messages", "bytes_up", "bytes_down", "peak_rss_mb"),
)


def write(run: Run, root: Path, run_id: str = "run-1") -> Path:
    return write_results(root, run_id, run.manifest, run.systems, run.answers, run.gold, run.builds)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(make_run(), tmp_path_factory.mktemp("results"))


def test_the_folder(written: Path) -> None:
    assert sorted(file.name for file in written.iterdir()) == ["answers.jsonl", "report.html", "summary.json"]
    content = json.loads((written / "summary.json").read_text())
    assert list(content) == ["systems", "devices", "manifest"]
    for system in content["systems"].values():
        assert set(DOCUMENTED) <= system.keys()
        assert list(system["latency_s"]) == ["mean", "p50", "p95"]


def test_the_summary_comes_back(written: Path) -> None:
    run, summary = make_run(), read_summary(written)
    assert summary == read_summary(written / "summary.json")
    assert list(summary.systems) == list(run.systems)
    for name, result in run.systems.items():
        assert replace(summary.systems[name], intervals={}, versus={}) == result
    assert summary.manifest == run.manifest
    clinic = summary.devices["clinic"]
    assert (clinic.documents, clinic.items, clinic.build_seconds) == (24, 280, 41.0)
    assert clinic.tokens_per_kilotoken == pytest.approx(1000 * 760 / 14_200)
    assert clinic.acc["no-rag"] == run.systems["no-rag"].devices["clinic"].acc


def test_intervals_compare_the_systems(written: Path) -> None:
    systems = read_summary(written).systems
    first, second = systems["memory-fusion"], systems["local-rag"]
    for heading, value in {"ACC": first.acc, "F1": first.f1, "EM": first.em}.items():
        interval = first.intervals[heading]
        assert interval.low < value < interval.high
        assert interval.value == pytest.approx(value)
    mean = first.latency_s.mean
    assert mean is not None
    assert first.intervals["Mean latency"].low < mean < first.intervals["Mean latency"].high
    assert first.versus["local-rag"].value == pytest.approx(first.acc - second.acc)
    assert second.versus["memory-fusion"].value == pytest.approx(second.acc - first.acc)


def test_the_answers_come_back(written: Path) -> None:
    run, rows = make_run(), read_answers(written)
    assert len(rows) == 3 * len(run.gold)
    given = {answer.question_id: answer for answer in run.answers["no-rag"]}
    for row in (row for row in rows if row.system == "no-rag"):
        answer = given.get(row.question_id)
        assert (row.answer, row.path) == ((answer.text, answer.path) if answer else (None, "missing"))
        assert row.right or row.em == 0
    assert "evidence" not in json.loads((written / "answers.jsonl").read_text().splitlines()[0])


def test_the_same_run_writes_the_same_files(tmp_path: Path) -> None:
    first, second = write(make_run(40), tmp_path / "a"), write(make_run(40), tmp_path / "b")
    for name in ("summary.json", "answers.jsonl", "report.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_builds_of_one_device_add_up(tmp_path: Path) -> None:
    run = make_run(10)
    builds = [make_build("clinic"), replace(make_build("clinic"), items=300, documents=25)]
    folder = write_results(tmp_path, "run", run.manifest, run.systems, run.answers, run.gold, builds)
    clinic = read_summary(folder).devices["clinic"]
    assert (clinic.items, clinic.documents, clinic.build_seconds) == (300, 25, 82.0)


def test_files_that_a_device_skipped_are_counted_by_reason(tmp_path: Path) -> None:
    run = make_run(10)
    build = replace(make_build("clinic"), skip_counts=("a picture=2", "hidden=1"))
    summary = read_summary(write_results(tmp_path, "run", run.manifest, run.systems, run.answers, run.gold, [build]))
    assert summary.devices["clinic"].skipped == {"a picture": 2, "hidden": 1}
    [line] = [cells for cells in devices_table(summary).columns[-1].cells if "picture" in str(cells)]
    assert str(line) == "2 skipped: a picture; 1 skipped: hidden"


@settings(max_examples=3)
@given(st.lists(st.text(max_size=60), min_size=5, max_size=5))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    run = make_run(5)
    told = {question.question_id: text for question, text in zip(run.gold, texts, strict=True)}
    answers = {name: [with_text(one, told[one.question_id]) for one in given] for name, given in run.answers.items()}
    folder = write(replace(run, answers=answers), tmp_path_factory.mktemp("texts"))
    for row in read_answers(folder):
        assert row.answer in (None, told[row.question_id].encode("utf-8", errors="replace").decode())


def test_a_score_that_is_no_number_is_left_out(tmp_path: Path) -> None:
    run = make_run(5)
    answers = {name: [replace(a, score=float("nan")) for a in given] for name, given in run.answers.items()}
    assert read_answers(write(replace(run, answers=answers), tmp_path))[0].score is None


@pytest.mark.parametrize(
    ("text", "score", "kept"),
    [("1924", 0.83, 0.83), ("", 0.21, 0.21), ("", 0.0, 0.0), ("1924", 0.0, None)],
    ids=["answered", "too unsure", "nothing found", "judged by nobody"],
)
def test_every_answer_has_its_confidence(tmp_path: Path, text: str, score: float, kept: float | None) -> None:
    run = make_run(5)
    path: AnswerPath = "cognizer" if text else "abstained"
    answers = {
        name: [replace(answer, text=text, score=score, path=path) for answer in given]
        for name, given in run.answers.items()
    }
    rows = read_answers(write(replace(run, answers=answers), tmp_path))
    assert {row.score for row in rows if row.answer is not None} == {kept}


def test_words_on_an_answer_name_no_text_where_none_may_be_written(tmp_path: Path) -> None:
    run = make_run(5)
    unit = EvidenceUnit("u", "The lease was signed in 1924.", "desk", 0.5, "Lease › Parties")
    changes: list[dict[str, Any]] = [
        {"path": "memorizer", "recalled": "When was the lease signed?"},
        {"path": "cognizer", "evidence": (unit,)},
    ]
    told: list[tuple[str, str]] = []
    for change in changes:
        answers = {
            name: [replace(answer, text="1924", score=0.8, sources=("desk/u",), **change) for answer in given]
            for name, given in run.answers.items()
        }
        both = []
        for with_evidence in (False, True):
            folder = write_results(
                tmp_path, "run", run.manifest, run.systems, answers, run.gold, with_evidence=with_evidence
            )
            [said] = {row.told for row in read_answers(folder) if row.answer is not None}
            both.append(said)
        told.append((both[0], both[1]))
    assert told == [
        ("From memory (sure)", "From memory: When was the lease signed? (sure)"),
        ("Read in the documents (sure)", "Read in Lease › Parties (sure)"),
    ]


Edit = Callable[[dict[str, dict[str, dict[str, object]]]], object]


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (lambda s: s["systems"]["no-rag"].pop("acc"), "systems.no-rag.acc"),
        (lambda s: s["systems"]["no-rag"].update(acc="good"), "systems.no-rag.acc"),
        (lambda s: s["systems"]["no-rag"].update(f1=1.5), "systems.no-rag.f1"),
        (lambda s: s["systems"]["no-rag"].update(f1=float("nan")), "systems.no-rag.f1"),
        (lambda s: s["systems"]["no-rag"].update(messages=-1), "systems.no-rag.messages"),
        (lambda s: s["systems"]["no-rag"]["latency_s"].pop("p95"), "systems.no-rag.latency_s.p95"),
        (lambda s: s["devices"]["clinic"].update(items=1.5), "devices.clinic.items"),
        (lambda s: s["systems"]["no-rag"]["latency_s"].update(mean=float("inf")), "systems.no-rag.latency_s.mean"),
        (lambda s: s["systems"]["no-rag"]["intervals"]["ACC"].update(low=float("nan")), "no-rag.intervals.ACC.low"),
        (lambda s: s["systems"].clear(), "systems"),
        (lambda s: s.pop("manifest"), "manifest"),
    ],
)
def test_a_wrong_summary_is_refused_by_field(tmp_path: Path, written: Path, edit: Edit, field: str) -> None:
    content = json.loads((written / "summary.json").read_text())
    edit(content)
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(content))
    with pytest.raises(StoreCorruptError, match=re.escape(field)):
        read_summary(file)


NO_NUMBERS = [(field, value) for field in ("score", "em", "f1", "cost.seconds") for value in (math.nan, math.inf)]


@pytest.mark.parametrize(("field", "value"), [*NO_NUMBERS, ("cost.seconds", -1.0)])
def test_what_an_answer_is_worth_and_took_is_a_number(tmp_path: Path, written: Path, field: str, value: float) -> None:
    first, *others = (written / "answers.jsonl").read_text().splitlines()
    row = json.loads(first)
    (row["cost"] if field == "cost.seconds" else row)[field.rpartition(".")[2]] = value
    (tmp_path / "answers.jsonl").write_text("\n".join((json.dumps(row), *others)))
    with pytest.raises(StoreCorruptError, match=rf"answers.jsonl line 1.*{field}"):
        read_answers(tmp_path)


def test_results_are_their_owner_s_to_read(tmp_path: Path) -> None:
    folder = write(make_run(5), tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_extra_and_absent_optional_keys_are_fine(tmp_path: Path, written: Path) -> None:
    content = json.loads((written / "summary.json").read_text())
    system = {key: content["systems"]["no-rag"][key] for key in DOCUMENTED}
    bare = {"systems": {"x": {**system, "more": 1}}, "devices": {}, "manifest": {"settings": {}, "seed": 1}}
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(bare))
    assert read_summary(tmp_path).systems["x"].kinds == {}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"systems": {"a": {"acc": 0.5'])
def test_torn_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "summary.json").write_bytes(content)
    (tmp_path / "answers.jsonl").write_bytes(content or b"\n")
    with pytest.raises(StoreCorruptError):
        read_summary(tmp_path)
    with pytest.raises(StoreCorruptError, match="line 1"):
        read_answers(tmp_path)


def test_errors_hold_no_text(tmp_path: Path, written: Path) -> None:
    line = json.loads((written / "answers.jsonl").read_text().splitlines()[0])
    (tmp_path / "answers.jsonl").write_text(json.dumps({**line, "right": "a patient's secret"}))
    with pytest.raises(StoreCorruptError) as caught:
        read_answers(tmp_path)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_absent_results(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_summary(tmp_path)
    with pytest.raises(NotFoundError):
        read_answers(tmp_path / "nowhere")


@pytest.mark.parametrize("run_id", ["", "..", "../up", "a/b", ".hidden", "a b", "x" * 101, "run\n"])
def test_a_run_id_is_a_plain_name(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(SettingError):
        write(make_run(5), tmp_path / "results", run_id)
    assert list(tmp_path.iterdir()) == []


def test_no_system_is_no_result(tmp_path: Path) -> None:
    run = make_run(5)
    with pytest.raises(SettingError):
        write_results(tmp_path, "run", run.manifest, {}, {}, run.gold)


def test_a_root_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        write(make_run(5), tmp_path / "file")


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.ENOSPC, StoreFullError), (errno.EDQUOT, StoreFullError), (errno.EACCES, StoreError)]
)
def test_old_files_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[FedragError]) -> None:
    folder = write(make_run(5), tmp_path)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    def full(handle: int) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(kind):
            write(make_run(6), tmp_path)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_no_summary_is_beside_answers_of_another_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(make_run(5), tmp_path)
    put = Path.replace

    def killed(fresh: Path, target: Path) -> Path:
        if target == folder / "report.html":
            raise KeyboardInterrupt
        return put(fresh, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write(make_run(6), tmp_path)
    assert len(read_answers(folder)) == 3 * 6
    assert not (folder / "summary.json").exists()
    write(make_run(6), tmp_path)
    assert {result.n for result in read_summary(folder).systems.values()} == {6}
    assert sorted(file.name for file in folder.iterdir()) == ["answers.jsonl", "report.html", "summary.json"]


def test_replacing_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "file"
    replace_file(target, b"first")
    replace_file(target, b"second")
    assert (target.read_text(), [file.name for file in tmp_path.iterdir()]) == ("second", ["file"])
    assert target.stat().st_mode & 0o777 == 0o600
    replace_file(target, b"for all", 0o644)
    assert target.stat().st_mode & 0o777 == 0o644


def test_every_file_of_weights_tells_what_it_was_fitted_on() -> None:
    weights = {path.stem for path in Path(fedrag_flwr.__file__).parent.rglob("*.json") if path.read_text()[0] == "{"}
    assert {"confidence", "sentences"} <= weights
    assert fitted_on().keys() == weights


def test_the_manifest_names_no_place_and_no_secret() -> None:
    manifest = collect_manifest(
        {
            "model-path": "/home/somebody/models/qwen.gguf",
            "folder": "C:\\Users\\somebody\\data",
            "home": "~/private/cache",
            "database": "postgresql://somebody:hunter2@host.internal/db",
            "sources": ["/srv/somebody/notes", "text"],
            "beside": "../somebody/patients",
            "named": "docs=/home/somebody/x.db, ./somebody/y.db",
            "privacy": {"epsilon": 1.0, "api-key": "hunter2"},
            "root": "demo",
            "limit": 0,
        },
        seed=7,
        models={"generator": "/home/somebody/qwen.gguf"},
    )
    assert manifest.settings == {
        "model-path": "qwen.gguf",
        "folder": "data",
        "home": "cache",
        "database": "postgresql://(left out)",
        "sources": ["notes", "text"],
        "beside": "patients",
        "named": "docs=x.db, y.db",
        "privacy": {"epsilon": 1.0, "api-key": "(left out)"},
        "root": "demo",
        "limit": 0,
    }
    content = json.dumps(asdict(manifest))
    assert "somebody" not in content
    assert "hunter2" not in content
    assert os.uname().nodename not in content
    assert {"python", *PACKAGES} - {"fedrag-flwr"} <= manifest.versions.keys()
    assert len(manifest.versions["code"]) == 12
    assert manifest.fitted["sentences"].startswith("training questions: ")
    assert "training questions" in manifest.fitted["controller_weights"]
    assert manifest.started.endswith("+00:00")
    assert int(manifest.machine["cores"]) >= 1


@pytest.mark.parametrize("threads", ["", "1"])
def test_the_manifest_tells_what_else_decides_seconds(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    machine = collect_manifest({}, seed=7, models={}, load=2.04).machine
    assert machine["load"] == 2.0
    assert machine.get("omp_num_threads", "") == threads
    assert float(collect_manifest({}, seed=7, models={}).machine["load"]) >= 0.0
