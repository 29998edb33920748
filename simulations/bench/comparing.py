"""Runs side by side: their systems under one summary, named by run where names meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.bootstrap import Interval, paired_difference
from fedrag_flwr.evaluation.manifest import Manifest
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.scoring import SystemResult
from fedrag_flwr.evaluation.summary import Summary

Value = TypeVar("Value")


def compared(runs: Sequence[Path]) -> tuple[Summary, list[AnswerRow]]:
    """Read runs and give one summary over all their systems, and all their answers.

    Systems whose questions are the same are compared by paired bootstrap. In the manifest, what differs between runs is
    told run by run; seed and start are the first's, seconds are of all together.

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
    manifests: dict[str, Manifest] = {}
    for run in runs:
        summary = read_summary(run)
        manifests[run.name] = summary.manifest
        for name, result in summary.systems.items():
            systems[_name(run, name, runs)] = replace(result, versus={})
        for row in read_answers(run):
            name = _name(run, row.system, runs)
            answers.setdefault(name, []).append(replace(row, system=name))
    manifest = _merged(manifests)
    seed = manifest.seed
    paired = {name: replace(result, versus=_versus(name, answers, seed)) for name, result in systems.items()}
    return Summary(paired, {}, manifest), [row for given in answers.values() for row in given]


def _merged(manifests: Mapping[str, Manifest]) -> Manifest:
    """The first run's manifest, with what other runs had otherwise."""
    first = next(iter(manifests.values()))
    return replace(
        first,
        settings=_told({run: one.settings for run, one in manifests.items()}),
        versions=_told({run: one.versions for run, one in manifests.items()}),
        models=_told({run: one.models for run, one in manifests.items()}),
        machine=_told({run: one.machine for run, one in manifests.items()}),
        fitted=_told({run: one.fitted for run, one in manifests.items()}),
        seconds=sum(one.seconds for one in manifests.values()),
    )


def _told(by_run: Mapping[str, Mapping[str, Value]]) -> dict[str, Value | str]:
    """Values that all runs share as they are, others as a line of each run's."""
    names = dict.fromkeys(name for values in by_run.values() for name in values)
    told: dict[str, Value | str] = {}
    for name in names:
        found = {run: values[name] for run, values in by_run.items() if name in values}
        first = next(iter(found.values()))
        same = len(found) == len(by_run) and all(value == first for value in found.values())
        told[name] = first if same else "; ".join(f"{run}: {value}" for run, value in found.items())
    return told


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
