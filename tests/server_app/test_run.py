"""A whole federation on the in-process grid, with real encoder, spaCy and SmolLM2."""

import json
import logging
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, RecordDict
from flwr.common.serde import message_from_proto
from flwr.proto.message_pb2 import Message as MessageProto
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr import wire
from fedrag_flwr.errors import DocumentError, FederationError, SettingError, SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.memory.fusion.merge import FUSION, references
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.records import Answer, BuildReport, Cost, Delta
from fedrag_flwr.settings import Settings, fedrag_home
from server_app.app import main
from server_app.run import _builds, questions_of, run_systems, spread
from strategies import STRATEGIES, Flooding
from strategies.outcome import RunOutcome
from tests.strategies.federation import DEVICES, DOCUMENTS, QUESTIONS, Federation, FirstRun, anew, small_models

SYSTEM_KEYS = {
    *("acc", "f1", "em", "abstained", "paths", "latency_s", "llm_calls", "tokens_in", "tokens_out"),
    *("messages", "bytes_up", "bytes_down", "peak_rss_mb"),
}
EMPTY = RunOutcome("x", (), (), (), Traffic(), {}, 0.0, {})
PATHS = {"memorizer", "cognizer", "remote", "cache", "abstained"}


def rows(first: FirstRun, system: str = "memory-fusion") -> dict[str, AnswerRow]:
    return {row.question_id: row for row in read_answers(first.folder) if row.system == system}


def records(sent: Iterable[bytes], kind: type[Any]) -> list[Any]:
    """What travelled of one kind."""
    messages = [message_from_proto(MessageProto.FromString(data)) for data in sent]
    contents = [message.content for message in messages if message.has_content()]
    return [wire.decode(c, kind, run="1") for c in contents if wire.kind_of(c) == kind.__name__]


def shared_memory_of(files: Federation) -> SharedMemory:
    settings, tools = files.settings, small_models()
    root = fedrag_home(settings.home) / "shared-memory" / settings.data_key
    return SharedMemory(root, tools.encoder, tools.pipeline)


def test_the_results_have_the_documented_keys(first: FirstRun) -> None:
    summary = json.loads((first.folder / "summary.json").read_text(encoding="utf-8"))
    assert {"systems", "devices", "manifest"} <= summary.keys()
    assert list(summary["systems"]) == ["memory-fusion", "local-rag", "no-rag"]
    assert set(summary["devices"]) == set(DEVICES)
    for system in summary["systems"].values():
        assert system.keys() >= SYSTEM_KEYS
        assert set(system["paths"]) == PATHS
        assert set(system["latency_s"]) == {"mean", "p50", "p95"}
        assert sum(system["paths"].values()) == pytest.approx(1.0)
        assert (system["n"], system["missing"]) == (len(QUESTIONS), 0.0)
        assert min(system["messages"], system["bytes_up"], system["bytes_down"], system["peak_rss_mb"]) > 0
    counts = {name: system["counts"] for name, system in summary["systems"].items()}
    assert counts["local-rag"] == counts["no-rag"] == {}
    shared_memory = shared_memory_of(first.files)
    fused = counts["memory-fusion"]
    assert fused["fusion-kept"] == len(shared_memory.items()) > 0
    shared_memory.close()
    assert (first.folder / "report.html").stat().st_size > 10_000
    read_summary(first.folder)


def test_the_manifest_tells_how_to_repeat_the_run_and_names_no_place(first: FirstRun) -> None:
    manifest = read_summary(first.folder).manifest
    assert manifest.seed == first.files.settings.seed
    assert set(manifest.settings) == set(Settings().flat())
    assert set(manifest.models) == {"encoder", "generator"}
    assert "SmolLM2" in manifest.models["generator"]
    text = (first.folder / "summary.json").read_text(encoding="utf-8")
    assert str(first.files.root) not in text


