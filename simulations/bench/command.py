"""`fedrag bench`: one table for all systems; `fedrag report`: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fedrag_flwr.cli.console import JsonFlag, SetOption, changed, err, out, print_json, settings_from, with_errors

if TYPE_CHECKING:
    from simulations.bench.plan import Setting, Split


LEVELS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)  # of confidence, whose cost the table of answers shows

bench = typer.Typer(help="Compare systems over the same questions, documents, models and prompts.")


@bench.callback(invoke_without_command=True)
@with_errors
def compare(
    context: typer.Context,
    systems: Annotated[str, typer.Option(help="Names separated by commas; `list` names all.")] = "",
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
    if context.invoked_subcommand is not None:
        return
    from fedrag_flwr.errors import SettingError
    from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
    from simulations.bench.outcome import write_outcome
    from simulations.bench.plan import BenchPlan
    from simulations.bench.run import run_plan
    from simulations.bench.systems import chosen_systems, system_names

    if not systems:
        raise SettingError("name the systems", where="--systems", fix="`--systems list` names all")
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


@bench.command("answers")
@with_errors
def answers(
    sets: Annotated[
        str,
        typer.Option(help="Names separated by commas; the seven without it. `list` names all."),
    ] = "",
    systems: Annotated[str, typer.Option(help="Names separated by commas; `list` names all.")] = "plain,engine",
    data: Annotated[Path | None, typer.Option(help="The folder of evaluation data; else $FEDRAG_DATA.")] = None,
    split: Annotated[str, typer.Option(help="test to report, train to fit.")] = "test",
    results: Annotated[Path, typer.Option("--out", help="Rows; a stopped run goes on there.")] = Path(
        "results/answers"
    ),
    changes: SetOption = None,
) -> None:
    """Ask the questions of the floor's sets, each set on one device with all of its documents.

    Systems take turns question by question. Prints right, wrong and declined answers, what they cost, and the paired
    difference to `plain`; `rows.jsonl` has a row of each question.
    """
    from fedrag_flwr.errors import SettingError, SourceError
    from fedrag_flwr.sources.benchmark import data_root
    from simulations.answers import tables as t
    from simulations.answers.bench import SYSTEMS, known_sets, run_sets
    from simulations.answers.sets import SETS

    if "list" in (sets, systems):
        out.print("\n".join(SYSTEMS if systems == "list" else known_sets()))
        return
    asked, chosen = _named(sets or ",".join(SETS), known_sets()), _named(systems, tuple(SYSTEMS))
    if split not in ("train", "test"):
        raise SettingError("is no split", where=split, fix="train or test")
    folder = data or data_root()
    if folder is None:
        raise SourceError("there is no data", where="--data", fix="name the data folder, or set FEDRAG_DATA")
    settings = settings_from([*(changes or []), "models.generation-cache=false"])
    rows = run_sets(asked, chosen, folder, split, settings, results, lambda line: err.print(line, highlight=False))
    rows = [row for row in rows if row.set in asked and row.system in chosen]
    tables = [t.answer_table(rows), t.kind_table(rows), t.ranking_table(rows)]
    for system in chosen:
        own = [row for row in rows if row.system == system]
        if system != t.FLOOR:
            tables.append(f"{system}: calibration error {t.calibration_error(own):.3f}\n\n{t.reliability_table(own)}")
            (results / f"reliability_{system}.svg").write_text(t.reliability_chart(own), encoding="utf-8")
        if system == "answer-always":
            tables.append(t.level_table(own, LEVELS))
    (results / "table.md").write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    out.print("\n\n".join(tables), highlight=False, markup=False, soft_wrap=True)


def _named(told: str, known: tuple[str, ...]) -> tuple[str, ...]:
    from fedrag_flwr.errors import SettingError

    names = tuple(dict.fromkeys(name for name in map(str.strip, told.split(",")) if name))
    for name in names:
        if name not in known:
            raise SettingError("is not known", where=name, fix=f"known: {', '.join(known)}")
    return names


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
