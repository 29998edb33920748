"""The command line: what a person and a program see, and that every error shows its fix and exits with 1."""

import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import Result
from rich.markup import escape
from typer.testing import CliRunner

from fedrag_flwr.caching import Tier
from fedrag_flwr.cli import app
from fedrag_flwr.cli.console import PATH_SETTINGS, err, json_of, out, settings_from, toml_value
from fedrag_flwr.cli.flower import Flower, app_directory
from fedrag_flwr.cli.memory import device_at, open_device
from fedrag_flwr.device.edge import NAMES
from fedrag_flwr.errors import SettingError
from fedrag_flwr.files import write_private
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.outbox import DeliveredAnswers, Outbox
from fedrag_flwr.models.registry import DEFAULT_GENERATOR, REGISTRY
from fedrag_flwr.overlay.peer import NOTES
from fedrag_flwr.overlay.walk_records import WalkNotes
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.records import Answer, AnswerBatch, Question, because
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from tests.sources.files import lock

CHANGES = ("models.generator=smollm2-135m", "memory.tokens-per-kilotoken=0", "memory.delta=0.8")
SMALL = [word for change in CHANGES for word in ("--set", change)]
UNSURE = ["--set", "inference.abstain-below=1", "--set", "inference.ask-below=1"]  # no reading is sure enough
DOCUMENTS = {
    "tarn-bridge.md": "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924.\n",
    "marks.md": "# Marks\n\nThe sign [/] and the mark [bold] stand on Port Ferren. Port Ferren was founded in 1702.\n",
}


