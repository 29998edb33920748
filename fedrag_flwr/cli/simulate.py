"""`fedrag simulate`: run the app in Flower's simulation engine, with progress, a table and an honest exit status."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.status import Status

from fedrag_flwr.cli.console import JsonFlag, SetOption, changed, err, in_full, out, print_json, with_errors
from fedrag_flwr.cli.flower import COMPLETED, Flower, app_directory
from fedrag_flwr.errors import FederationError, SourceError
from fedrag_flwr.evaluation.results import read_summary
from fedrag_flwr.evaluation.table import cost_table, devices_table, kinds_table, quality_table
from fedrag_flwr.progress import read_step
from fedrag_flwr.settings import Settings, fedrag_home


@with_errors
def simulate(
    changes: SetOption = None,
    documents: Annotated[
        Path | None, typer.Option(help="A folder with one folder of documents for each device; else the demo's.")
    ] = None,
    app: Annotated[Path | None, typer.Option(help="The Flower app's directory.")] = None,
    results: Annotated[
        Path | None, typer.Option(help="Where to write results; else the setting of this name, or ./results.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the simulated devices' stores first.")] = False,
    keep_superlink: Annotated[
        bool, typer.Option(help="Leave the local SuperLink running that Flower starts; the next run starts faster.")
    ] = False,
    as_json: JsonFlag = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the whole log.")] = False,
) -> None:
    """Run the systems on simulated devices and show the results.

    Exits with status 1 when the run failed.
    """
    told = changed(changes)
    if documents is not None:
        told["data.root"] = str(documents.expanduser())
    settings = Settings.from_config(in_full(told))
    if settings.data.root != "demo" and not Path(settings.data.root).expanduser().is_dir():
        raise SourceError(
            "there is no such folder",
            where=settings.data.root,
            fix="--documents FOLDER, with one folder for each device",
        )
    if app is None:  # another app may have strategies of its own
        from server_app.run import check_run

        check_run(settings)
    home = fedrag_home(settings.home)
    place = results or Path(settings.results or "results").expanduser()
    if fresh:
        _forget(settings, home)
    flower = Flower(home)
    config = {
        **{key: value for key, value in settings.flat().items() if value != Settings().flat()[key]},
        "home": str(home.resolve()),
        "results": str(place.resolve()),
    }
    with flower.own_superlink(keep=keep_superlink), Status("starting Flower", console=err) as status:
        run_id, outcome = flower.run(
            app_directory(app), config, settings.federation.devices, lambda line: _follow(line, status, verbose)
        )
    if outcome != COMPLETED:
        raise FederationError(f"the run ended as {outcome}", where=run_id, fix="see the log above, or --verbose")
    summary = read_summary(place / run_id)
    if as_json:
        print_json(summary)
    else:
        for table in (quality_table(summary), kinds_table(summary), cost_table(summary), devices_table(summary)):
            out.print(table)
        out.print(f"results: {place / run_id}")


def _follow(line: str, status: Status, verbose: bool) -> None:
    step = read_step(line)
    if step is not None:
        told = f"{step.system}: {step.phase} {step.done}/{step.total}, {step.left} s left"
        status.update(told)
        if step.done:
            err.print(told, highlight=False)
    elif verbose or "WARNING" in line or "ERROR" in line or "Error" in line:
        err.print(line, highlight=False, markup=False)


def _forget(settings: Settings, home: Path) -> None:
    for place in ("devices", "shared-memory", "fusion"):
        shutil.rmtree(home / place / settings.data_key, ignore_errors=True)
