"""What a node's config decides: which device it is, and which questions it trains the controller on."""

import json
from pathlib import Path

import pytest

from fedrag_flwr.errors import SourceError
from fedrag_flwr.nodes import Node
from fedrag_flwr.settings import Plain

ROWS = (("ward", "train"), ("ward", "test"), ("lab", "train"))


def write(path: Path) -> Path:
    lines = [
        {"id": f"{home}-{split}", "question": f"{home} {split}?", "answer": "?", "home": home, "split": split}
        | {"documents": [f"{home}-notes"]}
        for home, split in ROWS
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def asked(node: dict[str, Plain], run: dict[str, Plain]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.text, one.documents) for one in Node(node, run).training_questions()]


def test_a_simulated_device_has_the_runs_train_questions_of_its_home(tmp_path: Path) -> None:
    for device in ("lab", "ward"):
        (tmp_path / "data" / device).mkdir(parents=True)
    run: dict[str, Plain] = {
        "data.root": str(tmp_path / "data"),
        "data.questions": str(write(tmp_path / "questions.jsonl")),
    }
    assert asked({"partition-id": 1}, run) == [("ward train?", ("ward-notes",))]
    assert asked({"partition-id": 7}, run) == []  # a spare node


def test_a_deployed_device_has_those_that_it_names_itself(tmp_path: Path) -> None:
    run: dict[str, Plain] = {"data.questions": str(write(tmp_path / "of-the-run.jsonl"))}
    node: dict[str, Plain] = {"data-path": "/srv/ward", "device-name": "ward"}
    assert asked(node, run) == []
    own = {**node, "training-questions": str(write(tmp_path / "own.jsonl"))}
    assert asked(own, run) == [("ward train?", ("ward-notes",)), ("lab train?", ("lab-notes",))]
    with pytest.raises(SourceError):
        asked({**node, "training-questions": str(tmp_path / "missing.jsonl")}, run)


def test_hidden_folders_are_no_devices(tmp_path: Path) -> None:
    for name in (".cache", ".git", "lab", "ward"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").touch()
    nodes = [Node({"partition-id": number}, {"data.root": str(tmp_path)}) for number in range(3)]
    assert [node.device_name() for node in nodes] == ["lab", "ward", "spare-2"]
