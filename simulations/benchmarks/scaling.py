"""What grows with the number of devices: right answers, messages, bytes, the server's work?

The same HotpotQA documents and questions, dealt to ever more devices. Each number of devices has a folder with its
rows; a stopped run goes on there.
"""

from __future__ import annotations

from typing import Annotated

import typer
from pandas import DataFrame

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.measures import size
from simulations.bench.frame import Bench
from simulations.bench.outcome import accuracy_of, groups
from simulations.bench.plan import BenchPlan, named
from simulations.bench.systems import SYSTEMS, refuse_clashes
from simulations.benchmarks.federation import file_of, run_plans

SET = "hotpotqa"


def run(
    bench: Bench,
    devices: Annotated[str, typer.Option(help="Numbers of devices, separated by commas.")] = "5,10,20,50",
    systems: Annotated[str, typer.Option(help="Names separated by commas.")] = "fedrag,rag-route",
    questions: Annotated[int, typer.Option(help="Questions.")] = 20,
) -> None:
    """Ask the same questions over more and more devices; print and draw what becomes of answers and traffic."""
    if not all(one.strip().isdecimal() for one in devices.split(",")):
        raise SettingError(f"'{devices}' are no numbers", where="--devices", fix="separate numbers by commas")
    counts = [int(one) for one in bench.sized(devices, "1,2").split(",")]
    names = named(bench.sized(systems, "rag-route"), SYSTEMS)
    file = file_of(bench, SET)
    plans = [
        BenchPlan(file, names, "federated", count, bench.sized(questions, 2), changes=bench.changes) for count in counts
    ]
    refuse_clashes(names, plans[0].base(), bench.changes)
    answers, prepared = run_plans(bench, plans)
    points = points_of(answers, prepared)
    bench.table("scaling", points, "By devices; what has no other unit is the mean of a question")
    bench.chart("right", points.pivot(index="devices", columns="system", values="ACC"), "devices", "ACC, per cent")
    messages = points.pivot(index="devices", columns="system", values="messages")
    bench.chart("messages", messages, "devices", "messages a question")


def points_of(answers: DataFrame, prepared: DataFrame) -> DataFrame:
    """A line for each system and number of devices."""
    points = []
    for (system, count), own in groups(answers, "system", "devices"):
        right = accuracy_of(own.assign(home=""))  # each question counts once, however few its device has
        shared = prepared[(prepared["system"] == system) & (prepared["devices"] == int(count))]
        if shared.empty:  # an oracle prepares nothing
            continue
        points.append(
            {
                "system": system,
                "devices": int(count),
                "questions": len(own),
                "ACC": round(right.value, 1),
                "ACC 95 %": f"{right.low:.0f} to {right.high:.0f}",
                "seconds": round(own["seconds"].mean(), 2),
                "messages": round(own["messages"].mean(), 1),
                "sent": size(own["bytes"].mean()),
                "server ms": round(1000 * own["server s"].mean(), 1),
                **{f"{way} before": size(shared[f"bytes {way}"].sum()) for way in ("up", "down")},
                "server s before": shared["server s"].sum(),
            }
        )
    return DataFrame(points).sort_values(["system", "devices"], kind="stable")
