"""Which strategy answers best over several devices, and at what cost?

All systems answer the same questions over the same devices, in turn. `--systems` names them, `--sets` the multi-hop
files of the data folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from fedrag_flwr.cli.console import out
from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
from fedrag_flwr.sources.hub import PREFIX
from simulations.bench.frame import Bench
from simulations.bench.outcome import write_outcome
from simulations.bench.plan import BenchPlan, Setting, Split
from simulations.bench.run import run_plan
from simulations.bench.systems import chosen_systems, system_names


def run(
    bench: Bench,
    systems: Annotated[str, typer.Option(help="Names separated by commas; `list` names all.")] = "plain,fedrag",
    sets: Annotated[str, typer.Option(help="Files of the data folder without their ending, or hub:NAME:CONFIG.")] = (
        "hotpotqa"
    ),
    setting: Annotated[str, typer.Option(help="local, federated or pool.")] = "local",
    devices: Annotated[int, typer.Option(help="Number of devices.")] = 5,
    questions: Annotated[int, typer.Option(help="Questions of each set.")] = 40,
    seed: Annotated[int, typer.Option(help="Fixes the dealing of documents.")] = 7,
    split: Annotated[str, typer.Option(help="dev to report, train to choose settings.")] = "dev",
) -> None:
    """Ask all systems the same questions over the same devices, and write tables and a report."""
    if systems == "list":
        out.print("\n".join(system_names()))
        return
    plan = BenchPlan(
        data=tuple(_file(bench, name.strip()) for name in sets.split(",")),
        systems=chosen_systems(systems),
        setting=cast("Setting", setting),
        devices=devices,
        questions=bench.sized(questions, 2),
        seed=seed,
        changes=bench.changes,
        split=cast("Split", split),
    )
    worlds, rows = run_plan(plan, bench.out, bench.tell)
    summary = write_outcome(plan, worlds, rows, bench.out)
    for table in (quality_table(summary), kinds_table(summary), cost_table(summary)):
        out.print(table)


def _file(bench: Bench, name: str) -> Path:
    return Path(name) if name.startswith(PREFIX) or Path(name).is_file() else bench.data() / f"{name}.jsonl.gz"
