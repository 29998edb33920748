"""How often is an answer right, and what does it cost, beside plainly asking the same model?

The questions of the floor's sets, each set on one device with all of its documents. Systems take turns question by
question; `rows.jsonl` has a row of each.
"""

from __future__ import annotations

from typing import Annotated

import typer

from fedrag_flwr.cli.console import out
from fedrag_flwr.errors import SettingError
from fedrag_flwr.settings import Settings
from simulations.answers import tables as t
from simulations.answers.bench import SYSTEMS, known_sets, run_sets
from simulations.answers.sets import SETS
from simulations.bench.frame import Bench
from simulations.bench.plan import named

LEVELS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)  # of confidence, whose cost a table shows
QUICK = 3  # questions of a quick run


def run(
    bench: Bench,
    sets: Annotated[str, typer.Option(help="Names separated by commas; the seven without it. `list` names all.")] = "",
    systems: Annotated[str, typer.Option(help="Names separated by commas; `list` names all.")] = "plain,engine",
    split: Annotated[str, typer.Option(help="test to report, train to fit.")] = "test",
) -> None:
    """Ask the sets' questions; print right, wrong and declined answers, their cost, and the difference to `plain`."""
    if "list" in (sets, systems):
        out.print("\n".join(SYSTEMS if systems == "list" else known_sets()))
        return
    asked = named(sets or bench.sized(",".join(SETS), "guides"), known_sets(), "set")
    chosen = named(systems, tuple(SYSTEMS))
    if split not in ("train", "test"):
        raise SettingError("is no split", where=split, fix="train or test")
    settings = Settings.from_config({**bench.settings.flat(), "models.generation-cache": False})
    most = bench.sized(None, QUICK)
    rows = run_sets(asked, chosen, bench.data(), split, settings, bench.out, bench.tell, most=most)
    rows = [row for row in rows if row.set in asked and row.system in chosen]
    tables = [t.answer_table(rows), t.kind_table(rows), t.ranking_table(rows)]
    for system in chosen:
        own = [row for row in rows if row.system == system]
        if system != t.FLOOR:
            tables.append(f"{system}: calibration error {t.calibration_error(own):.3f}\n\n{t.reliability_table(own)}")
            (bench.out / f"reliability_{system}.svg").write_text(t.reliability_chart(own), encoding="utf-8")
        if system == "answer-always":
            tables.append(t.level_table(own, LEVELS))
    (bench.out / "table.md").write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    out.print("\n\n".join(tables), highlight=False, markup=False, soft_wrap=True)
