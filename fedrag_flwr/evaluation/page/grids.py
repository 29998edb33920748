"""The report's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedrag_flwr.evaluation.bootstrap import Interval
from fedrag_flwr.evaluation.measures import (
    COST,
    NONE,
    QUALITY,
    comparable,
    contenders,
    label,
    leaders,
    number,
    points,
    seconds,
    signed_points,
    size,
)
from fedrag_flwr.evaluation.scoring import PATHS, SystemResult, kind_sizes
from fedrag_flwr.evaluation.summary import DeviceSummary


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, the value that sorts it, a bar's length in [0, 1], and whether it is the best."""

    text: str
    value: float | None = None
    bar: float | None = None
    best: bool = False
    note: str = ""
    wording: bool = False  # sorts by its text


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: id, caption, headings (text, explanation), and rows of a name and cells."""

    id: str
    caption: str
    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    wordings: tuple[str, ...] = ()  # headings of columns of words


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a stacked bar: what it is, its share of the bar in [0, 1], and its text."""

    kind: str
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A stacked bar: what it is for, how much of the full width it takes, its parts, and the text after it."""

    name: str
    width: float
    segments: tuple[Segment, ...]
    text: str = ""


_MISSING = "missing"


def used_paths(systems: Mapping[str, SystemResult]) -> list[str]:
    """Return the paths that occur, the known ones first."""
    found = {path for result in systems.values() for path, share in result.paths.items() if share}
    return [path for path in PATHS if path in found] + sorted(found.difference(PATHS))


def path_stacks(systems: Mapping[str, SystemResult], paths: Sequence[str]) -> list[Stack]:
    stacks = []
    for name, result in systems.items():
        shares = [(path, result.paths.get(path, 0.0)) for path in paths] + [(_MISSING, result.missing)]
        segments = tuple(Segment(path, share, f"{100 * share:.0f}%") for path, share in shares if share)
        stacks.append(Stack(name, 1.0, segments, ", ".join(f"{part.kind} {part.text}" for part in segments)))
    return stacks


def traffic(systems: Mapping[str, SystemResult]) -> list[tuple[str, str, list[Stack]]]:
    """Return, for each system that sent anything, its totals and a bar of bytes up and down for each phase."""
    most = max((p.bytes_up + p.bytes_down for r in systems.values() for p in r.by_phase.values()), default=0) or 1
    found = []
    for name, result in systems.items():
        stacks = []
        for phase, sent in result.by_phase.items():
            total = sent.bytes_up + sent.bytes_down
            both = (("up", sent.bytes_up), ("down", sent.bytes_down))
            segments = tuple(Segment(kind, amount / total, size(amount)) for kind, amount in both if amount)
            text = f"{size(sent.bytes_up)} up, {size(sent.bytes_down)} down, {number(sent.messages)} messages"
            text += f", {seconds(sent.seconds)}" if sent.seconds else ""
            stacks.append(Stack(phase, total / most, segments, text))
        totals = f"{size(result.bytes_up)} up, {size(result.bytes_down)} down, {number(result.messages)} messages"
        found.append((name, totals, stacks))
    return found


def quality(systems: Mapping[str, SystemResult]) -> Grid:
    measures = [m for m in QUALITY if m.heading != "Missing" or any(r.missing for r in systems.values())]
    top = max(contenders(systems), key=lambda name: systems[name].acc) if comparable(systems) else None
    starred = [leaders(systems, [m.value(r) for r in systems.values()], m.higher_is_better) for m in measures]
    rows = []
    for name, result in systems.items():
        cells = []
        for measure, best in zip(measures, starred, strict=True):
            value = measure.value(result)
            interval = result.intervals.get(measure.heading)
            note = f"{measure.show(interval.low)}–{measure.show(interval.high)}" if interval else ""
            cells.append(Cell(measure.show(value), value, best=name in best, note=note))
        if top is not None:
            cells.insert(1, _behind(result.versus.get(top)))
        rows.append((label(name, result), tuple(cells)))
    headings = [(m.heading, m.meaning) for m in measures]
    if top is not None:
        headings.insert(1, ("vs best", f"difference of ACC to {top} in points, with its 95% paired bootstrap interval"))
    return Grid(
        "quality",
        "Answer quality in points (means over devices; 95% intervals below them) and latency per answer",
        tuple(headings),
        tuple(rows),
    )


def _behind(difference: Interval | None) -> Cell:
    """How far a system is from the best one, which has no difference to itself."""
    if difference is None:
        return Cell(NONE, 0.0)
    spread = f"{signed_points(difference.low)} to {signed_points(difference.high)}"
    return Cell(signed_points(difference.value), difference.value, note=spread)


def cost(systems: Mapping[str, SystemResult]) -> Grid:
    columns = [[m.value(r) for r in systems.values()] for m in COST]
    starred = [leaders(systems, values, m.higher_is_better) for m, values in zip(COST, columns, strict=True)]
    rows = (
        tuple(
            Cell(m.show(values[row]), values[row], bar=_length(values[row], values), best=name in best)
            for m, values, best in zip(COST, columns, starred, strict=True)
        )
        for row, name in enumerate(systems)
    )
    return Grid(
        "cost",
        "Model calls and tokens per answer; messages and bytes of the whole run, where what several systems share alike"
        " (the bank, summaries) is sent once and counted at the first of them; largest peak memory",
        tuple((m.heading, m.meaning) for m in COST),
        tuple((label(name, result), cells) for (name, result), cells in zip(systems.items(), rows, strict=True)),
    )


def _length(value: float | None, column: Sequence[float | None]) -> float | None:
    """A bar's length beside the largest value of its column."""
    return None if value is None else value / (max(one or 0.0 for one in column) or 1.0)


