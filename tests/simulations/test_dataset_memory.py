"""A kept memory is one split's: another split has a folder of its own, and what is kept is what was asked for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from simulations.dataset_memory import Row, kept_memory


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """What is asked of the processes that build; they build nothing."""
    asked: list[Row] = []

    def run(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(json.loads(command[-1]))
        row = json.dumps({**asked[-1], "items": len(asked)})
        return subprocess.CompletedProcess(command, 0, row.encode())

    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", run)
    return asked


def memory(tmp_path: Path, split: str) -> Row:
    return kept_memory(tmp_path, "HotpotQA", 100, 20, False, split=split)


def test_each_split_has_a_memory_of_its_own(built: list[Row], tmp_path: Path) -> None:
    found = [memory(tmp_path, split) for split in ("dev", "train", "dev", "train")]
    assert [(row["split"], row["items"]) for row in found] == [("dev", 1), ("train", 2)] * 2
    folders = {path.parent.name for path in tmp_path.rglob("row.json")}
    assert folders == {"hotpotqa-100-20", "hotpotqa-100-20-train"}  # the dev split's is as it always was


def test_a_kept_memory_of_something_else_is_built_anew(built: list[Row], tmp_path: Path) -> None:
    memory(tmp_path, "dev")
    [kept] = tmp_path.rglob("row.json")
    kept.write_text(json.dumps({**built[0], "split": "train", "items": 9}), encoding="utf-8")
    assert memory(tmp_path, "dev")["items"] == 2
    assert memory(tmp_path, "dev")["items"] == 2