def test_every_question_has_one_answer_of_each_system(first: FirstRun) -> None:
    answered = [(row.system, row.question_id) for row in read_answers(first.folder)]
    assert len(answered) == len(set(answered)) == 3 * len(QUESTIONS)
    assert {row.path for row in read_answers(first.folder)} <= PATHS


HOME = ["f1", "f2", "f3", "f4", "f5"]


def test_memory_answers_home_questions_rightly_and_without_the_model(first: FirstRun) -> None:
    answers = rows(first)
    assert [(answers[q].path, answers[q].right, answers[q].cost.llm_calls) for q in HOME] == [
        ("memorizer", True, 0)
    ] * 5


def test_others_memories_answer_what_home_cannot(first: FirstRun) -> None:
    answer = rows(first)["f7"]
    assert (answer.home, answer.answer, answer.path) == ("bridges", "2,144 metres", "memorizer")
    assert {source.partition("/")[0] for source in answer.sources} == {"rivers"}
    assert not rows(first, "local-rag")["f7"].right


def test_memory_does_not_answer_what_no_document_holds(first: FirstRun) -> None:
    answer = rows(first)["f9"]
    assert answer.path != "memorizer"
    assert answer.cost.llm_calls >= 1


PATHS_OF = [("no-rag", {"cognizer", "abstained"}), ("local-rag", {"cognizer", "abstained"})]


@pytest.mark.parametrize(("system", "paths"), PATHS_OF)
def test_systems_that_work_alone_use_neither_memory_nor_others(system: str, paths: set[str], first: FirstRun) -> None:
    answers = rows(first, system).values()
    assert {row.path for row in answers} <= paths
    assert {source.partition("/")[0] for row in answers for source in row.sources} <= {row.home for row in answers}
    assert not any(row.sources for row in answers) or system != "no-rag"
    result = read_summary(first.folder).systems[system]
    assert {phase.partition(".")[2] for phase in result.by_phase} == {"describe", "build", "answer"}


def test_every_answer_is_traced_to_documents_at_their_owners(first: FirstRun) -> None:
    """Each source but the server's own leads, at the device that owns it, to a document that the device has."""
    devices = {name: first.files.device(name) for name in DEVICES}
    seen: set[str] = set()
    try:
        for row in rows(first).values():
            for source in row.sources:
                origin = source.partition("/")[0]
                if origin == FUSION:
                    continue
                answer = Answer("", "", "memorizer", 0.0, (source,))
                lines = devices[origin].trace(answer)
                assert lines, source
                documents = {line.document for line in lines}
                assert documents <= {Path(name).stem for name in DOCUMENTS[origin]}
                assert all(line.text and line.passage.startswith(line.document) for line in lines)
                foreign = devices[row.home].trace(answer)
                assert origin == row.home or [(line.text, line.document) for line in foreign] == [("", "")]
                seen |= documents
    finally:
        for device in devices.values():
            device.close()
    assert {"tarn-bridge", "ossel", "copper-hall"} <= seen


def test_gold_documents_are_among_the_traced(first: FirstRun) -> None:
    answers = rows(first)
    gold = {question[0]: (question[4], question[5]) for question in QUESTIONS}
    for question_id in HOME:
        home, documents = gold[question_id]
        with first.files.device(home) as device:
            found = device.trace(Answer("", "", "memorizer", 0.0, answers[question_id].sources))
        assert set(documents) <= {line.document for line in found}


def test_private_names_do_not_leave(first: FirstRun) -> None:
    with first.files.device("rivers") as device:
        assert any("Enno Tveit" in item.answer for item in device.store.items())
    assert not any(b"Tveit" in data for data in first.sent)
    assert any(b"Odile Varro" in data for data in first.sent)  # public by agreement


def test_each_device_gets_all_memories_of_the_others_and_none_of_its_own(first: FirstRun) -> None:
    shared_memory = shared_memory_of(first.files)
    shared = {item.id: item.origin for item in shared_memory.items()}
    shared_memory.close()
    assert set(DEVICES) == set(shared.values())
    for name in DEVICES:
        with first.files.device(name) as device:
            held = {item.id: item.origin for item in device.store.items() if item.origin != name}
        assert held == {item_id: origin for item_id, origin in shared.items() if origin != name}


