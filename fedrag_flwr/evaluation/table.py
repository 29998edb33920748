"""Tables of a run as frames of text, the best value of a column starred, for pages and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fedrag_flwr.evaluation.bootstrap import Interval
from fedrag_flwr.evaluation.measures import (
    COST,
    NONE,
    QUALITY,
    Measure,
    contenders,
    label,
    leaders,
    number,
    points,
    seconds,
    signed_points,
    size,
)
from fedrag_flwr.evaluation.scoring import SystemResult
from fedrag_flwr.evaluation.summary import DeviceSummary, Summary
from fedrag_flwr.records import has_no_memory

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table

Systems = Mapping[str, SystemResult]
Values = Sequence[float | None]


def quality_table(summary: Summary) -> Table:
    """Make the terminal's table of answer quality and latency, systems as rows."""
    return _printed("Answers", quality(summary.systems))


def cost_table(summary: Summary) -> Table:
    """Make the terminal's table of model calls, tokens, traffic and memory, systems as rows."""
    return _printed("Cost", costs(summary.systems))


def kinds_table(summary: Summary) -> Table:
    """Make the terminal's table of ACC by kind of question, systems as rows."""
    return _printed("ACC by kind", kinds(summary.systems))


def devices_table(summary: Summary) -> Table:
    """Make the table of devices: what each holds, and what of it is missing, with the reason."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="Devices", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("Device", "Documents", "Memories"):
        table.add_column(heading, justify="left" if heading == "Device" else "right")
    table.add_column("Missing", overflow="fold")
    lost: dict[str, dict[str, list[str]]] = {}
    for system, result in summary.systems.items():
        for name, reason in result.missing_devices.items():
            lost.setdefault(name, {}).setdefault(reason, []).append(system)
    for name in sorted(summary.devices.keys() | lost.keys()):
        device = summary.devices.get(name, DeviceSummary())
        reasons = [
            f"{count} documents: {reason}" for reason, count in device.failures.items() if not has_no_memory(reason)
        ]
        reasons += [f"{count} skipped: {reason}" for reason, count in device.skipped.items()]
        reasons += [f"in {', '.join(systems)}: {reason}" for reason, systems in lost.get(name, {}).items()]
        table.add_row(escape(name), number(device.documents), number(device.items), escape("; ".join(reasons)))
    return table


def _printed(title: str, frame: DataFrame) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, caption="* best in its column", box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    table.add_column("System", overflow="fold")
    for heading in frame.columns:
        table.add_column(Text(str(heading)), justify="right")
    for name, *cells in frame.itertuples(name=None):
        table.add_row(Text(str(name)), *(Text(cell, "bold" if cell.endswith("*") else "") for cell in cells))
    return table


def quality(systems: Systems) -> DataFrame:
    """Answer quality in points (means over devices) and latency per answer."""
    return _measured(
        [one for one in QUALITY if one.heading != "Missing" or any(r.missing for r in systems.values())], systems
    )


def costs(systems: Systems) -> DataFrame:
    """Model calls and tokens per answer; messages and bytes of the whole run."""
    return _measured(COST, systems)


def _measured(measures: Sequence[Measure], systems: Systems) -> DataFrame:
    columns = {
        one.heading: _starred(systems, [one.value(r) for r in systems.values()], one.show, one.higher_is_better)
        for one in measures
    }
    return _frame(columns, _labels(systems), "System")


def intervals(systems: Systems) -> DataFrame:
    """ACC with its 95 % interval, and the paired difference to the best system."""
    top = max(contenders(systems), key=lambda name: systems[name].acc)
    columns: dict[str, list[str]] = {"ACC 95%": [], f"vs {top}": []}
    for result in systems.values():
        found = result.intervals.get("ACC")
        columns["ACC 95%"].append(f"{points(found.low)} to {points(found.high)}" if found else NONE)
        columns[f"vs {top}"].append(_difference(result.versus.get(top)))
    return _frame(columns, _labels(systems), "System")


def _difference(found: Interval | None) -> str:
    if found is None:
        return NONE
    return f"{signed_points(found.value)} ({signed_points(found.low)} to {signed_points(found.high)})"


def kinds(systems: Systems) -> DataFrame:
    """ACC by kind of question, with the number of questions of each kind."""
    columns = {}
    for kind, n in {kind: group.n for r in systems.values() for kind, group in r.kinds.items()}.items():
        values = [r.kinds[kind].acc if kind in r.kinds else None for r in systems.values()]
        columns[f"{kind} ({n})"] = _starred(systems, values, points, True)
    return _frame(columns, _labels(systems), "System")


def by_device(devices: Mapping[str, DeviceSummary], systems: Systems) -> DataFrame:
    """ACC of each system at each device."""
    asked = {name: device for name, device in devices.items() if device.acc}
    rows = [
        [number(device.documents), *_starred(systems, [device.acc.get(name) for name in systems], points, True)]
        for device in asked.values()
    ]
    headings = ["Documents", *_labels(systems)]
    columns = {heading: [row[place] for row in rows] for place, heading in enumerate(headings)}
    return _frame(columns, list(asked), "Device")


def by_path(systems: Systems) -> DataFrame:
    """What each path answers: conditional ACC and F1, and mean measured latency (FD-RAG table 2)."""
    groups = [(name, r, path, group) for name, r in systems.items() for path, group in r.by_path.items()]
    columns = {
        "Path": [path for _, _, path, _ in groups],
        "Answers": [number(group.n) for *_, group in groups],
        "Share": [points(group.n / max(1, r.n)) for _, r, _, group in groups],
        "ACC": [points(group.acc) for *_, group in groups],
        "F1": [points(group.f1) for *_, group in groups],
        "Mean latency": [seconds(group.seconds) for *_, group in groups],
    }
    return _frame(columns, [name for name, *_ in groups], "System")


def declined(systems: Systems) -> DataFrame:
    """The share of questions that each system declined, in per cent, of those with an answer and those without."""
    columns = {
        "Unanswerable, more is better": [points(r.unanswerable_abstained) for r in systems.values()],
        "Answerable, fewer is better": [points(r.answerable_abstained) for r in systems.values()],
    }
    return _frame(columns, _labels(systems), "System")


def builds(devices: Mapping[str, DeviceSummary]) -> DataFrame:
    """What each device's memory cost to build."""
    built = {name: one for name, one in devices.items() if one.documents or one.build_seconds}
    columns = {
        "Build time": [seconds(one.build_seconds) + " (part replayed)" * one.replayed for one in built.values()],
        "Documents": [
            number(one.documents) + (f", {one.failed} failed" if one.failed else "") for one in built.values()
        ],
        "Sentences": [number(one.sentences) for one in built.values()],
        "Hyperedges": [number(one.hyperedges) for one in built.values()],
        "Memories": [number(one.items) for one in built.values()],
        "Tokens per 1,000": [number(one.tokens_per_kilotoken) for one in built.values()],
        "LLM calls": [number(one.llm_calls) for one in built.values()],
        "Peak memory": [size(one.peak_rss_mb * 1e6 or None) for one in built.values()],
    }
    return _frame(columns, list(built), "Device")


