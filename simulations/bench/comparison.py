"""Runs side by side: their systems under one summary, named by run where names meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

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
    told run by run; seed and start are the first's, seconds are of all together. Devices are told of a single run:
    those of several only have the same names.

    Raises SettingError: no run is named, or one twice. Raises NotFoundError, StoreCorruptError: a folder holds no
    results, or broken ones.
    """
    names = run_names(runs)
    summaries = {name: read_summary(run) for name, run in zip(names, runs, strict=True)}
    before = {name: f"{name}/" if len(runs) > 1 else "" for name in names}
    systems: dict[str, SystemResult] = {}
    answers: dict[str, list[AnswerRow]] = {}
    for run_name, run in zip(names, runs, strict=True):
        for system, result in summaries[run_name].systems.items():
            systems[before[run_name] + system] = result
        for row in read_answers(run):
            name = before[run_name] + row.system
            answers.setdefault(name, []).append(replace(row, system=name))
    manifest = merged({name: summary.manifest for name, summary in summaries.items()})
    told = [row for given in answers.values() for row in given]
    if len(runs) == 1:
        return summaries[names[0]], told
    paired = {name: replace(result, versus=_versus(name, answers, manifest.seed)) for name, result in systems.items()}
    return Summary(paired, {}, manifest), told


def run_names(runs: Sequence[Path]) -> list[str]:
    """Name each run by the shortest tail of its path that is no other's.

    Raises SettingError: no run is named, or one twice.
    """
    paths = [run.resolve() for run in runs]
    if not paths or len(set(paths)) != len(paths):
        raise SettingError("name each run once", where="runs", fix="give different folders")
    names = []
    for path in paths:
        tails = ("/".join(path.parts[-length:]) for length in range(1, len(path.parts)))
        others = [f"/{other.as_posix()}" for other in paths if other != path]
        free = (tail for tail in tails if not any(other.endswith(f"/{tail}") for other in others))
        names.append(next(free, path.as_posix()))
    return names


def merged(manifests: Mapping[str, Manifest]) -> Manifest:
    """The first run's manifest, with what other runs had otherwise told run by run."""
    first = next(iter(manifests.values()))
    parts = ("settings", "versions", "models", "machine", "fitted")
    told: dict[str, Any] = {part: _told({run: getattr(one, part) for run, one in manifests.items()}) for part in parts}
    return replace(first, **told, seconds=sum(one.seconds for one in manifests.values()))


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


def _versus(name: str, answers: dict[str, list[AnswerRow]], seed: int) -> dict[str, Interval]:
    own = {row.asked: row for row in answers.get(name, ())}
    found = {}
    for other, rows in answers.items():
        theirs = {row.asked: row for row in rows}
        if other != name and own and own.keys() == theirs.keys():
            found[other] = paired_difference(
                [float(row.right) for row in own.values()],
                [float(theirs[asked].right) for asked in own],
                rng=np.random.default_rng(abs(seed)),
                groups=[row.home for row in own.values()],
            )
    return found