@pytest.fixture(scope="module")
def later(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> tuple[Federation, list[bytes], dict[str, int]]:
    """A second run over unchanged documents, in a copy; with the stores' versions before it."""
    files = first.files.copy_to(tmp_path_factory.mktemp("later")).with_changes(baselines="")
    versions = {}
    for name in DEVICES:
        with files.device(name) as device:
            versions[name] = device.store.version
    grid = files.grid()
    with anew():
        run_systems(grid, "1", files.settings)
    return files, grid.sent, versions


Later = tuple[Federation, list[bytes], dict[str, int]]


def test_a_second_run_builds_nothing(later: Later) -> None:
    _, sent, versions = later
    reports: list[BuildReport] = records(sent, BuildReport)
    assert {report.device: report.version for report in reports} == versions
    assert [(r.added, r.changed, r.removed, r.cost.llm_calls) for r in reports] == [(0, 0, 0, 0)] * 5


def test_a_second_run_shares_nothing_new(later: Later) -> None:
    _, sent, _ = later
    deltas: list[Delta] = records(sent, Delta)
    assert len(deltas) == 2 * len(DEVICES)  # up, and down
    assert [(delta.items, delta.retracted) for delta in deltas] == [((), ())] * len(deltas)
    assert all(delta.since > 0 for delta in deltas)


def test_a_second_run_answers_alike(first: FirstRun, later: Later) -> None:
    folder = fedrag_home(later[0].settings.home) / "results" / "1"
    again = {row.question_id: row for row in read_answers(folder)}
    before = rows(first)
    assert {q: (row.answer, row.path, row.sources) for q, row in again.items()} == {
        q: (row.answer, row.path, row.sources) for q, row in before.items()
    }


def test_what_changes_or_goes_is_retracted_everywhere(first: FirstRun, tmp_path: Path) -> None:
    files = first.files.copy_to(tmp_path).with_changes(baselines="")
    cairl = files.root / "data" / "rivers" / "mount-cairl.md"
    cairl.write_text("# Mount Cairl\n\nMount Cairl is a mountain. It is 2,099 metres high.\n", encoding="utf-8")
    (files.root / "data" / "people" / "odile-varro.md").unlink()
    grid = files.grid()
    folder = run_systems(grid, "1", files.settings)

    reports = {report.device: report for report in records(grid.sent, BuildReport)}
    assert {n: (r.added, r.changed, r.removed) for n, r in reports.items() if r.changed or r.removed} == {
        "rivers": (0, 1, 0),
        "people": (0, 0, 1),
    }
    uploads = {delta.origin: delta for delta in records(grid.sent, Delta) if delta.origin in DEVICES}
    assert all(uploads[name].retracted for name in ("rivers", "people"))
    assert not any(uploads[name].items or uploads[name].retracted for name in ("bridges", "harbours", "museums"))

    shared_memory = shared_memory_of(files)
    held = {"the shared memory": shared_memory.items()}
    shared_memory.close()
    for name in DEVICES:
        with files.device(name) as device:
            held[name] = device.store.items()
    for place, items in held.items():
        texts = " | ".join(f"{item.question} {item.answer}" for item in items)
        assert "2,144 metres" not in texts, place
        assert "highest mountain" not in texts, place
        assert "Iron Medal" not in texts, place
        assert "Norrhall" in texts, place  # Berta Solveig, of the same device, stays
        assert "2,099 metres" in texts, place
    answers = {row.question_id: row for row in read_answers(folder)}
    assert answers["f7"].answer == "2,099 metres"
    assert answers["f4"].answer != "Lindmoor" or answers["f4"].path != "memorizer"


def test_a_device_that_begins_anew_sends_everything_again(first: FirstRun, tmp_path: Path) -> None:
    files = first.files.copy_to(tmp_path).with_changes(baselines="")
    shutil.rmtree(files.root / "home" / "devices" / files.settings.data_key / "rivers")
    grid = files.grid()
    run_systems(grid, "1", files.settings)
    uploads = {delta.origin: delta for delta in records(grid.sent, Delta) if delta.origin in DEVICES}
    assert uploads["rivers"].since == 0
    assert uploads["rivers"].items
    assert uploads["bridges"].items == ()
    shared_memory = shared_memory_of(files)
    assert sum(item.origin == "rivers" for item in shared_memory.items()) == len(uploads["rivers"].items)
    shared_memory.close()


def test_a_shared_memory_that_begins_anew_gets_and_gives_everything(first: FirstRun, tmp_path: Path) -> None:
    files = first.files.copy_to(tmp_path).with_changes(baselines="")
    shutil.rmtree(files.root / "home" / "shared-memory")
    grid = files.grid()
    run_systems(grid, "1", files.settings)
    deltas = records(grid.sent, Delta)
    assert all(delta.since == 0 and delta.items for delta in deltas)
    shared_memory = shared_memory_of(files)
    origins = {item.origin for item in shared_memory.items()}
    shared_memory.close()
    assert origins == set(DEVICES)


def test_where_the_shared_memory_begins_anew_nobody_keeps_what_is_gone(first: FirstRun, tmp_path: Path) -> None:
    others = [name for name in DEVICES if name != "rivers"]
    files = first.files.copy_to(tmp_path).with_changes(baselines="", federation__devices=len(others))

    def held() -> dict[str, set[str]]:
        found = {}
        for name in others:
            with files.device(name) as device:
                found[name] = {owner for item in device.store.items() for owner, _ in references(item)}
        return found

    assert all("rivers" in names for names in held().values())
    shutil.rmtree(files.root / "home" / "shared-memory")
    nodes = [node for node, name in zip(files.nodes, DEVICES, strict=True) if name in others]
    run_systems(files.grid(nodes=nodes), "1", files.settings)
    assert held() == {key: set(others) for key in others}


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"strategy": "gossip"}, SettingError, f"choose one of {', '.join(STRATEGIES)}"),
        ({"baselines": "local-rag, gossip"}, SettingError, "'gossip' is not a strategy"),
        ({"data__split": "dev"}, SettingError, "no questions of split 'dev'"),
        ({"data__questions": "/no/such/questions.jsonl"}, SourceError, "questions.jsonl"),
    ],
)
def test_a_wrong_plan_is_refused(changes: dict[str, str], kind: type[Exception], said: str, first: FirstRun) -> None:
    files = first.files.with_changes(**changes)
    grid = files.grid()
    with pytest.raises(kind, match=said):
        run_systems(grid, "1", files.settings)
    assert grid.sent == []