CENTRAL = [
    *("--set", "strategy=centralized", "--set", "privacy.export=none"),
    *("--set", "privacy.share-documents=true"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of the tests' own, and no way to the network."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in this test")

    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("cli-home")
        patch.setenv("FEDRAG_HOME", str(root))
        patch.setenv("COLUMNS", "200")
        patch.setattr(socket.socket, "connect", refuse)
        yield root


def run(*words: str, said: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), input=said)


def parsed(*words: str) -> Any:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def built(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The report of a device that was built from a folder."""
    folder = tmp_path_factory.mktemp("documents")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.txt").write_bytes("Дом".encode("cp1251"))
    return parsed("build", str(folder), "--name", "desk", "--json", *SMALL) | {"folder": str(folder)}


def test_models_are_listed(home: Path) -> None:
    models = parsed("models", "list", "--json")
    assert {model["model"]["name"] for model in models} == set(REGISTRY)
    here = {model["model"]["name"]: model["path"] is not None for model in models}
    assert here["smollm2-135m"]
    assert DEFAULT_GENERATOR in {model["model"]["name"] for model in models}
    assert not here[DEFAULT_GENERATOR]
    table = run("models", "list").stdout
    assert all(name in table for name in REGISTRY)


def test_a_model_is_verified(home: Path) -> None:
    assert run("models", "verify", "smollm2-135m").exit_code == 0


def test_the_doctor_names_what_to_do(home: Path) -> None:
    result = run("doctor", "--json")
    findings = {finding["what"]: finding for finding in json.loads(result.stdout)}
    assert {"Python", "llama-cpp-python", "flwr", "spaCy pipeline", "memory", "disk"} <= findings.keys()
    assert findings[f"model {DEFAULT_GENERATOR}"]["fix"] == f"fedrag models pull {DEFAULT_GENERATOR}"
    assert findings["model smollm2-135m"]["fix"] == ""
    assert findings["generator auto"]["found"].startswith(DEFAULT_GENERATOR)
    assert result.exit_code == 1  # the default generator is absent in this home
    assert f"fedrag models pull {DEFAULT_GENERATOR}" in run("doctor").stdout


def test_a_build_reports_what_it_made(built: Any) -> None:
    assert (built["documents"], built["added"], built["device"]) == (2, 2, "desk")
    assert built["items"] > 3
    assert built["failed"] == ["latin.txt: not UTF-8 at byte 0 (save the file as UTF-8)"]


def test_a_second_build_costs_nothing_and_names_what_was_not_read(built: Any) -> None:
    again = run("build", built["folder"], "--name", "desk", *SMALL)
    assert again.exit_code == 0
    assert re.search(r"added\D+0\b", again.stdout)
    assert "latin.txt: not UTF-8" in again.stderr
    assert parsed("build", built["folder"], "--name", "desk", "--json", *SMALL)["version"] == built["version"]


def test_a_build_accounts_for_every_file(home: Path, tmp_path: Path) -> None:
    for name, text in DOCUMENTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("scan [1].png", "copy.png", ".notes", "latin.txt"):
        (tmp_path / name).write_bytes(b"\x81\xff")
    told = "files: 2 read, 1 not readable, 3 skipped (2 a picture, whose text is not recognised, 1 hidden)"
    shown = run("build", str(tmp_path), "--name", "counted", *SMALL)
    assert told in " ".join(shown.stdout.split())
    assert "scan" not in shown.output
    shown = run("build", str(tmp_path), "--name", "counted", "--verbose", *SMALL)
    assert "skipped: scan [1].png: a picture, whose text is not recognised" in " ".join(shown.stderr.split())
    report = parsed("build", str(tmp_path), "--name", "counted", "--json", *SMALL)
    assert report["files"] == 2
    assert report["skipped"][0] == ".notes: hidden"


def test_each_build_names_what_yields_no_memory_and_exits_with_0(home: Path, tmp_path: Path) -> None:
    for name, text in (DOCUMENTS | {"mute [note].md": "# Mute\n\nIt is so.\n"}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for _ in range(2):
        shown = run("build", str(tmp_path), "--name", "quiet", *SMALL)
        assert shown.exit_code == 0, shown.output
        assert shown.stderr.splitlines()[-1] == "no memory: mute [note]; searched all the same"
        assert "not read" not in shown.stderr
    for number in range(4):
        (tmp_path / f"mute {number}.md").write_text("# Mute\n\nIt is so.\n", encoding="utf-8")
    shown = run("build", str(tmp_path), "--name", "quiet", *SMALL)
    assert shown.stderr.splitlines()[-1] == "no memory: 5 documents; searched all the same"
    named = run("build", str(tmp_path), "--name", "quiet", "--verbose", *SMALL).stderr.splitlines()[-1]
    assert all(f"mute {number}" in named for number in range(4))


def test_a_folder_without_documents_leaves_no_device(home: Path, tmp_path: Path) -> None:
    shown = run("build", str(tmp_path), "--name", "void", *SMALL)
    assert shown.exit_code == 1
    assert "there is no such device" in run("ask", "Who?", "--name", "void", *SMALL).stderr


@pytest.mark.parametrize("words", [(), ("--rebuild",)], ids=["built on", "rebuilt"])
def test_a_folder_is_emptied_by_word_alone(home: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    told = ["build", str(documents), "--store", str(tmp_path / "store"), "--name", "leaving", "--json", *SMALL]
    (documents / "one.md").write_text(next(iter(DOCUMENTS.values())), encoding="utf-8")
    assert parsed(*told)["documents"] == 1
    (documents / "one.md").unlink()
    refused = run(*told, *words)
    assert (refused.exit_code, "--empty" in refused.stderr) == (1, True)
    left = parsed(*told, *words, "--empty")
    assert (left["documents"], left["items"]) == (0, 0)
    assert parsed(*told)["documents"] == 0


def test_a_rebuild_forgets_the_old_store(built: Any, tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "store"), "--name", "spare", "--json", *SMALL]
    assert parsed("build", built["folder"], *store)["added"] == 2
    assert parsed("build", built["folder"], *store)["added"] == 0
    assert parsed("build", built["folder"], *store, "--rebuild")["added"] == 2


@pytest.mark.parametrize(
    ("words", "stays"), [(["--set", "memroy.delta=0.8"], True), (["--source", "/no/such/folder"], True), ([], False)]
)
def test_a_rebuild_leaves_waiting_questions(built: Any, tmp_path: Path, words: list[str], stays: bool) -> None:
    """And where something is wrong, the old memory stays."""
    root = tmp_path / "store"
    store = ["--store", str(root), "--name", "spare", *SMALL]
    before = parsed("build", built["folder"], *store, "--json")
    kept = fedrag_home() / "privacy" / "spare"
    told = Answer("q0", "Odile Varro", "remote", 0.8, decisions=(because("place", "at the server", 0.8),))
    with MemoryStore.open(root, {}, create=False) as memory, closing(Outbox(kept)) as outbox:
        outbox.put(Question("q1", "Who signed the lease?", "spare"))
        DeliveredAnswers(kept).put([told])
        secret = memory.state()
    assert (run("build", built["folder"], *store, "--rebuild", *words).exit_code != 0) == stays
    with MemoryStore.open(root, {}, create=False) as memory, closing(Outbox(kept)) as outbox:
        assert [one.text for one in outbox.waiting()] == ["Who signed the lease?"]
        assert DeliveredAnswers(kept).all() == {"q0": told}
        assert (memory.version == before["version"], memory.state() == secret) == (stays, stays)
        outbox.withdraw("q1")
        assert memory.counts().documents == before["documents"]


def test_a_rebuild_mends_a_torn_list_of_names_and_keeps_a_whole_one(built: Any, tmp_path: Path) -> None:
    root = tmp_path / "store"
    building = ("build", built["folder"], "--store", str(root), "--name", "spare", *SMALL)
    assert run(*building).exit_code == 0
    with closing(KnownNames(root / NAMES)) as names:
        names.learn([("Enno Tveit", "PERSON")])
        known = len(names)
    assert run(*building, "--rebuild").exit_code == 0
    with closing(KnownNames(root / NAMES)) as names:
        assert len(names) == known
    (root / NAMES).write_bytes(b"torn" * 2048)
    assert run(*building).exit_code == 1
    assert run(*building, "--rebuild").exit_code == 0
    assert run(*building).exit_code == 0


def test_an_answer_shows_where_it_comes_from_and_its_document(built: Any) -> None:
    asked = parsed("ask", "Who designed Tarn Bridge?", "--name", "desk", "--json", *SMALL)
    assert (asked["answer"], asked["path"], asked["llm_calls"]) == ("Odile Varro", "memorizer", 0)
    assert "tarn-bridge" in {shown["document"] for shown in asked["evidence"]}
    shown = run("ask", "Who designed Tarn Bridge?", "--name", "desk", *SMALL).stdout
    assert "Odile Varro" in shown
    assert "From memory: Who designed Tarn Bridge? (sure)" in shown
    assert "Tarn Bridge (tarn-bridge)\n  Tarn Bridge was designed by the engineer Odile Varro." in shown
    assert "memorizer" not in shown
    assert (
        "memorizer, confidence 0.9"
        in run("ask", "Who designed Tarn Bridge?", "--name", "desk", "--verbose", *SMALL).stdout
    )


def test_a_question_may_be_typed_so_that_no_list_of_processes_shows_it(built: Any) -> None:
    for words in ((), ("-",)):
        shown = run("ask", *words, "--name", "desk", *SMALL, said="Who designed  Tarn Bridge?\n")
        assert "Odile Varro" in shown.stdout
        assert "Who designed Tarn Bridge?\nOdile" not in shown.stdout
    assert "there is no question" in run("ask", "--name", "desk", *SMALL, said=" \n").stderr
    assert "tarn-bridge#0" in run("inspect", "paths", "--name", "desk", *SMALL, said="Who designed Tarn Bridge?").stdout


def test_each_line_of_standard_input_is_a_question(built: Any) -> None:
    lines = "Who designed Tarn Bridge?\n\nWho designed Tarn Bridge?\n"
    shown = run("ask", "--name", "desk", *SMALL, said=lines).stdout
    assert shown.count("Who designed Tarn Bridge?\nOdile Varro") == 2
    told = json.loads(run("ask", "--name", "desk", "--json", *SMALL, said=lines).stdout)
    assert [one["answer"] for one in told] == ["Odile Varro"] * 2


def test_a_question_without_an_answer_is_said_so(built: Any) -> None:
    asking = ("ask", "What did the Duke of Pell eat?", "--name", "desk", *SMALL, *UNSURE)
    shown = run(*asking)
    assert shown.exit_code == 0
    first, why, *nearest = shown.stdout.splitlines()
    assert (first, why) == ("I do not know.", "None of the nearest passages tells it.")
    assert nearest, "what came nearest is shown"
    assert "no passage tells it" in run(*asking, "--verbose").stdout


def test_a_question_waits_where_the_device_has_an_outbox_and_can_be_withdrawn(built: Any) -> None:
    asking = ("ask", "What did the Duke of Pell eat?", "--name", "desk", "--wait", *SMALL, *UNSURE)
    assert "the device has no outbox" in run(*asking).stderr
    assert parsed(*asking, "--set", "serving.outbox=true", "--json")["waiting"]
    [waiting] = parsed("outbox", "list", "--name", "desk", "--json")
    assert waiting["text"] == "What did the Duke of Pell eat?"
    assert "Duke of Pell" in run("outbox", "list", "--name", "desk").stdout
    assert run("outbox", "withdraw", waiting["id"], "--name", "desk").exit_code == 0
    again = run("outbox", "withdraw", waiting["id"], "--name", "desk")
    assert again.exit_code == 1
    assert "no such question waits" in again.stderr
    assert parsed("outbox", "list", "--name", "desk", "--json") == []


def test_a_device_whose_config_names_another_home_is_found_there(built: Any, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "home"
    run("build", built["folder"], "--name", "away", "--store", str(other / "devices" / "local" / "away"), *SMALL)
    (folder := home / "devices" / "local" / "away").mkdir()
    config = {"device-name": "away", "data-path": built["folder"], "home": str(other), "outbox": True}
    write_private(folder / "device.toml", tomli_w.dumps(config).encode())
    asking = ("ask", "What did the Duke of Pell eat?", "--name", "away", "--wait", "--json")
    assert parsed(*asking, "--set", "models.generator=smollm2-135m", *UNSURE)["waiting"]
    [waiting] = parsed("outbox", "list", "--name", "away", "--json")
    assert waiting["text"] == "What did the Duke of Pell eat?"
    assert (shown := run("inspect", "document", "marks", "--name", "away")).exit_code == 0
    assert "stand on Port Ferren" in shown.stdout  # the beginning of a passage
    assert list(folder.iterdir()) == [folder / "device.toml"]


@pytest.mark.parametrize("words", [("feedback", "q7", "bad"), ("inspect", "paths", "Who?"), ("ask", "Who?", "--wait")])
def test_commands_on_a_device_read_its_config(built: Any, home: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    name = f"configured-{words[0]}"
    run("build", built["folder"], "--name", name, "--store", str(tmp_path / "devices" / "local" / name), *SMALL)
    (folder := home / "devices" / "local" / name).mkdir()
    config = tomli_w.dumps({"device-name": name, "data-path": built["folder"], "home": str(tmp_path)})
    write_private(folder / "device.toml", config.encode() + b"[settings.memory]\ndelta = 7\n")
    shown = run(*words, "--name", name)
    assert shown.exit_code == 1
    assert "less than or equal to 1" in shown.output


def test_inspect_leads_from_document_to_items_to_hyperedges(built: Any) -> None:
    brought = parsed("inspect", "document", "marks", "--name", "desk", "--json")
    assert brought["passages"]
    assert brought["items"]
    items = {item["id"]: item for item in parsed("inspect", "items", "--name", "desk", "--limit", "0", "--json")}
    assert set(brought["items"]) <= items.keys()
    edge = parsed("inspect", "hyperedge", brought["hyperedges"][0], "--name", "desk", "--json")
    assert {member["document"] for member in edge["members"]} >= {"marks"}
    weights = [member["weight"] for member in edge["members"]]
    assert weights == sorted(weights, reverse=True)
    assert {memory["id"] for memory in edge["memories"]} <= items.keys()
    assert len(parsed("inspect", "items", "--name", "desk", "--limit", "2", "--json")) == 2


def test_inspect_shows_what_a_server_answered(built: Any) -> None:
    assert parsed("inspect", "delivered", "--name", "desk", "--json") == []
    answer = Answer("q1", "Odile [Varro]", "remote", 0.8, ("people/x",), decisions=(because("place", "at the server"),))
    with open_device("desk", None, device_at("desk", None)[1], list(CHANGES)) as device:
        device.keep(AnswerBatch("desk", (answer, replace(answer, question_id="q2")), (), 0.0))
    [newest] = parsed("inspect", "delivered", "--name", "desk", "--limit", "1", "--json")
    assert (newest["question_id"], newest["text"]) == ("q2", "Odile [Varro]")
    shown = run("inspect", "delivered", "--name", "desk").stdout
    assert shown.count("Odile [Varro]") == 2
    assert "at the server" in shown


def test_inspect_draws_the_answer_path_to_a_passage(built: Any) -> None:
    words = ("inspect", "paths", "Who designed Tarn Bridge?", "--name", "desk", *SMALL)
    chosen = parsed(*words, "--json")
    assert chosen[0]["passage_id"] == "tarn-bridge#0"
    path = chosen[0]["path"]
    assert path["asked"] == ["Tarn Bridge"]
    assert path["steps"][-1]["passage_id"] == "tarn-bridge#0"
    drawn = run(*words, "--limit", "1").stdout
    assert "[Tarn Bridge]" in drawn
    assert f"({path['bridge']})" in drawn
    assert path["steps"][-1]["relation"] in drawn
    assert "Port Ferren" not in drawn


def test_marks_in_a_text_are_shown_as_they_are(built: Any) -> None:
    brought = parsed("inspect", "document", "marks", "--name", "desk", "--json")
    for edge in brought["hyperedges"]:
        shown = run("inspect", "hyperedge", edge, "--name", "desk")
        assert shown.exit_code == 0
    texts = [run("inspect", "hyperedge", edge, "--name", "desk").stdout for edge in brought["hyperedges"]]
    assert any("[/] and the mark [bold]" in re.sub(r"\s+", " ", text) for text in texts)
    for words in (["items"], ["document", "marks"]):
        assert run("inspect", *words, "--name", "desk").exit_code == 0


def test_feedback_names_the_neighbour_that_it_falls_on(built: Any, home: Path) -> None:
    notes = WalkNotes(home / "devices" / "local" / "desk" / NOTES)
    notes.put("lesson", {"q7": {"neighbour": "library", "distance": 0, "topics": [[3, 1.0]]}})
    notes.close()
    shown = run("feedback", "q7", "bad", "--name", "desk", *SMALL)
    assert shown.exit_code == 0, shown.output
    assert "library, whose reputation is 0.50" in shown.stdout
    assert run("feedback", "q7", "splendid", "--name", "desk").exit_code == 2


ERRORS: list[tuple[list[str], str, str]] = [
    (["build", "/no/such/folder", *SMALL], "/no/such/folder: there is no such folder", "name the folder"),
    (["build", ".", "--name", "a/b", *SMALL], "cannot be a device's name", "letters"),
    (["build", ".", "--set", "memory.delta=7"], "less than or equal to 1", "[tool.flwr.app.config]"),
    (["build", ".", "--set", "memory.delta"], "has no value", "KEY=VALUE"),
    (["build", ".", "--set", "colour=red"], "'colour' is not a setting", "pyproject.toml"),
    (["build", ".", "--set", "memory.detla=0.5"], "'memory.detla' is not a setting", "did you mean 'memory.delta'?"),
    (["build", ".", "--set", "models.generator=no-such"], "no-such: no such model file", DEFAULT_GENERATOR),
    (["ask", "Who?", "--name", "nobody"], "there is no such device", "fedrag build FOLDER --name nobody, or name one"),
    (["serve", "nobody"], "there is no such device", "fedrag build FOLDER --name nobody, or name one"),
    (["inspect", "items", "--name", "nobody"], "there is no such device", "fedrag build"),
    (["ask", "Who?", "--store", "/no/such/store"], "/no/such/store: no device has its store there", "fedrag build"),
    (["simulate", "--documents", "/no/such/folder"], "/no/such/folder: there is no such folder", "--documents FOLDER"),
    (["inspect", "hyperedge", "zzz", "--name", "desk"], "zzz", ""),
    (["inspect", "document", "zzz", "--name", "desk"], "zzz", ""),
    (["feedback", "q1", "bad", "--name", "desk", *SMALL], "no answer to it is kept", "that other devices helped with"),
    (["ask", "Who?", "--name", "other", "--store", "STORE"], "was built with device = 'desk'", "device"),
    (["inspect", "paths", "Who?", "--name", "desk", *SMALL, "--set", "retrieval.weights=trained"], "controller", "fit"),
    (["models", "pull", "no-such-model"], "no-such-model", DEFAULT_GENERATOR),
    (["models", "verify", "no-such-model"], "no-such-model", DEFAULT_GENERATOR),
    (["models", "verify"], DEFAULT_GENERATOR, "pull it first"),
    (["simulate", "--set", "federation.quorum=3"], "less than or equal to 1", "pyproject.toml"),
    (["simulate", "--app", "/no/such/app"], "no Flower app", "pyproject.toml"),
    (["simulate", "--set", "strategy=gossip"], "strategy: 'gossip' is not a strategy", "choose one of no-rag"),
    (["simulate", *CENTRAL, "--set", "mode=serve"], "'centralized' tells no home", "another"),
    (["simulate", "--set", "strategy=centralized"], "'centralized' reads whole documents", "share-documents"),
    (
        ["simulate", "--set", "data.questions=/no/such.jsonl"],
        "data.questions: there is no file '/no/such.jsonl'",
        "JSON",
    ),
    (["simulate", "--set", "data.split=dev"], "data.split: there are no questions of split 'dev'", "leave it empty"),
    (
        ["simulate", "--set", "strategy=flooding", "--set", "overlay.topology=ring"],
        "overlay.topology: 'ring' cannot be read",
        "choose from barabasi-albert, measured",
    ),
    (
        ["simulate", "--set", "strategy=rag-route", "--set", "exchange=download"],
        "exchange: 'rag-route' shows",
        '"plain"',
    ),
]


@pytest.mark.parametrize(("words", "said", "fix"), ERRORS)
def test_an_error_shows_its_fix_and_exits_with_1(words: list[str], said: str, fix: str, built: Any, home: Path) -> None:
    store = str(home / "devices" / "local" / "desk")
    result = run(*(store if word == "STORE" else word for word in words))
    shown = re.sub(r"\s+", " ", result.stderr)
    assert result.exit_code == 1
    assert "error:" in shown
    assert said in shown
    assert fix in shown
    assert "Traceback" not in result.output


def test_a_store_says_whose_it_is(built: Any, home: Path) -> None:
    for store in (home / "devices" / "local" / "desk", home / "devices" / "local"):
        words = ("inspect", "items", "--store", str(store), "--limit", "1", "--json")
        assert run(*words).exit_code == 0 or "--name one of" in run(*words).stderr
    asked = parsed("ask", "Who keeps the marks?", "--store", str(home / "devices" / "local" / "desk"), *SMALL, "--json")
    assert asked["path"]


def test_what_is_refused_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    for words in (("ask", "Who?"), ("serve", "nobody"), ("build", str(tmp_path / "nowhere")), ("outbox", "list")):
        assert run(*words).exit_code == 1
    assert not (tmp_path / "home").exists()


def test_a_home_that_is_a_file_is_told_and_no_memory_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    init = ("device", "init", "ward", "--documents", str(tmp_path), "--superlink", "fed.example:8000")
    assert run(*init).exit_code == 0
    asked = run("ask", "Who?", "--name", "ward")
    assert (asked.exit_code, "no memory yet" in re.sub(r"\s+", " ", asked.stderr)) == (1, True)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "file"))
    refused = run(*init)
    assert refused.exit_code == 1
    assert "error:" in refused.stderr
    assert "Traceback" not in refused.output


LOCKED = [
    ["build", "PLACE/texts", "--name", "locked", *SMALL],
    ["build", "--source", "PLACE/ward.db", "--name", "locked", *SMALL],
    ["device", "init", "locked", "--documents", "PLACE/texts"],
]


@pytest.mark.parametrize("words", LOCKED)
def test_what_may_not_be_looked_at_is_not_said_to_be_missing(
    words: list[str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(tmp_path, monkeypatch)
    shown = run(*(word.replace("PLACE", str(tmp_path)) for word in words))
    assert shown.exit_code == 1
    assert "cannot be looked at (Permission denied)" in shown.stderr
    assert "what to do: let this user into the folders above it" in shown.stderr


@pytest.mark.parametrize("words", [("device", "show", "ward"), ("ask", "Who?", "--name", "ward"), ("serve", "ward")])
def test_another_user_s_home_is_told(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    lock(tmp_path, monkeypatch)
    shown = run(*words)
    assert shown.exit_code == 1
    assert "(Permission denied)" in shown.stderr
    assert "what to do:" in shown.stderr


@pytest.mark.parametrize(
    ("words", "results"),
    [([], "results"), (["--set", "results=out"], "out"), (["--set", "results=out", "--results", "there"], "there")],
)
def test_a_run_is_told_its_paths_in_full(
    words: list[str], results: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Mapping[str, Plain]] = []

    def run_nothing(_: Flower, app: Path, config: Mapping[str, Plain], *__: object) -> tuple[str, str]:
        given.append(config)
        return "1", "finished:failed"

    monkeypatch.setattr(Flower, "run", run_nothing)
    monkeypatch.chdir(tmp_path)
    for name in ("devices", "trained", "demo-strong"):
        (tmp_path / name).mkdir()
    (tmp_path / "asked.jsonl").write_text('{"id": "1", "question": "Who?", "answer": "Ada", "split": "test"}', "utf-8")
    changes = {
        "data.root": ("devices", str(tmp_path / "devices")),
        "data.questions": ("./asked.jsonl", str(tmp_path / "asked.jsonl")),
        "privacy.partition": ("demo-strong", "demo-strong"),
        "privacy.public-names": ("not-here.txt", "not-here.txt"),
        "retrieval.weights": ("trained", "trained"),
    }
    told = [word for key, (value, _) in changes.items() for word in ("--set", f"{key}={value}")]
    assert run("simulate", "--keep-superlink", *told, *words).exit_code == 1
    expected = {key: value for key, (_, value) in changes.items()}
    assert given == [expected | {"home": str(home.resolve()), "results": str(tmp_path / results)}]


def test_what_looks_like_an_emoji_s_code_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    line = "1:100:1 at [fd00::a:b:c]"
    out.print(line, markup=False, highlight=False)
    err.print(escape(line), highlight=False, soft_wrap=True)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (f"{line}\n", f"{line}\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("0.5", 0.5), ("true", True), ('"x"', "x"), ("x", "x"), ("[1]", "[1]"), ("a b", "a b"), ("", "")],
)
def test_values_are_read_as_toml_and_else_as_text(text: str, value: object) -> None:
    assert toml_value(text) == value
    assert type(toml_value(text)) is type(value)


def test_changes_become_settings() -> None:
    settings = settings_from(["memory.delta=1", "data.root = /a=b", "models.generation-cache=false"])
    assert (settings.memory.delta, settings.data.root, settings.models.generation_cache) == (1.0, "/a=b", False)
    assert settings_from(None) == settings_from([])


def test_json_output_takes_anything_of_ours() -> None:
    value = json_of({"path": Path("/a"), 3: (1, None, True, {"x"})})
    assert json.loads(value) == {"path": "/a", "3": [1, None, True, "{'x'}"]}


def test_flower_is_told_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLWR_HOME", raising=False)
    told = Flower(tmp_path).environment
    assert told["FLWR_HOME"] == str(tmp_path / "flwr")
    assert told["FEDRAG_HOME"] == str(tmp_path)
    assert (told["FLWR_TELEMETRY_ENABLED"], told["FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION"]) == ("0", "1")


def test_the_app_is_found_and_what_is_none_is_refused(tmp_path: Path) -> None:
    assert (app_directory(Path(__file__).parents[2]) / "pyproject.toml").is_file()
    with pytest.raises(SettingError, match="no Flower app"):
        app_directory(tmp_path)


def test_cache_stats_name_owner_tier_and_sizes(home: Path) -> None:
    for place in ("fusion/demo/answers", "devices/demo/worlds/caches/summaries"):
        tier = Tier(home / place, 2**20)
        tier.put("key", b"told", {"worlds": "1"})
        tier.get("key", {"worlds": "1"})
        tier.close()
    told = {(one["owner"], one["name"]): one for one in parsed("cache", "stats", "--json")}
    own = {key: one for key, one in told.items() if key[0]}  # generations, where there are some, are the machine's
    assert set(own) == {("demo (server)", "answers"), ("demo/worlds", "summaries")}
    assert all((one["entries"], one["hits"], one["limit"]) == (1, 1, 2**20) for one in own.values())
    assert "100 %" in run("cache", "stats").stdout


def test_what_is_taken_for_a_path_is_a_setting() -> None:
    assert Settings().flat().keys() >= PATH_SETTINGS  # one that was renamed would be resolved no more
