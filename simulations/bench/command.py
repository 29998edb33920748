"""`fedrag bench`: one table for all systems; `fedrag report`: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fedrag_flwr.cli.console import JsonFlag, SetOption, changed, err, out, print_json, settings_from, with_errors

if TYPE_CHECKING:
    from simulations.bench.plan import Setting, Split


@with_errors
def bench(
    systems: Annotated[str, typer.Option(help="Names separated by commas; `list` names all.")],
    data: Annotated[list[Path] | None, typer.Option(help="A multi-hop file, or hub:NAME:CONFIG; repeatable.")] = None,
    setting: Annotated[str, typer.Option(help="local, federated or pool.")] = "local",
    devices: Annotated[int, typer.Option(help="Number of devices.")] = 5,
    questions: Annotated[int, typer.Option(help="Questions of each dataset.")] = 40,
    seed: Annotated[int, typer.Option(help="Fixes the dealing of documents.")] = 7,
    results: Annotated[Path, typer.Option("--out", help="Results; a stopped run goes on there.")] = Path("bench"),
    split: Annotated[str, typer.Option(help="dev to report, train to choose settings.")] = "dev",
    changes: SetOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask all systems the same questions over the same devices, and write tables and a report.

    Systems take turns question by question. Stopped at any time, the same command goes on where it stopped.
    """
    # every `fedrag` command reads this file: what needs Flower and the models waits until it is asked for
    from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
    from simulations.bench.outcome import write_outcome
    from simulations.bench.plan import BenchPlan
    from simulations.bench.run import run_plan
    from simulations.bench.systems import chosen_systems, system_names

    if systems == "list":
        out.print("\n".join(system_names()))
        return
    settings_from(changes)  # refuses what is wrong
    plan = BenchPlan(
        data=tuple(path.expanduser() for path in data or ()),
        systems=chosen_systems(systems),
        setting=cast("Setting", setting),
        devices=devices,
        questions=questions,
        seed=seed,
        changes=changed(changes),
        split=cast("Split", split),
    )
    worlds, rows = run_plan(plan, results, lambda line: err.print(line, highlight=False, markup=False))
    summary = write_outcome(plan, worlds, rows, results.resolve())
    if as_json:
        print_json(summary)
        return
    for table in (quality_table(summary), kinds_table(summary), cost_table(summary)):
        out.print(table)
    out.print(f"results: {results}")


@with_errors
def report(
    runs: Annotated[list[Path], typer.Argument(help="Results folders of `fedrag bench` or `fedrag simulate`.")],
    html: Annotated[Path | None, typer.Option(help="Also write one page over all of them.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare runs: their systems side by side, and paired where the questions are the same."""
    from fedrag_flwr.evaluation.report import render_report
    from fedrag_flwr.evaluation.results import write_page
    from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
    from simulations.bench.comparing import compared, run_names

    summary, rows = compared(runs)
    if html is not None:
        write_page(html, render_report(summary, rows, title=", ".join(run_names(runs))))
    if as_json:
        print_json(summary)
        return
    for table in (quality_table(summary), kinds_table(summary), cost_table(summary)):
        out.print(table)
