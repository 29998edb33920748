"""The report: one self-contained HTML page with tables, figures and every answer."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.evaluation.measures import COST, NONE, QUALITY, best, number, points, seconds, signed_points, size
from fedrag_flwr.evaluation.page.charts import Dot, histograms, scatter
from fedrag_flwr.evaluation.scoring import PATHS, SystemResult
from fedrag_flwr.evaluation.summary import DeviceSummary, Summary

if TYPE_CHECKING:
    from fedrag_flwr.evaluation.results import AnswerRow

_ANSWERS_BUDGET = 700_000  # characters of embedded answers; keeps the page under 1 MB
_MISSING = "missing"


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


def render_report(summary: Summary, rows: Sequence[AnswerRow], *, title: str = "") -> str:
    """Render the report of a run as one HTML page that needs no network; all texts are treated as untrusted.

    Parameters
    ----------
    summary, rows
        The run's summary and answers.
    title
        A name for the run, shown in the heading.
    """
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    from fedrag_flwr.evaluation.page.script import SCRIPT
    from fedrag_flwr.evaluation.page.style import STYLE
    from fedrag_flwr.evaluation.page.template import PARTS

    environment = Environment(
        loader=DictLoader(PARTS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    systems = summary.systems
    used = _used_paths(systems)
    bins, bin_ticks = histograms(_latencies(systems, rows), used)
    embedded, shown = _embed(rows, list(systems))
    asked = len({row.question_id for row in rows})
    return environment.get_template("page").render(
        title=title,
        summary=summary,
        systems=systems,
        took=seconds(summary.manifest.seconds),
        questions=max((result.n for result in systems.values()), default=0),
        highlights=_highlights(systems),
        quality=_quality(systems),
        cost=_cost(systems),
        plane=scatter(_dots(systems)),
        unmeasured=[name for name, result in systems.items() if result.latency_s.mean is None],
        replayed={name: points(result.replayed) for name, result in systems.items() if result.replayed},
        lost={name: result.missing_devices for name, result in systems.items() if result.missing_devices},
        paths=used,
        path_stacks=_path_stacks(systems, used),
        path_grid=_path_grid(systems),
        histograms=bins,
        histogram_ticks=bin_ticks,
        abstention=_abstention(systems),
        kinds=_kinds(systems),
        devices=_devices(summary.devices, list(systems)),
        builds=_builds(summary.devices),
        traffic=_traffic(systems),
        shown=shown,
        asked=asked,
        embedded=embedded,
        style=Markup(STYLE),
        script=Markup(SCRIPT),
        script_hash=base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode(),
    )


def _highlights(systems: Mapping[str, SystemResult]) -> list[tuple[str, str, str]]:
    """Pick what a reader asks first: who is right most often, who is fastest, who abstains when it should."""
    found = []
    top = max(systems, key=lambda name: systems[name].acc)
    interval = systems[top].acc_interval
    note = f"95% interval {points(interval.low)} to {points(interval.high)}" if interval else ""
    found.append(("Most accurate", top, f"ACC {points(systems[top].acc)}" + (f", {note}" if note else "")))
    timed = {name: r.latency_s.mean for name, r in systems.items() if r.latency_s.mean is not None}
    if timed:
        fastest = min(timed, key=lambda name: timed[name])
        p95 = systems[fastest].latency_s.p95
        found.append(("Fastest", fastest, f"{seconds(timed[fastest])} on average, p95 {seconds(p95)}"))
    fewest = min(systems, key=lambda name: systems[name].llm_calls)
    found.append(("Fewest LLM calls", fewest, f"{number(systems[fewest].llm_calls)} per answer"))
    return found


def _quality(systems: Mapping[str, SystemResult]) -> Grid:
    measures = [m for m in QUALITY if m.heading != "Missing" or any(r.missing for r in systems.values())]
    top = max(systems, key=lambda name: systems[name].acc)
    tops = [best([m.value(r) for r in systems.values()], m.higher_is_better) for m in measures]
    rows = []
    for name, result in systems.items():
        cells = []
        for measure, highest in zip(measures, tops, strict=True):
            value = measure.value(result)
            interval = result.acc_interval if measure.heading == "ACC" else None
            note = f"{points(interval.low)}–{points(interval.high)}" if interval else ""
            cells.append(Cell(measure.show(value), value, best=value is not None and value == highest, note=note))
        difference = result.versus.get(top)
        behind = (
            Cell(
                signed_points(difference.value),
                difference.value,
                note=f"{signed_points(difference.low)} to {signed_points(difference.high)}",
            )
            if difference
            else Cell(NONE, 0.0)
        )
        rows.append((name, (cells[0], behind, *cells[1:])))
    headings = [(m.heading, m.meaning) for m in measures]
    headings.insert(1, ("vs best", f"difference of ACC to {top} in points, with its 95% paired bootstrap interval"))
    return Grid(
        "quality",
        "Answer quality in points (means over devices; 95% interval of ACC below it) and latency per answer",
        tuple(headings),
        tuple(rows),
    )


def _cost(systems: Mapping[str, SystemResult]) -> Grid:
    tops = [best([m.value(r) for r in systems.values()], m.higher_is_better) for m in COST]
    return Grid(
        "cost",
        "Model calls and tokens per answer; messages and bytes of the whole run; largest peak memory",
        tuple((m.heading, m.meaning) for m in COST),
        tuple(
            (
                name,
                tuple(
                    Cell(m.show(value), value, best=value is not None and value == top)
                    for m, top in zip(COST, tops, strict=True)
                    for value in [m.value(result)]
                ),
            )
            for name, result in systems.items()
        ),
    )


def _dots(systems: Mapping[str, SystemResult]) -> list[Dot]:
    return [
        Dot(
            name,
            result.latency_s.mean,
            result.acc,
            result.acc_interval.low if result.acc_interval else result.acc,
            result.acc_interval.high if result.acc_interval else result.acc,
        )
        for name, result in systems.items()
        if result.latency_s.mean is not None
    ]


def _used_paths(systems: Mapping[str, SystemResult]) -> list[str]:
    """Return the paths that occur, the known ones first."""
    found = {path for result in systems.values() for path, share in result.paths.items() if share}
    return [path for path in PATHS if path in found] + sorted(found.difference(PATHS))


def _path_stacks(systems: Mapping[str, SystemResult], paths: Sequence[str]) -> list[Stack]:
    stacks = []
    for name, result in systems.items():
        shares = [(path, result.paths.get(path, 0.0)) for path in paths] + [(_MISSING, result.missing)]
        segments = tuple(Segment(path, share, f"{100 * share:.0f}%") for path, share in shares if share)
        stacks.append(Stack(name, 1.0, segments, ", ".join(f"{part.kind} {part.text}" for part in segments)))
    return stacks


def _path_grid(systems: Mapping[str, SystemResult]) -> Grid:
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


def _abstention(systems: Mapping[str, SystemResult]) -> Grid:
    rows = tuple(
        (name, tuple(Cell(points(share), share) for share in (r.unanswerable_abstained, r.answerable_abstained)))
        for name, r in systems.items()
    )
    headings = (
        ("Unanswerable", "questions whose answer no document holds; more is better"),
        ("Answerable", "questions that have an answer; fewer is better"),
    )
    return Grid("abstention", "Share of questions that a system declined, in %", headings, rows)


def _latencies(systems: Iterable[str], rows: Iterable[AnswerRow]) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {name: {} for name in systems}
    for row in rows:
        if row.answer is not None and not row.cost.replayed and row.system in found:
            found[row.system].setdefault(row.path, []).append(row.cost.seconds)
    return found


def _kinds(systems: Mapping[str, SystemResult]) -> Grid:
    sizes = {kind: group.n for result in systems.values() for kind, group in result.kinds.items()}
    accs = {
        kind: [result.kinds[kind].acc if kind in result.kinds else None for result in systems.values()]
        for kind in sizes
    }
    return _comparison("kinds", "ACC by kind of question, in points", "Questions", systems, accs, sizes)


def _devices(devices: Mapping[str, DeviceSummary], systems: Sequence[str]) -> Grid:
    accs = {name: [device.acc.get(system) for system in systems] for name, device in devices.items() if device.acc}
    sizes = {name: devices[name].documents for name in accs}
    return _comparison("devices", "ACC by device, in points", "Documents", systems, accs, sizes)


def _comparison(
    name: str,
    caption: str,
    counted: str,
    systems: Iterable[str],
    accs: Mapping[str, Sequence[float | None]],
    sizes: Mapping[str, int],
) -> Grid:
    rows = []
    for row, values in accs.items():
        top = best(values, True)
        cells = (Cell(points(value), value, bar=value, best=value is not None and value == top) for value in values)
        rows.append((row, (Cell(number(sizes[row]), sizes[row]), *cells)))
    headings = ((counted, ""), *((system, "") for system in systems))
    return Grid(name, caption, headings, tuple(rows))


def _builds(devices: Mapping[str, DeviceSummary]) -> Grid | None:
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


def _traffic(systems: Mapping[str, SystemResult]) -> list[tuple[str, str, list[Stack]]]:
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
            stacks.append(Stack(phase, total / most, segments, text))
        totals = f"{size(result.bytes_up)} up, {size(result.bytes_down)} down, {number(result.messages)} messages"
        found.append((name, totals, stacks))
    return found


def _embed(rows: Sequence[AnswerRow], systems: Sequence[str]) -> tuple[str, int]:
    """Pack the answers as base64 of gzipped JSON, as many questions as the budget allows, and count these."""
    questions: dict[str, dict[str, object]] = {}
    given: dict[str, dict[str, list[object]]] = {}
    for row in rows:
        questions.setdefault(
            row.question_id,
            {
                "id": row.question_id,
                "kind": row.kind,
                "home": row.home,
                "question": row.question,
                "gold": row.gold,
                "aliases": row.aliases,
            },
        )
        given.setdefault(row.question_id, {})[row.system] = _packed(row)
    every = [{**fields, "answers": [given[key].get(name) for name in systems]} for key, fields in questions.items()]
    kept = len(every)
    while True:
        content = json.dumps({"systems": systems, "questions": every[:kept]}, ensure_ascii=False, separators=(",", ":"))
        packed = base64.b64encode(gzip.compress(content.encode("utf-8", errors="replace"), mtime=0)).decode()
        if len(packed) <= _ANSWERS_BUDGET or kept == 0:
            return packed, kept
        kept = min(kept - 1, int(kept * 0.95 * _ANSWERS_BUDGET / len(packed)))


def _packed(row: AnswerRow) -> list[object]:
    took = "" if row.answer is None else seconds(row.cost.seconds) + (" (replayed)" if row.cost.replayed else "")
    score = None if row.score is None else round(row.score, 3)
    cost = f"LLM calls {row.cost.llm_calls}, tokens in {row.cost.tokens_in}, tokens out {row.cost.tokens_out}"
    return [
        row.answer,
        row.path,
        score,
        int(row.right),
        round(row.f1, 3),
        took,
        cost,
        row.explanation,
        row.sources,
    ]