def path_grid(systems: Mapping[str, SystemResult]) -> Grid:
    rows = []
    for name, result in systems.items():
        for path, group in result.by_path.items():
            cells = (
                Cell(path, wording=True),
                Cell(number(group.n), group.n),
                Cell(points(group.n / max(1, result.n)), group.n),
                Cell(points(group.acc), group.acc, bar=group.acc),
                Cell(points(group.f1), group.f1),
                Cell(seconds(group.seconds), group.seconds),
            )
            rows.append((name, cells))
    return Grid(
        "paths",
        "What each path answers: conditional ACC and F1, and mean measured latency (FD-RAG table 2)",
        (
            ("Path", "how the answer came about"),
            ("Answers", "number of answers"),
            ("Share", "share of all questions, %"),
            ("ACC", "share of right answers on this path, %"),
            ("F1", "token overlap on this path, %"),
            ("Mean latency", "measured answers only"),
        ),
        tuple(rows),
        wordings=("Path",),
    )


def abstention(systems: Mapping[str, SystemResult]) -> Grid:
    rows = tuple(
        (name, tuple(Cell(points(share), share) for share in (r.unanswerable_abstained, r.answerable_abstained)))
        for name, r in systems.items()
    )
    headings = (
        ("Unanswerable", "questions whose answer no document holds; more is better"),
        ("Answerable", "questions that have an answer; fewer is better"),
    )
    return Grid("abstention", "Share of questions that a system declined, in %", headings, rows)


def kinds(systems: Mapping[str, SystemResult]) -> Grid:
    sizes = kind_sizes(systems.values())
    accs = {
        kind: [result.kinds[kind].acc if kind in result.kinds else None for result in systems.values()]
        for kind in sizes
    }
    return _comparison("kinds", "ACC by kind of question, in points", "Questions", systems, accs, sizes)


def devices(devices: Mapping[str, DeviceSummary], systems: Mapping[str, SystemResult]) -> Grid:
    accs = {name: [device.acc.get(system) for system in systems] for name, device in devices.items() if device.acc}
    sizes = {name: devices[name].documents for name in accs}
    return _comparison("devices", "ACC by device, in points", "Documents", systems, accs, sizes)


def _comparison(
    name: str,
    caption: str,
    counted: str,
    systems: Mapping[str, SystemResult],
    accs: Mapping[str, Sequence[float | None]],
    sizes: Mapping[str, int | None],
) -> Grid:
    rows = []
    for row, values in accs.items():
        best = leaders(systems, values, True)
        cells = (
            Cell(points(value), value, bar=value, best=name in best)
            for name, value in zip(systems, values, strict=True)
        )
        rows.append((row, (Cell(number(sizes[row]), sizes[row]), *cells)))
    headings = ((counted, ""), *((label(name, result), "") for name, result in systems.items()))
    return Grid(name, caption, headings, tuple(rows))


def builds(devices: Mapping[str, DeviceSummary]) -> Grid | None:
    built = {name: device for name, device in devices.items() if device.documents or device.build_seconds}
    if not built:
        return None
    longest = max(device.build_seconds for device in built.values()) or 1.0
    rows = tuple(
        (
            name,
            (
                Cell(
                    seconds(device.build_seconds) + (" (part replayed)" if device.replayed else ""),
                    device.build_seconds,
                    bar=device.build_seconds / longest,
                ),
                Cell(
                    number(device.documents), device.documents, note=f"{device.failed} failed" if device.failed else ""
                ),
                Cell(number(device.sentences), device.sentences),
                Cell(number(device.hyperedges), device.hyperedges),
                Cell(number(device.items), device.items),
                Cell(number(device.tokens_per_kilotoken), device.tokens_per_kilotoken),
                Cell(number(device.llm_calls), device.llm_calls),
                Cell(size(device.peak_rss_mb * 1e6 or None), device.peak_rss_mb or None),
            ),
        )
        for name, device in built.items()
    )
    return Grid(
        "builds",
        "What each device's memory cost to build",
        (
            ("Build time", "summed over the run's builds"),
            ("Documents", ""),
            ("Sentences", ""),
            ("Hyperedges", ""),
            ("Memories", "question-answer memory items"),
            ("Tokens per 1,000", "generated tokens per 1,000 corpus tokens (FD-RAG: 58)"),
            ("LLM calls", ""),
            ("Peak memory", ""),
        ),
        rows,
    )
