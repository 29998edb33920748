"""From rows to results: summary.json, answers.jsonl, report.html, table.csv, table.md and construction.md."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.manifest import Manifest, collect_manifest
from fedrag_flwr.evaluation.measures import COST, QUALITY, Measure, label
from fedrag_flwr.evaluation.metrics import judge_all
from fedrag_flwr.evaluation.results import read_summary, write_results, writing
from fedrag_flwr.evaluation.scoring import SystemResult, score_system
from fedrag_flwr.evaluation.summary import Summary
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer, BuildReport
from simulations.bench.construction import READING, construction_table
from simulations.bench.plan import BenchPlan
from simulations.bench.rows import Row, Rows
from simulations.bench.run import this_session
from simulations.bench.systems import changes_of
from simulations.bench.world import World

# all systems live in one process, so that its memory is no system's own: `bench_device_memory.py` measures that
MEASURES = tuple(measure for measure in (*QUALITY, *COST) if measure.heading != "Peak memory")
CSV = "table.csv"
MEMORIZER, COGNIZER, ORACLE = "fd-rag-memorizer", "fd-rag-cognizer", "oracle-router"


@dataclass(frozen=True, slots=True)
class Gathered:
    """One dataset's answers by system, with the costs before the first question."""

    gold: tuple[GoldQuestion, ...]
    answers: dict[str, list[Answer]]
    traffic: dict[str, Traffic]
    builds: dict[str, list[BuildReport]]


def write_outcome(plan: BenchPlan, worlds: Sequence[World], rows: Rows, out: Path) -> Summary:
    """Write the results of each dataset, and of all together, and give the latter's summary.

    With one dataset its results are the folder's. With several each has a folder of its name, and ``summary.json`` in
    the folder itself is over all questions, each dataset's devices apart.

    Raises
    ------
    StoreFullError, StoreError
        The disk is full, or something cannot be written; all rows are kept.
    """
    gathered = {world.name: gather(world, rows, plan.systems) for world in worlds}
    manifest = _manifest(plan, worlds, rows)
    for name, one in gathered.items():
        if len(gathered) > 1:
            _write(out, name, manifest, one)
    _write(out.parent, out.name, manifest, _together(gathered) if len(gathered) > 1 else gathered[worlds[0].name])
    summary = read_summary(out)
    made = [row for world in worlds for name in (READING, *plan.systems) for row in rows.of(world.name, name)]
    with writing(out.name):
        (out / "table.md").write_text(markdown(summary), encoding="utf-8")
        (out / "construction.md").write_text(construction_table(made), encoding="utf-8")
        (out / CSV).write_text(table_csv(summary), encoding="utf-8")
    return summary


def gather(world: World, rows: Rows, systems: Iterable[str]) -> Gathered:
    """One dataset's answers; with both paths of FD-RAG alone, the oracle that picks the better is added."""
    answers: dict[str, list[Answer]] = {}
    traffic: dict[str, Traffic] = {}
    builds: dict[str, list[BuildReport]] = {}
    for system in systems:
        made = rows.of(world.name, system)
        answers[system] = [row.answer for row in made if row.answer is not None]
        traffic[system] = sum((row.traffic for row in made), Traffic())
        builds[system] = _first_builds(made)
    if MEMORIZER in answers and COGNIZER in answers:
        answers[ORACLE] = oracle(world.gold, answers[MEMORIZER], answers[COGNIZER])
        traffic[ORACLE], builds[ORACLE] = Traffic(), []
    return Gathered(world.gold, answers, traffic, builds)


def oracle(gold: Sequence[GoldQuestion], memory: Sequence[Answer], model: Sequence[Answer]) -> list[Answer]:
    """A router that knows the gold answers: memory where it is right, else the model (FD-RAG table 2, upper bound)."""
    pairs = zip(judge_all(gold, memory), judge_all(gold, model), strict=True)
    chosen = (fast if fast.right and not fast.abstained else slow for fast, slow in pairs)
    return [verdict.answer for verdict in chosen if verdict.answer is not None]