def traffic(systems: Systems) -> DataFrame:
    """Bytes, messages and the server's seconds of waiting by phase."""
    phases = [(name, phase, sent) for name, r in systems.items() for phase, sent in r.by_phase.items()]
    columns = {
        "Phase": [phase for _, phase, _ in phases],
        "Up": [size(sent.bytes_up) for *_, sent in phases],
        "Down": [size(sent.bytes_down) for *_, sent in phases],
        "Messages": [number(sent.messages) for *_, sent in phases],
        "Waited": [seconds(sent.seconds or None) for *_, sent in phases],
    }
    return _frame(columns, [name for name, *_ in phases], "System")


def _starred(
    systems: Systems, values: Values, show: Callable[[float | None], str], higher_is_better: bool | None
) -> list[str]:
    """A column's cells; the best is starred, where there is something to choose."""
    best = leaders(systems, values, higher_is_better)
    return [f"{show(value)}{'*' if name in best else ''}" for name, value in zip(systems, values, strict=True)]


def _labels(systems: Systems) -> list[str]:
    return [label(name, result) for name, result in systems.items()]


def _frame(columns: Mapping[str, Sequence[str]], names: Sequence[str], what: str) -> DataFrame:
    from pandas import DataFrame

    return DataFrame({what: list(names), **columns}, dtype=object).set_index(what)
