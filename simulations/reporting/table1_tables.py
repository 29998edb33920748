"""Table 1's parts as Markdown and as plain numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from fedrag_flwr.evaluation.bootstrap import Interval, mean_interval, paired_difference
from fedrag_flwr.evaluation.manifest import Manifest
from fedrag_flwr.evaluation.measures import NONE, number, points, seconds, signed_points, size
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.scoring import SystemResult
from simulations.bench.comparing import merged
from simulations.bench.outcome import CSV
from simulations.bench.rows import Row, read_rows

Systems = Mapping[str, Sequence[str]]  # of each setting, in the table's order
Cells = Callable[[SystemResult], Sequence[str]]
Answers = Mapping[str, Sequence[AnswerRow]]  # by dataset

_SHAPE = ("F1", "ACC", "Latency", "Calls")
_COSTS = ("messages", "bytes", "server", "messages before", "bytes before")
_WAYS = {"memory": "memorizer", "home's own passages": "cognizer", "others' evidence": "remote"}  # who answers: path
_OVER_ALL = "Over all sets: the mean of all devices' means."
_ANSWERED = "By who answered: questions / right / mean time."
_OVER_HEADS = "| system | right | ACC | ACC 95 % | reference minus it |\n|---|---|---|---|---|"
_MADE = "Made with; where parts differ, each is named:"
_SENT = "Messages, bytes and the server's seconds are means of a question; before: until the first one."


def folder_of(setting: str, dataset: str) -> str:
    """The name of the folder with one part's results."""
    return f"{setting}-{dataset}"


def tables(out: Path, systems: Systems, datasets: Sequence[str], references: Mapping[str, str], by_way: Systems) -> str:
    """The paper's table; ACC beside a reference row, for each set and for all; who answered; what a question sends.

    Under them stands which code, models and machine the parts had.
    """
    summaries = {
        (setting, name): read_summary(out / folder_of(setting, name)) for setting in systems for name in datasets
    }
    results = {part: summary.systems for part, summary in summaries.items()}

    def lines(heads: Sequence[str], cells: Callable[[str], Cells]) -> list[str]:
        told = [_heads(heads, datasets)]
        for setting, names in systems.items():
            told.append(f"| **{setting}** |{' |' * len(heads) * len(datasets)}")
            shown = cells(references[setting])
            told += [_line(name, *(shown(results[setting, one][name]) for one in datasets)) for name in names]
        return told

    parts = [
        lines(_SHAPE, lambda _: _shape),
        lines(("right", "ACC 95 %", "reference minus it"), _beside),
    ]
    named = ", ".join(f"`{references[setting]}` of the {setting} part" for setting in systems)
    over, ways = [_OVER_HEADS], [_heads(tuple(_WAYS), datasets)]
    for setting, names in systems.items():
        answers = {name: read_answers(out / folder_of(setting, name)) for name in datasets}
        over += [f"| **{setting}** | | | | |", *_over_all(answers, names, references[setting])]
        ways += _ways(answers, by_way[setting])
    told = ["\n".join(parts[0]), f"The reference is {named}.", "\n".join(parts[1])]
    told += [_OVER_ALL, "\n".join(over), _ANSWERED, "\n".join(ways)]
    if "federated" in systems:
        costs = [_heads(_COSTS, datasets), *_costs(out, systems["federated"], datasets)]
        told += [_SENT, "\n".join(costs)]
    made = merged({folder_of(*part): summary.manifest for part, summary in summaries.items()})
    told.append("\n".join([_MADE, "", *_made(made)]))
    return "\n\n".join(told) + "\n"


def _made(manifest: Manifest) -> Iterable[str]:
    found = {"code": manifest.versions["code"], **manifest.models, **manifest.machine}
    return (f"- {what}: {value}" for what, value in found.items())


def numbers(out: Path, systems: Systems, datasets: Sequence[str]) -> str:
    """All measures of all systems as plain numbers, one line a system, dataset and setting."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for setting in systems:
        for name in datasets:
            with (out / folder_of(setting, name) / CSV).open(encoding="utf-8", newline="") as part:
                heads, *rows = csv.reader(part)
            if not file.tell():
                writer.writerow(["setting", "dataset", *heads])
            writer.writerows([setting, name, *row] for row in rows)
    return file.getvalue()


def _heads(heads: Sequence[str], datasets: Sequence[str]) -> str:
    named = [f"{name}: {head}" if place == 0 else head for name in datasets for place, head in enumerate(heads)]
    return f"| system | {' | '.join(named)} |\n|{'---|' * (1 + len(named))}"


def _line(name: str, *groups: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cell for group in groups for cell in group)} |"


def _shape(result: SystemResult) -> Sequence[str]:
    return points(result.f1), points(result.acc), seconds(result.latency_s.mean), _calls(result)


def _calls(result: SystemResult) -> str:
    return number(result.llm_calls if result.answered else None)


def _beside(reference: str) -> Cells:
    def cells(result: SystemResult) -> Sequence[str]:
        acc, less = result.intervals["ACC"], result.versus.get(reference)
        right = sum(round(device.acc * device.n) for device in result.devices.values())
        return str(right), f"{points(acc.low)} to {points(acc.high)}", NONE if less is None else _turned(less)

    return cells


def _turned(less: Interval) -> str:
    """A row's difference to the reference as the reference's to the row."""
    low, value, high = (signed_points(-bound) for bound in (less.high, less.value, less.low))
    return f"{value} ({low} to {high})"


def _over_all(answers: Answers, systems: Sequence[str], reference: str) -> Iterable[str]:
    rows = [(f"{name}/{row.home}", row) for name, made in answers.items() for row in made]
    right = {system: [float(row.right) for _, row in rows if row.system == system] for system in systems}
    homes = [home for home, row in rows if row.system == reference]
    rng = np.random.default_rng(0)
    for system in systems:
        acc = mean_interval(right[system], rng=rng, groups=homes)
        less = paired_difference(right[system], right[reference], rng=rng, groups=homes)
        beside = NONE if system == reference else _turned(less)
        count = f"{sum(right[system]):.0f}"
        yield _line(system, (count, points(acc.value), f"{points(acc.low)} to {points(acc.high)}", beside))


def _ways(answers: Answers, systems: Sequence[str]) -> Iterable[str]:
    for system in systems:
        yield _line(system, *(_by_way([row for row in made if row.system == system]) for made in answers.values()))


def _by_way(rows: Sequence[AnswerRow]) -> Sequence[str]:
    ways = ([row for row in rows if row.path == path] for path in _WAYS.values())
    return [
        f"{len(taken)} / {mean(row.right for row in taken):.0%} / {seconds(mean(row.cost.seconds for row in taken))}"
        if taken
        else NONE
        for taken in ways
    ]


def _costs(out: Path, systems: Sequence[str], datasets: Sequence[str]) -> Iterable[str]:
    made = {name: read_rows(out / folder_of("federated", name)) for name in datasets}
    for system in systems:
        yield _line(system, *(_cost([row for row in made[name] if row.system == system]) for name in datasets))


def _cost(rows: Sequence[Row]) -> Sequence[str]:
    asked = [row for row in rows if row.question_id]
    before = [row for row in rows if not row.question_id]
    return (
        number(mean(row.traffic.messages for row in asked)),
        size(mean(_bytes(row) for row in asked)),
        seconds(mean(row.server_seconds for row in asked) or None),  # an enclave's, or one device's, are not its own
        number(sum(row.traffic.messages for row in before)),
        size(sum(map(_bytes, before))),
    )


def _bytes(row: Row) -> int:
    return row.traffic.bytes_up + row.traffic.bytes_down