def markdown(summary: Summary) -> str:
    """The table of all systems as Markdown."""
    heads, lines = _cells(summary)
    rows = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def table_csv(summary: Summary) -> str:
    """All measures of all systems as plain numbers."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["system", "questions", *(measure.heading for measure in MEASURES)])
    for name, result in summary.systems.items():
        writer.writerow([name, result.n, *(measure.value(result) for measure in MEASURES)])
    return file.getvalue()


def _cells(summary: Summary) -> tuple[list[str], list[list[str]]]:
    bounded = [measure for measure in MEASURES if any(measure.heading in r.intervals for r in summary.systems.values())]
    heads = ["system", *(measure.heading for measure in MEASURES)]
    heads += [*(f"{measure.heading} 95 %" for measure in bounded), "Memorizer %"]
    lines = []
    for name, result in summary.systems.items():
        lines.append(
            [
                label(name, result),
                *(measure.show(measure.value(result)) for measure in MEASURES),
                *(_interval(result, measure) for measure in bounded),
                f"{100 * result.paths.get('memorizer', 0.0):.1f}",
            ]
        )
    return heads, lines


def _interval(result: SystemResult, measure: Measure) -> str:
    found = result.intervals.get(measure.heading)
    return f"{measure.show(found.low)} to {measure.show(found.high)}" if found else ""


def _write(root: Path, name: str, manifest: Manifest, gathered: Gathered) -> None:
    systems: dict[str, SystemResult] = {
        system: replace(score_system(gathered.gold, given, gathered.traffic[system]), upper_bound=system == ORACLE)
        for system, given in gathered.answers.items()
    }
    builds = next((made for made in gathered.builds.values() if any(one.corpus_tokens for one in made)), [])
    write_results(root, name, manifest, systems, gathered.answers, gathered.gold, builds, with_evidence=True)


def _together(gathered: Mapping[str, Gathered]) -> Gathered:
    """All datasets as one, with the dataset's name before device and question, so that nothing meets by chance."""
    gold: list[GoldQuestion] = []
    answers: dict[str, list[Answer]] = {}
    traffic: dict[str, Traffic] = {}
    builds: dict[str, list[BuildReport]] = {}
    for name, one in gathered.items():
        gold += [replace(q, question_id=f"{name}/{q.question_id}", home=f"{name}/{q.home}") for q in one.gold]
        for system, given in one.answers.items():
            named = [replace(answer, question_id=f"{name}/{answer.question_id}") for answer in given]
            answers.setdefault(system, []).extend(named)
            lost = {f"{name}/{device}": reason for device, reason in one.traffic[system].missing.items()}
            traffic[system] = traffic.get(system, Traffic()) + replace(one.traffic[system], missing=lost)
            reports = [replace(report, device=f"{name}/{report.device}") for report in one.builds[system]]
            builds.setdefault(system, []).extend(reports)
    return Gathered(tuple(gold), answers, traffic, builds)


def _first_builds(rows: Iterable[Row]) -> list[BuildReport]:
    return [report for row in rows if not row.question_id for report in row.builds]


def _manifest(plan: BenchPlan, worlds: Sequence[World], rows: Rows) -> Manifest:
    """How the rows were made: where a run was resumed its seconds are added up, and what differed is named."""
    told = {
        **plan.told(),
        "questions": {world.name: len(world.gold) for world in worlds},
        "at-home": {
            world.name: sum(one.question_id in world.partition.local for one in world.gold) for world in worlds
        },
        "peak-rss-mb": round(rows.peak_rss_mb(plan.systems)),
        **_asked_apart(plan.systems, rows),
        "own-settings": {name: own for name in plan.systems if (own := changes_of(name))},
    }
    settings = {**plan.base().flat(), **{f"bench.{key}": value for key, value in told.items()}}
    sessions = rows.sessions(plan.systems)
    began = datetime.fromtimestamp(min(one.began for one in sessions), UTC) if sessions else None
    found = collect_manifest(
        settings,
        seed=plan.seed,
        models={},
        started=began,
        seconds=sum(sessions.values()),
        load=rows.load(plan.systems),
    )
    made = list(sessions) or [this_session(worlds[0].models, plan.seed)]
    return replace(
        found,
        versions=_written(_joined([{**dict(one.versions), "code": one.code} for one in made])),
        models=_written(_joined([{**dict(one.models), "generator": one.generator} for one in made])),
        machine={**_joined([dict(one.machine) for one in made]), "load": found.machine["load"]},
    )


def _asked_apart(systems: Sequence[str], rows: Rows) -> dict[str, dict[str, str]]:
    """When the processes began that asked each system, where not all were asked by the same ones: seconds differ."""
    began = {
        name: ", ".join(f"{datetime.fromtimestamp(one.began, UTC):%Y-%m-%d %H:%M}" for one in rows.sessions([name]))
        for name in systems
    }
    return {"sessions": began} if len(set(began.values())) > 1 else {}


def _written(told: Mapping[str, str | int | float]) -> dict[str, str]:
    return {name: str(value) for name, value in told.items()}


def _joined(told: Sequence[Mapping[str, str | int | float]]) -> dict[str, str | int | float]:
    """What processes ran with; where they differ, each one's."""
    found: dict[str, str | int | float] = {}
    for name in dict.fromkeys(name for one in told for name in one):
        values = list(dict.fromkeys(one.get(name, "not told") for one in told))
        found[name] = values[0] if len(values) == 1 else "; ".join(map(str, values))
    return found
