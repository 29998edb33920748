"""A benchmark on a disk that is full, or where something else is in the way: an error of ours, and no row is lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fedrag_flwr.errors import StoreError, StoreFullError
from fedrag_flwr.records import Answer
from simulations.bench.outcome import MEMORIZER, write_outcome
from simulations.bench.plan import BenchPlan
from simulations.bench.rows import Row, Rows, Session, read_rows
from simulations.bench.run import run_plan
from simulations.bench.world import make_world
from tests.simulations.tiny_data import write_data

SESSION = Session("0123abcd", "model@0123", 1e9)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BenchPlan:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    return BenchPlan((write_data(tmp_path),), (MEMORIZER,), devices=2, questions=2)


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_file_in_the_place_of_a_folder_is_told(plan: BenchPlan, out: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="results cannot be written"):
        run_plan(plan, tmp_path / out, lambda _: None)
    with pytest.raises(StoreError, match="results cannot be written"):
        Rows(tmp_path / out, plan.digest, plan.told(), SESSION)


def test_a_full_disk_is_told_and_the_rows_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(tmp_path, "d", {"digest": "d"}, SESSION)
    rows.add(Row("tiny", "a", "q1"))

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreFullError, match="No space left"):
            rows.add(Row("tiny", "a", "q2"))
    Rows(tmp_path, "d", {"digest": "d"}, SESSION).add(Row("tiny", "a", "q2"))
    assert [row.question_id for row in read_rows(tmp_path)] == ["q1", "q2"]


def test_tables_that_cannot_be_written_are_told(plan: BenchPlan, tmp_path: Path) -> None:
    world, out = make_world(plan, plan.data[0]), tmp_path / "out"
    rows = Rows(out, plan.digest, plan.told(), SESSION)
    for one in world.gold:
        rows.add(Row(world.name, MEMORIZER, one.question_id, Answer(one.question_id, one.answer, "memorizer", 0.9)))
    (out / "table.md").mkdir()
    with pytest.raises(StoreError, match="out: the results cannot be written"):
        write_outcome(plan, [world], rows, out)
