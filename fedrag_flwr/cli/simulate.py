"""`fedrag simulate`: run the app in Flower's simulation engine, with progress, a table and an honest exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.status import Status

from fedrag_flwr.cli.console import JsonFlag, SetOption, changed, err, in_full, out, print_json, with_errors
from fedrag_flwr.cli.flower import COMPLETED, Flower, app_directory, superlink_pid
from fedrag_flwr.errors import FederationError
from fedrag_flwr.evaluation.results import read_summary
from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
from fedrag_flwr.progress import read_step
from fedrag_flwr.settings import Settings, fedrag_home


@with_errors
def simulate(
    changes: SetOption = None,
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
    settings = Settings.from_config(in_full(changed(changes)))
    home = fedrag_home(settings.home)
    place = results or Path(settings.results or "results").expanduser()
    if fresh:
        _forget(settings, home)
    flower = Flower(home)
    before = superlink_pid()
    config = {
        **{key: value for key, value in settings.flat().items() if value != Settings().flat()[key]},
        "home": str(home.resolve()),
        "results": str(place.resolve()),
    }
    try:
        with Status("starting Flower", console=err) as status:
            run_id, outcome = flower.run(
                app_directory(app), config, settings.federation.devices, lambda line: _follow(line, status, verbose)
            )
    finally:
        if not keep_superlink:
            flower.stop_superlink(before)
    if outcome != COMPLETED:
        raise FederationError(f"the run ended as {outcome}", where=run_id, fix="see the log above, or --verbose")
    summary = read_summary(place / run_id)
    if as_json:
        print_json(summary)
    else:
        for table in (quality_table(summary), kinds_table(summary), cost_table(summary)):
            out.print(table)
        out.print(f"results: {place / run_id}")


def _follow(line: str, status: Status, verbose: bool) -> None:
    step = read_step(line)
    if step is not None:
        status.update(f"{step.system}: {step.phase} {step.done}/{step.total}, {step.left} s left")
        if step.done:
            err.print(f"{step.system}: {step.phase} {step.done}/{step.total}, {step.left} s left", highlight=False)
    elif verbose or "WARNING" in line or "ERROR" in line or "Error" in line:
        err.print(line, highlight=False, markup=False)


def _forget(settings: Settings, home: Path) -> None:
    import shutil

    for place in ("devices", "bank", "fusion"):
        shutil.rmtree(home / place / settings.data_key, ignore_errors=True)
