"""Runs side by side: their systems under one summary, named by run where names meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.bootstrap import Interval, paired_difference
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.scoring import SystemResult
from fedrag_flwr.evaluation.summary import Summary


def compared(runs: Sequence[Path]) -> tuple[Summary, list[AnswerRow]]:
    """Read runs and give one summary over all their systems, and all their answers.

    Systems whose questions are the same are compared by paired bootstrap; the manifest is the first run's.

    Raises
    ------
    SettingError
        No run is named, or two have the same name.
    NotFoundError, StoreCorruptError
        A folder holds no results, or broken ones.
    """
    if not runs or len({run.name for run in runs}) != len(runs):
        raise SettingError("name each run once", where="runs", fix="give folders with different names")
    systems: dict[str, SystemResult] = {}
    answers: dict[str, list[AnswerRow]] = {}
    first = read_summary(runs[0])
    for run in runs:
        for name, result in read_summary(run).systems.items():
            systems[_name(run, name, runs)] = replace(result, versus={})
        for row in read_answers(run):
            name = _name(run, row.system, runs)
            answers.setdefault(name, []).append(replace(row, system=name))
    seed = first.manifest.seed
    paired = {name: replace(result, versus=_versus(name, answers, seed)) for name, result in systems.items()}
    return Summary(paired, {}, first.manifest), [row for given in answers.values() for row in given]


def _name(run: Path, system: str, runs: Sequence[Path]) -> str:
    return f"{run.name}/{system}" if len(runs) > 1 else system


def _versus(name: str, answers: dict[str, list[AnswerRow]], seed: int) -> dict[str, Interval]:
    own = {row.question_id: row for row in answers.get(name, ())}
    found = {}
    for other, rows in answers.items():
        theirs = {row.question_id: row for row in rows}
        paired = own.keys() == theirs.keys() and all(own[i].home == theirs[i].home for i in own)
        if other != name and own and paired:
            ids = list(own)
            found[other] = paired_difference(
                [float(own[i].right) for i in ids],
                [float(theirs[i].right) for i in ids],
                rng=np.random.default_rng(abs(seed)),
                groups=[own[i].home for i in ids],
            )
    return found