def test_what_ended_is_kept_if_others_fail(first: FirstRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = first.files.copy_to(tmp_path).with_changes(strategy="no-rag", baselines="flooding")

    def run(*_: object) -> RunOutcome:
        raise FederationError("too few took part", where="flooding")

    monkeypatch.setattr(Flooding, "run", run)
    with pytest.raises(FederationError, match="too few"):
        run_systems(files.grid(), "1", files.settings)
    [folder] = [path.parent for path in tmp_path.rglob("summary.json")]
    assert list(read_summary(folder).systems) == ["no-rag"]


def test_builds_of_one_run_are_told_together() -> None:
    plain = BuildReport("a", 3, 9, 9, 0, 0, 20, 60, 0, 0, 0, 0, ("x: odd",), (), Cost(1.0), 200.0)
    fuller = BuildReport(
        *("a", 4, 9, 0, 0, 0, 20, 60, 15, 2, 300, 1_000),
        *(("x: odd", "y: no memory"), ("length=3",), Cost(5.0, 2, 90, 20), 500.0),
        graph=("communities=4",),
    )
    for order in ((plain, fuller), (plain, fuller, replace(plain, items=300, hyperedges=15, added=0))):
        made = {f"system {n}": replace(EMPTY, builds=(one,)) for n, one in enumerate(order)}
        [told] = _builds(made)
        assert (told.added, told.items, told.hyperedges, told.corpus_tokens, told.orphans) == (9, 300, 15, 1_000, 2)
        assert (told.failed, told.rejects) == (fuller.failed, fuller.rejects)
        assert (told.graph, told.peak_rss_mb) == (("communities=4",), 500.0)
        assert told.cost.seconds == sum(one.cost.seconds for one in order)


def test_a_malformed_question_is_named_by_its_line(first: FirstRun, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "a", "question": "Who?", "answer": ""}\n{"id": "b"}', encoding="utf-8")
    with pytest.raises(DocumentError, match=r"q\.jsonl:2"):
        questions_of(first.files.with_changes(data__questions=str(tmp_path / "q.jsonl")).settings)


def test_a_question_whose_home_is_no_device_is_told(
    first: FirstRun, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    (tmp_path / "q.jsonl").write_text(
        "\n".join(
            json.dumps({"id": home, "question": "Who?", "answer": "", "home": home}) for home in ("bridges", "quays")
        ),
        encoding="utf-8",
    )
    files = first.files.copy_to(tmp_path / "astray").with_changes(
        data__questions=str(tmp_path / "q.jsonl"), data__split="", baselines=""
    )
    folder = run_systems(files.grid(), "1", files.settings)
    assert "memory-fusion: nobody was asked 1 questions, as no device is called 'quays'" in caplog.messages
    assert read_summary(folder).systems["memory-fusion"].missing == 0.5


def test_questions_are_those_of_the_split(first: FirstRun) -> None:
    assert [q.question_id for q in questions_of(first.files.settings)] == [row[0] for row in QUESTIONS]
    assert len(questions_of(first.files.with_changes(data__limit=3).settings)) == 3
    demo = questions_of(Settings())
    assert len(demo) == Settings().data.limit
    assert {question.split for question in demo} == {"test"}
    both = {question.split for question in questions_of(Settings.from_config({"data.split": ""}))}
    assert both == {"test", "train"}


TEXTS = st.just("?")
NONE = st.just(())
KINDS, HOMES = st.sampled_from("abc"), st.sampled_from(["", "x", "y"])
GOLD = st.lists(
    st.builds(GoldQuestion, st.uuids().map(str), TEXTS, TEXTS, NONE, KINDS, NONE, HOMES),
    max_size=30,
    unique_by=lambda question: question.question_id,
)


@given(GOLD, st.integers(1, 40))
def test_a_limit_is_spread_over_homes_and_kinds(questions: list[GoldQuestion], limit: int) -> None:
    chosen = spread(questions, limit)
    assert len(chosen) == min(limit, len(questions))
    assert chosen == [question for question in questions if question in chosen]
    groups: dict[tuple[str, str], list[int]] = {}
    for question in questions:
        groups.setdefault((question.kind, question.home), [0, 0])[0] += 1
    for question in chosen:
        groups[question.kind, question.home][1] += 1
    share = len(chosen) / max(len(questions), 1)
    assert all(abs(taken - share * there) <= 1 for there, taken in groups.values())


def test_the_server_app_runs_what_the_config_asks_for(first: FirstRun, tmp_path: Path) -> None:
    files = first.files.copy_to(tmp_path).with_changes(baselines="", strategy="no-rag", data__limit=1)
    main(files.grid(), Context(1, 1, {}, RecordDict(), dict(files.config)))
    (row,) = read_answers(fedrag_home(files.settings.home) / "results" / "1")
    assert row.system == "no-rag"
    with pytest.raises(SettingError, match="colour"):
        main(files.grid(), Context(1, 1, {}, RecordDict(), {"colour": "red"}))
