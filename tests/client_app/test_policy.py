"""The server does not decide a device's privacy: what a device's own settings say, holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.errors import SettingError
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import Node, local_settings
from fedrag_flwr.records import (
    AnswerBatch,
    AnswerMode,
    AnswerRequest,
    BuildReport,
    BuildRequest,
    Delta,
    DescribeRequest,
    DeviceCard,
    EvidenceBatch,
    EvidenceRequest,
    Question,
    RetrieveRequest,
    ShareRequest,
)
from fedrag_flwr.settings import OWN, Plain, Settings, device_part
from server_app.run import run_systems

R = TypeVar("R")
Config = dict[str, Plain]
AT: dict[str, Plain] = {"data-path": "/srv/ward"}
BASE: dict[str, Plain] = {
    "baselines": "",
    "models.generator": "smollm2-135m",
    "models.generation-cache": False,
    "models.context-tokens": 2048,
    "memory.tokens-per-kilotoken": 0,
    "inference.max-answer-tokens": 12,
}
OWN_BASE = device_part(BASE)

# the run's settings, the node config, what holds at the device
DECIDED: list[tuple[str, Config, Config, Config]] = [
    ("a simulated node follows the run", {"privacy.export": "none", "home": "/run"}, {"partition-id": 3}, {}),
    ("a simulated node may be stricter", {"privacy.export": "none"}, {"export": "ldp"}, {"privacy.export": "ldp"}),
    ("a laxer run is overridden", {"privacy.export": "none"}, AT | {"export": "ldp"}, {"privacy.export": "ldp"}),
    (
        "of masking and surrogates the device's own holds",
        {"privacy.export": "ldp"},
        AT | {"export": "type-masking"},
        {"privacy.export": "type-masking"},
    ),
    ("also the other way", {"privacy.export": "type-masking"}, AT | {"export": "ldp"}, {"privacy.export": "ldp"}),
    ("a run may ask for what a device need not have", {"privacy.export": "ldp"}, AT | {"export": "none"}, {}),
    ("own people alone are answered by default", {"privacy.answers": "all"}, AT, {"privacy.answers": "waiting"}),
    (
        "no run is told unmasked answers",
        {"privacy.answers": "unmasked"},
        AT | {"answers": "all"},
        {"privacy.answers": "all"},
    ),
    ("a device may answer all", {}, AT | {"answers": "all"}, {"privacy.answers": "all"}),
    ("records are looked up where a device says so", {}, AT | {"lookup": True}, {"privacy.lookup": True}),
    ("unless the run asks for less", {"privacy.answers": "waiting"}, AT | {"answers": "all"}, {}),
    ("no completion is kept by default", {"models.generation-cache": True}, AT, {"models.generation-cache": False}),
    ("unless it says so", {}, AT | {"generation-cache": True}, {"models.generation-cache": True}),
    ("no file of the run's choice is read", {"overlay.topics": "/etc/names.json"}, AT, {"overlay.topics": "shipped"}),
    ("nor weights", {"retrieval.weights": "/tmp/w.json"}, AT, {"retrieval.weights": "shipped"}),
    ("topics learnt together are the run's to ask", {"overlay.topics": "learnt"}, AT, {}),
    ("an own file of topics", {}, AT | {"topics": "/etc/topics.json"}, {"overlay.topics": "/etc/topics.json"}),
    (
        "a run adds operators, and takes none away",
        {"privacy.operators": "presidio, erasure"},
        AT | {"operators": "summary, presidio"},
        {"privacy.operators": "summary, presidio, erasure"},
    ),
    (
        "a run's operators are heard where a device has none",
        {"privacy.operators": "presidio"},
        AT,
        {"privacy.operators": "presidio"},
    ),
    (
        "a device may be lax where the run is",
        {"privacy.export": "none"},
        AT | {"export": "none"},
        {"privacy.export": "none"},
    ),
    ("no laxer than masking by default", {"privacy.export": "none"}, AT, {"privacy.export": "type-masking"}),
    ("nothing is public by default", {"privacy.public-names": "/srv/ward/patients.txt"}, AT, {}),
    ("own public names", {"privacy.public-names": ""}, AT | {"public-names": "demo"}, {"privacy.public-names": "demo"}),
    ("an own epsilon wins", {"privacy.epsilon": 0.1}, AT | {"epsilon": 2.0}, {"privacy.epsilon": 2.0}),
    ("an own epsilon may be an integer", {}, AT | {"epsilon": 2}, {"privacy.epsilon": 2.0}),
    ("a large epsilon is not the run's to ask", {"privacy.epsilon": 50.0}, AT, {"privacy.epsilon": 1.0}),
    ("a smaller epsilon is", {"privacy.epsilon": 0.5}, AT, {"privacy.epsilon": 0.5}),
    ("an own budget wins", {"privacy.budget": 100.0}, AT | {"budget": 3.0}, {"privacy.budget": 3.0}),
    ("a large budget is not the run's to ask", {"privacy.budget": 1e6}, AT, {"privacy.budget": 10.0}),
    ("nor are small groups", {"privacy.group-size": 2}, AT, {"privacy.group-size": 5}),
    ("larger groups are", {"privacy.group-size": 26}, AT, {"privacy.group-size": 26}),
    ("nor is the partition", {"privacy.partition": "/etc/p.jsonl"}, AT, {"privacy.partition": "demo"}),
    ("an own partition", {}, AT | {"partition": "demo-strong"}, {"privacy.partition": "demo-strong"}),
    ("nor is the home", {"home": "/run/home"}, AT, {"home": ""}),
    ("an own home", {"home": "/run/home"}, AT | {"home": "/var/fedrag"}, {"home": "/var/fedrag"}),
    ("an own model", {}, AT | {"model-path": "/models/m.gguf"}, {"models.generator": "/models/m.gguf"}),
    (
        "a server as generator is not the run's to name",
        {"models.generator": "http://10.0.0.9:8080/v1", "models.generator-name": "m"},
        AT,
        {"models.generator": "auto", "models.generator-name": ""},
    ),
    (
        "an own server, by an own name",
        {"models.generator": "https://example.org/v1", "models.generator-name": "theirs"},
        AT | {"model-path": "http://127.0.0.1:8080/v1", "model-name": "ours"},
        {"models.generator": "http://127.0.0.1:8080/v1", "models.generator-name": "ours"},
    ),
    ("an own exchange", {"exchange": "plain"}, AT | {"exchange": "encrypted"}, {"exchange": "encrypted"}),
    ("a more private exchange is heard", {"exchange": "encrypted"}, AT | {"exchange": "download"}, {}),
    ("own sealed summaries", {"graph.share": "text"}, AT | {"share-summaries": "sealed"}, {"graph.share": "sealed"}),
    ("a more private form of summaries is heard", {"graph.share": "vector"}, AT | {"share-summaries": "text"}, {}),
    (
        "what a memory is made with is the device's",
        {"seed": 9, "memory.delta": 0.5, "hypergraph.grouping": "random"},
        AT,
        {},
    ),
    ("how its people are answered is, too", {"inference.abstain-below": 0.0, "gate.threshold": 0.0}, AT, {}),
    ("an own way to answer", {}, AT | {"inference.passages": 6}, {"inference.passages": 6}),
    ("everything else is the run's", {"routing.devices": 3, "data.root": "/x"}, AT, {"routing.devices": 3}),
]


@pytest.mark.parametrize(("run", "node", "holds"), [row[1:] for row in DECIDED], ids=[row[0] for row in DECIDED])
def test_who_decides_what(run: Config, node: Config, holds: Config) -> None:
    asked = Settings.from_config(run)
    quiet = {"privacy.answers": "waiting", "privacy.lookup": False, "models.generation-cache": False}
    deployed = (
        {**device_part(Settings().flat()), "privacy.public-names": "", "home": "", **quiet}
        if "data-path" in node
        else {}
    )
    assert local_settings(asked, node).flat() == asked.flat() | deployed | holds


WRONG: list[tuple[str, Plain]] = [("export", "plain"), ("epsilon", 0), ("budget", "much"), ("home", 7)]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_node_config_names_key_and_value(key: str, value: Plain) -> None:
    with pytest.raises(SettingError, match=f"node config: .*{key}' = {value!r} is not allowed"):
        local_settings(Settings(), AT | {key: value})


exports = st.sampled_from(["none", "type-masking", "ldp"])
runs = st.fixed_dictionaries(
    {},
    optional={
        "privacy.export": exports,
        "privacy.public-names": st.sampled_from(["", "demo", "/a/list.txt"]),
        "privacy.partition": st.sampled_from(["demo", "/a/groups.jsonl"]),
        "privacy.epsilon": st.floats(0.01, 50),
        "privacy.budget": st.floats(0.01, 1e6),
        "privacy.group-size": st.integers(2, 10_000),
        "home": st.sampled_from(["", "/run"]),
        "models.generator": st.sampled_from(["smollm2-135m", "/m.gguf"]),
    },
)
nodes = st.fixed_dictionaries(
    {},
    optional={
        "export": exports,
        "public-names": st.sampled_from(["", "demo", "/b/list.txt"]),
        "partition": st.sampled_from(["demo", "/b/groups.jsonl"]),
        "epsilon": st.floats(0.01, 50),
        "budget": st.floats(0.01, 1e6),
        "group-size": st.integers(2, 10_000),
        "home": st.sampled_from(["", "/own"]),
        "model-path": st.just("/own.gguf"),
        "data-path": st.just("/srv/ward"),
    },
)


@given(runs, nodes)
def test_what_a_node_config_says_holds_whatever_the_run_asks(run: Config, node: Config) -> None:
    asked = Settings.from_config(run)
    local = local_settings(asked, node)
    flat = local.flat()
    assert {key: flat[OWN[key]] for key in node if key in OWN and key != "export"} == {
        key: node[key] for key in node if key in OWN and key != "export"
    }
    assert node.get("export", "none") in ("none", local.privacy.export)
    assert local.privacy.export != "none" or (node.get("export", "none"), asked.privacy.export) == ("none", "none")
    assert local_settings(local, node) == local


@given(runs, runs, nodes)
def test_no_run_loosens_what_another_run_gets_of_a_deployed_device(first: Config, second: Config, node: Config) -> None:
    one, other = (local_settings(Settings.from_config(run), {**node, **AT}) for run in (first, second))
    assert one.home == other.home
    assert one.privacy.public_names == other.privacy.public_names
    assert one.privacy.partition == other.privacy.partition
    usual = Settings().flat()
    assert one.privacy.epsilon <= float(node.get("epsilon", usual["privacy.epsilon"]))
    assert one.privacy.budget <= float(node.get("budget", usual["privacy.budget"]))
    assert one.privacy.group_size >= int(node.get("group-size", usual["privacy.group-size"]))
    assert one.privacy.export != "none" or node.get("export") == "none"


PATIENT = "Ottilie Brackenridge"  # named by a file and, elsewhere, by a text
WARD = {
    f"{PATIENT}.txt": "The Harrow clinic of Pellmoor was opened in 1971 after a heavy flood. The Harrow clinic of "
    "Pellmoor has 12 beds.\n",
    "ward.md": f"# North ward\n\nThe North ward of Sorrelby has 30 beds. Dr. {PATIENT} founded the North ward of "
    "Sorrelby in 1962. The North ward was painted in 1990.\n",
}


def _ask(grid: LocalGrid, node: int, kind: str, request: object, reply: type[R]) -> R:
    message = grid.create_message(wire.encode(request, run="1"), kind, grid.get_node_ids()[node], "1")
    [answer] = grid.send_and_receive([message])
    return wire.decode(answer.content, reply, run="1")


def _everything(grid: LocalGrid) -> bytes:
    """Build, and ask for all that a server may ask for; what the device sent, in bytes."""
    sent = len(grid.sent)
    card = _ask(grid, 0, "query.describe", DescribeRequest(), DeviceCard)
    built = _ask(grid, 0, "train.build", BuildRequest(memories=True), BuildReport)
    assert built.documents == len(WARD)
    shared = _ask(grid, 0, "query.share", ShareRequest(0), Delta)
    edges = tuple(sorted({edge for item in shared.items for edge in item.hyperedges}))
    vector = np.full(card.dimension, card.dimension**-0.5, dtype=np.float32)
    asked = RetrieveRequest((EvidenceRequest("q", vector, edges, 64),))
    [evidence] = _ask(grid, 0, "query.retrieve", asked, EvidenceBatch).evidence
    assert [unit.title for unit in evidence.units if "opened" in unit.text] == [""]
    return b"".join(grid.sent[sent:])


def _write(folder: Path, documents: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True)
    for name, text in documents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("node", "seen"),
    [({}, False), ({"export": "type-masking"}, False), ({"export": "ldp"}, False), ({"export": "none"}, True)],
    ids=lambda one: str(one),
)
def test_who_asks_for_everything_gets_what_the_device_allows(tmp_path: Path, node: Config, seen: bool) -> None:
    folder = _write(tmp_path / "ward", WARD)
    own: Config = OWN_BASE | {"data-path": str(folder), "device-name": "ward", "home": str(tmp_path / "home")}
    names = _write(tmp_path / "lists", {"names.txt": PATIENT}) / "names.txt"
    run = BASE | {
        "privacy.export": "none",
        "privacy.public-names": str(names),
        "inference.remote-units": 64,
        "home": str(tmp_path / "elsewhere"),
    }
    said = _everything(LocalGrid(app, [own | node], run))
    assert (PATIENT.encode() in said) is seen
    assert (b"Brackenridge" in said) is seen
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("answers", "export", "seen"),
    [
        ("all", "none", True),
        ("all", "type-masking", False),  # also where the run asks for unmasked ones
        ("unmasked", "type-masking", True),
        ("waiting", "none", False),
    ],
)
def test_an_answer_that_leaves_first_holds_no_name(tmp_path: Path, answers: str, export: str, seen: bool) -> None:
    """The name alone shows nobody that it is one; the sentence and the question do."""
    text = "The complaint was written by Haldorsen, who had waited nine hours. It lay in a drawer until 1960.\n"
    folder = _write(tmp_path / "ward", {"box.md": f"# Box\n\n{text}"})
    own: Config = OWN_BASE | {"data-path": str(folder), "device-name": "ward", "home": str(tmp_path / "home")}
    own |= {"inference.abstain-below": 0.0, "inference.ask-below": 0.0}
    run = BASE | {"privacy.export": "none", "privacy.answers": "unmasked"}
    grid = LocalGrid(app, [own | {"answers": answers, "export": export}], run)
    _ask(grid, 0, "train.build", BuildRequest(memories=True), BuildReport)
    modes: tuple[AnswerMode, ...] = ("own-memory", "passages", "assisted")
    for mode in modes:
        asked = AnswerRequest(mode, (Question(mode, "Who wrote the complaint?", "ward"),))
        _ask(grid, 0, "query.answer", asked, AnswerBatch)
    assert any(b"Haldorsen" in one for one in grid.sent) is seen


def test_a_file_name_never_leaves_even_where_nothing_is_masked(tmp_path: Path) -> None:
    folder = _write(tmp_path / "ward", WARD | {"ward.md": WARD["ward.md"].replace(f"Dr. {PATIENT}", "A doctor")})
    place = {"data-path": str(folder), "device-name": "ward", "home": str(tmp_path / "home")}
    own = OWN_BASE | place | {"export": "none"}
    said = _everything(LocalGrid(app, [own], BASE | {"privacy.export": "none"}))
    assert b"was opened in 1971" in said
    assert b"Brackenridge" not in said
    assert b"Ottilie" not in said


def test_a_quote_that_is_not_closed_is_named_with_its_key() -> None:
    own: dict[str, Plain] = {"device-name": "ward", "sources": "sqlite:////srv/o'brien.db"}
    with pytest.raises(SettingError, match="sources: a quote is not closed"):
        Node(own, BASE).device()


def test_a_deployed_devices_store_depends_on_its_name_and_home_alone(tmp_path: Path) -> None:
    folder = _write(tmp_path / "ward", WARD)
    own: Config = OWN_BASE | {"data-path": str(folder), "home": str(tmp_path / "home")}
    built = []
    changes: list[Config] = [{}, {"data.root": str(tmp_path)}, {"home": str(tmp_path / "run"), "seed": 9}]
    for change in changes:
        with Node(own, BASE | change).device() as device:
            assert (device.name, device.documents) == ("ward", folder)
            built.append(device.build(memories=False))
    assert [report.added for report in built] == [2, 0, 0]
    assert [path.name for path in (tmp_path / "home" / "devices").glob("*/*")] == ["ward"]
    assert not (tmp_path / "run").exists()


SILOS = {
    "pilots": {
        "armstrong.md": "# Neil Armstrong\n\nNeil Armstrong was born in Wapakoneta in 1930. Neil Armstrong studied at "
        "Purdue University. Neil Armstrong walked on the Moon in 1969.\n",
        "gagarin.md": "# Yuri Gagarin\n\nYuri Gagarin was born in Klushino in 1934. Yuri Gagarin orbited Earth "
        "in 1961.\n",
    },
    "seers": {
        "tombaugh.md": "# Clyde Tombaugh\n\nClyde Tombaugh was born near Streator in 1906. Clyde Tombaugh discovered "
        "Pluto in 1930. Clyde Tombaugh worked in Arizona.\n",
        "herschel.md": "# William Herschel\n\nWilliam Herschel was born in Hanover in 1738. William Herschel "
        "discovered Uranus in 1781. William Herschel died in Slough in 1822.\n",
    },
}
EPSILON = 0.01


@pytest.fixture(scope="module")
def fused(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalGrid, dict[str, Plain]]:
    """Two devices after a run of memory-fusion with `export = "ldp"`."""
    root = tmp_path_factory.mktemp("ldp")
    for device, documents in SILOS.items():
        _write(root / "data" / device, documents)
    asked = '{"id": "q1", "question": "In which year was Yuri Gagarin born?", "answer": "1934", "kind": "single", '
    (root / "questions.jsonl").write_text(asked + '"home": "pilots", "split": "test"}\n', encoding="utf-8")
    run = BASE | {
        "strategy": "memory-fusion",
        "home": str(root / "home"),
        "results": str(root / "results"),
        "data.root": str(root / "data"),
        "data.questions": str(root / "questions.jsonl"),
        "federation.devices": len(SILOS),
        "privacy.export": "ldp",
        "privacy.epsilon": EPSILON,
        "privacy.budget": EPSILON,
    }
    grid = LocalGrid(app, _nodes(), run)
    run_systems(grid, "1", Settings.from_config(run))
    return grid, run


def _nodes() -> list[Config]:
    return [{"partition-id": number} for number in range(len(SILOS))]


def _shared(grid: LocalGrid, node: int) -> Delta:
    return _ask(grid, node, "query.share", ShareRequest(0), Delta)


def test_names_reach_the_others_as_surrogates(fused: tuple[LocalGrid, dict[str, Plain]]) -> None:
    grid, run = fused
    changed = 0
    for number, device in enumerate(sorted(SILOS)):
        with Node(_nodes()[number], run).device() as opened:
            own = {opened.store.opaque("own", [item.id])[item.id]: item for item in opened.store.items(origin=device)}
        with Node(_nodes()[1 - number], run).device() as other:
            arrived = {(item.question, item.answer) for item in other.store.items() if item.origin == device}
        shared = _shared(grid, number).items
        assert arrived  # all but what fusion merged, where two persons drew one surrogate
        assert arrived <= {(shown.question, shown.answer) for shown in shared}
        for shown in shared:
            changed += (shown.question, shown.answer) != (own[shown.id].question, own[shown.id].answer)
    assert changed  # each of the four persons stays in 20 % of draws, and the places too


def test_surrogates_outlast_the_process_a_new_epoch_is_refused(fused: tuple[LocalGrid, dict[str, Plain]]) -> None:
    grid, run = fused
    for number in range(len(SILOS)):
        first = _shared(grid, number)
        again = _shared(LocalGrid(app, _nodes(), run), number)
        assert [(item.id, item.question) for item in again.items] == [(item.id, item.question) for item in first.items]
        assert again.generation == first.generation
        later = _shared(LocalGrid(app, _nodes(), run | {"privacy.epoch": 1}), number)
        assert later.generation != first.generation
        named = [name.split(".")[0] for names in SILOS.values() for name in names]
        assert not [item for item in later.items if any(name in item.question.casefold() for name in named)]


def test_describe_works_under_ldp_or_says_what_is_wrong(fused: tuple[LocalGrid, dict[str, Plain]]) -> None:
    grid, run = fused
    card = _ask(grid, 0, "query.describe", DescribeRequest(), DeviceCard)
    assert (card.name, card.documents) == ("pilots", 2)
    narrow = LocalGrid(app, _nodes(), run | {"privacy.group-size": 6})
    failure = _ask(narrow, 0, "query.describe", DescribeRequest(), wire.Failure)
    assert "privacy.group-size asks for 6" in failure.what
