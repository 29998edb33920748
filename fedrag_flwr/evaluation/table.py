"""Tables of a run for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedrag_flwr.evaluation.measures import COST, NONE, QUALITY, Measure, best, points
from fedrag_flwr.evaluation.scoring import kind_sizes
from fedrag_flwr.evaluation.summary import Summary

if TYPE_CHECKING:
    from rich.table import Table

_CAPTION = "* best in its column"


def quality_table(summary: Summary) -> Table:
    """Make the table of answer quality and latency, systems as rows; the best value of a column is bold and starred."""
    return _systems_table("Answers", QUALITY, summary)


def cost_table(summary: Summary) -> Table:
    """Make the table of model calls, tokens, traffic and memory, systems as rows."""
    return _systems_table("Cost", COST, summary)


def kinds_table(summary: Summary) -> Table:
    """Make the table of ACC by kind of question, systems as rows, with the number of questions of each kind."""
    sizes = kind_sizes(summary.systems.values())
    accs = {
        name: [result.kinds[kind].acc if kind in result.kinds else None for kind in sizes]
        for name, result in summary.systems.items()
    }
    table = _table("ACC by kind", [kind if n is None else f"{kind} ({n})" for kind, n in sizes.items()])
    tops = [best(column, True) for column in zip(*accs.values(), strict=True)]
    for name, row in accs.items():
        table.add_row(_literal(name), *(_cell(points(acc), acc, top) for acc, top in zip(row, tops, strict=True)))
    return table


def _systems_table(title: str, measures: Sequence[Measure], summary: Summary) -> Table:
    shown = [
        (measure, [measure.value(result) for result in summary.systems.values()])
        for measure in measures
        if measure.heading != "Missing" or any(result.missing for result in summary.systems.values())
    ]
    table = _table(title, [measure.heading for measure, _ in shown])
    for row, name in enumerate(summary.systems):
        cells = (
            _cell(measure.show(values[row]), values[row], best(values, measure.higher_is_better))
            for measure, values in shown
        )
        table.add_row(_literal(name), *cells)
    return table


def _table(title: str, headings: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", caption=_CAPTION, caption_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("System", overflow="fold")
    for heading in headings:
        table.add_column(_literal(heading), justify="right")
    return table


def _cell(text: str, value: float | None, top: float | None) -> str:
    return f"[bold]{text}*[/bold]" if value is not None and value == top else f"{text} " if text != NONE else text


def _literal(text: str) -> str:
    from rich.markup import escape

    return escape(text)
