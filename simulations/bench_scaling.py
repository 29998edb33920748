"""The same documents and questions on ever more devices: what answers, messages and the server's work become.

    python simulations/bench_scaling.py --data FOLDER [--devices 5,10,20,50] [--questions 40] [--out results/scaling]

FOLDER holds ``hotpotqa.jsonl.gz`` (default: $FEDRAG_DATA). The documents of the first dev questions are dealt to the
devices as `fedrag bench --setting federated` deals them, and all systems take turns question by question. Rows are kept
in ``--out``, a folder for each number of devices; a stopped run goes on there. ``--docs`` also writes the page's table,
rows and charts.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from fedrag_flwr.evaluation.bootstrap import mean_interval
from fedrag_flwr.evaluation.measures import size
from fedrag_flwr.evaluation.metrics import judge
from fedrag_flwr.settings import Plain
from fedrag_flwr.sources.benchmark import data_root
from simulations.bench.outcome import write_outcome
from simulations.bench.plan import BenchPlan
from simulations.bench.rows import Rows
from simulations.bench.run import run_plan
from simulations.bench.world import World
from simulations.reporting.line_chart import line_chart

FILE = "hotpotqa.jsonl.gz"
SYSTEMS = ("fedrag", "memory-fusion", "rag-route", "local-memory")
CHANGES: dict[str, Plain] = {
    "memory.delta": 0.8,
    "memory.tokens-per-kilotoken": 0,  # memories by rules: a device with few documents has no tokens to spend
    "inference.abstain-below": 0.0,
}


@dataclass(frozen=True, slots=True)
class Point:
    """One system on so many devices; what has no other unit is the mean of a question.

    Parameters
    ----------
    acc, low, high
        Share of questions that are right, each question counting once, with its 95 % bootstrap interval.
    seconds, server_seconds
        That devices spend, and that the server works, without waiting for devices.
    sharing_up, sharing_down, sharing_server_seconds
        Bytes and the server's seconds before the first question.
    """

    devices: int
    system: str
    questions: int
    acc: float
    low: float
    high: float
    abstained: float
    seconds: float
    llm_calls: float
    messages: float
    bytes_up: float
    bytes_down: float
    server_seconds: float
    sharing_up: int
    sharing_down: int
    sharing_server_seconds: float


def measure(data: Path, devices: int, questions: int, out: Path) -> list[Point]:
    """Ask all systems on so many devices what they were not asked yet."""
    plan = BenchPlan((data,), SYSTEMS, "federated", devices=devices, questions=questions, changes=CHANGES)
    worlds, rows = run_plan(plan, out, lambda line: print(f"{devices} devices: {line}", flush=True))
    write_outcome(plan, worlds, rows, out.resolve())
    return [point(devices, system, worlds[0], rows) for system in SYSTEMS]


def point(devices: int, system: str, world: World, rows: Rows) -> Point:
    """What a system's rows say together."""
    made = {row.question_id: row for row in rows.of(world.name, system)}
    before, asked = made.pop(""), [made[gold.question_id] for gold in world.gold]
    verdicts = [judge(gold, row.answer) for gold, row in zip(world.gold, asked, strict=True)]
    right = mean_interval([verdict.acc for verdict in verdicts], rng=np.random.default_rng(0))
    costs = [verdict.answer.cost for verdict in verdicts if verdict.answer is not None]
    return Point(
        devices=devices,
        system=system,
        questions=len(asked),
        acc=right.value,
        low=right.low,
        high=right.high,
        abstained=float(np.mean([verdict.abstained for verdict in verdicts])),
        seconds=float(np.mean([cost.seconds for cost in costs])),
        llm_calls=float(np.mean([cost.llm_calls for cost in costs])),
        messages=float(np.mean([row.traffic.messages for row in asked])),
        bytes_up=float(np.mean([row.traffic.bytes_up for row in asked])),
        bytes_down=float(np.mean([row.traffic.bytes_down for row in asked])),
        server_seconds=float(np.mean([row.server_seconds for row in asked])),
        sharing_up=before.traffic.bytes_up,
        sharing_down=before.traffic.bytes_down,
        sharing_server_seconds=before.server_seconds,
    )


def table(points: Sequence[Point]) -> str:
    """The points as Markdown, system by system."""
    heads = (
        *("system", "devices", "ACC", "ACC 95 %", "Abstained", "Seconds", "LLM calls", "Messages", "Up", "Down"),
        *("Server ms", "Shared up", "Shared down", "Server s before"),
    )
    lines = [heads, ("---",) * len(heads)]
    for one in sorted(points, key=lambda one: (SYSTEMS.index(one.system), one.devices)):
        lines.append(
            (
                *(one.system, str(one.devices), f"{100 * one.acc:.1f}", f"{100 * one.low:.0f} to {100 * one.high:.0f}"),
                *(f"{100 * one.abstained:.1f}", f"{one.seconds:.2f}", f"{one.llm_calls:.2f}", f"{one.messages:.1f}"),
                *(size(one.bytes_up), size(one.bytes_down), f"{1000 * one.server_seconds:.1f}"),
                *(size(one.sharing_up), size(one.sharing_down), f"{one.sharing_server_seconds:.1f}"),
            )
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def chart(points: Sequence[Point], measure: str, title: str) -> str:
    """A measure of each system over the number of devices."""
    devices = sorted({one.devices for one in points})
    lines = {
        system: [getattr(one, measure) for count in devices for one in points if _at(one, system, count)]
        for system in SYSTEMS
    }
    return line_chart(lines, "devices", title, devices)


def _at(one: Point, system: str, devices: int) -> bool:
    return (one.system, one.devices) == (system, devices)


def write_page(points: Sequence[Point], docs: Path) -> None:
    """Write rows and charts for the page."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [field.name for field in fields(Point)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(one) for one in points)
    (docs / "scaling.csv").write_text(file.getvalue(), encoding="utf-8")
    (docs / "scaling_acc.svg").write_text(chart(points, "acc", "share of questions right"), encoding="utf-8")
    (docs / "scaling_messages.svg").write_text(chart(points, "messages", "messages per question"), encoding="utf-8")


def main() -> None:
    """Measure what is not known yet, print the table, and write rows and charts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the dataset")
    parser.add_argument("--devices", default="5,10,20,50", help="numbers of devices, in the order of the runs")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("results/scaling"))
    parser.add_argument("--docs", type=Path, default=None, help="where rows and charts of the page are written")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("there is no data folder: give --data or set FEDRAG_DATA")
    points = []
    for devices in map(int, arguments.devices.split(",")):
        points += measure(arguments.data / FILE, devices, arguments.questions, arguments.out / f"{devices}-devices")
    if arguments.docs is not None:
        write_page(points, arguments.docs)
    print(table(points))


if __name__ == "__main__":
    main()
