"""Tables of a run for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.evaluation.measures import COST, NONE, QUALITY, Measure, comparable, label, leaders, points
from fedrag_flwr.evaluation.scoring import SystemResult, kind_sizes
from fedrag_flwr.evaluation.summary import Summary

if TYPE_CHECKING:
    from rich.table import Table

_BEST = "* best in its column"
_NO_BEST = "no best is marked: not all systems were asked the same questions"


def quality_table(summary: Summary) -> Table:
    """Make the table of answer quality and latency, systems as rows; the best value of a column is bold and starred."""
    return _systems_table("Answers", QUALITY, summary)


def cost_table(summary: Summary) -> Table:
    """Make the table of model calls, tokens, traffic and memory, systems as rows."""
    return _systems_table("Cost", COST, summary)


def kinds_table(summary: Summary) -> Table:
    """Make the table of ACC by kind of question, systems as rows, with the number of questions of each kind."""
    sizes = kind_sizes(summary.systems.values())
    headings = [kind if n is None else f"{kind} ({n})" for kind, n in sizes.items()]
    columns = [
        _Column(
            heading, points, [r.kinds[kind].acc if kind in r.kinds else None for r in summary.systems.values()], True
        )
        for heading, kind in zip(headings, sizes, strict=True)
    ]
    return _table("ACC by kind", columns, summary.systems)


def _systems_table(title: str, measures: Sequence[Measure], summary: Summary) -> Table:
    columns = [
        _Column(one.heading, one.show, [one.value(r) for r in summary.systems.values()], one.higher_is_better)
        for one in measures
        if one.heading != "Missing" or any(result.missing for result in summary.systems.values())
    ]
    return _table(title, columns, summary.systems)


@dataclass(frozen=True, slots=True)
class _Column:
    """A heading, and one value of each system."""

    heading: str
    show: Callable[[float | None], str]
    values: Sequence[float | None]
    higher_is_better: bool | None


def _table(title: str, columns: Sequence[_Column], systems: Mapping[str, SystemResult]) -> Table:
    from rich import box
    from rich.table import Table

    caption = _BEST if comparable(systems) else _NO_BEST
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("System", overflow="fold")
    for column in columns:
        table.add_column(_literal(column.heading), justify="right")
    starred = [leaders(systems, column.values, column.higher_is_better) for column in columns]
    for row, (name, result) in enumerate(systems.items()):
        cells = (
            _cell(column.show(column.values[row]), name in best) for column, best in zip(columns, starred, strict=True)
        )
        table.add_row(_literal(label(name, result)), *cells)
    return table


def _cell(text: str, best: bool) -> str:
    return f"[bold]{text}*[/bold]" if best else f"{text} " if text != NONE else text


def _literal(text: str) -> str:
    from rich.markup import escape

    return escape(text)
