"""Terminal tables: every system, the best marked, no markup taken from names; and how numbers read."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from fedrag_flwr.evaluation.measures import best, megabytes, number, points, seconds, signed_points, size
from fedrag_flwr.evaluation.summary import Summary, summarise
from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
from tests.evaluation.made_up_run import UPPER_BOUND, make_run, with_upper_bound


def shown(table: Table) -> str:
    console = Console(width=140, record=True, quiet=False, force_terminal=False, file=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


@pytest.fixture(scope="module")
def summary() -> Summary:
    run = make_run(60)
    return summarise(run.manifest, run.systems, run.answers, run.gold, run.builds, rng=np.random.default_rng(0))


@pytest.mark.parametrize("make", [quality_table, cost_table, kinds_table])
def test_all_systems_and_a_best(summary: Summary, make: Callable[[Summary], Table]) -> None:
    text = shown(make(summary))
    assert all(name in text for name in summary.systems)
    assert "*" in text


def test_the_best_accuracy_is_starred(summary: Summary) -> None:
    top = max(result.acc for result in summary.systems.values())
    lines = shown(quality_table(summary)).splitlines()
    assert f"{100 * top:.1f}*" in next(line for line in lines if "memory-fusion" in line)


@pytest.mark.parametrize("make", [quality_table, cost_table, kinds_table])
def test_an_upper_bound_is_marked_and_takes_no_star(make: Callable[[Summary], Table]) -> None:
    run = with_upper_bound(make_run(60))
    summary = summarise(run.manifest, run.systems, run.answers, run.gold, run.builds, rng=np.random.default_rng(0))
    [bound] = [line for line in shown(make(summary)).splitlines() if UPPER_BOUND in line]
    assert f"{UPPER_BOUND} (upper bound)" in bound
    assert "*" not in bound
    alone = {name: result for name, result in summary.systems.items() if name != UPPER_BOUND}
    without = shown(make(replace(summary, systems=alone)))
    assert shown(make(summary)).count("*") == without.count("*")


def test_missing_is_shown_only_where_something_is(summary: Summary) -> None:
    assert "Missing" in shown(quality_table(summary))
    whole = {name: replace(result, missing=0.0) for name, result in summary.systems.items()}
    assert "Missing" not in shown(quality_table(replace(summary, systems=whole)))


def test_a_kinds_size_is_told(summary: Summary) -> None:
    result = next(iter(summary.systems.values()))
    kind, group = next(iter(result.kinds.items()))
    assert f"{kind} ({group.n})" in shown(kinds_table(summary))


def test_names_are_no_markup(summary: Summary) -> None:
    odd = replace(summary, systems={"[bold]x[/bold]": summary.systems["no-rag"], "[/]": summary.systems["local-rag"]})
    for make in (quality_table, cost_table, kinds_table):
        assert "[bold]x[/bold]" in shown(make(odd))


def test_a_single_system_has_no_best(summary: Summary) -> None:
    alone = replace(summary, systems={"no-rag": summary.systems["no-rag"]})
    body = [line for line in shown(cost_table(alone)).splitlines() if "no-rag" in line]
    assert "*" not in body[0]


@pytest.mark.parametrize(
    ("show", "value", "text"),
    [
        (points, 0.525, "52.5"),
        (points, None, "–"),
        (signed_points, -0.158, "−15.8"),
        (signed_points, 0.02, "+2.0"),
        (number, 0.375, "0.38"),
        (number, 5.0, "5"),
        (number, 1234.6, "1,235"),
        (seconds, 0.00042, "0.42 ms"),
        (seconds, 0.021, "21.0 ms"),
        (seconds, 0.9996, "1.00 s"),
        (seconds, 41.0, "41.0 s"),
        (seconds, 312.5, "5.21 min"),
        (seconds, 9000.0, "2.50 h"),
        (seconds, None, "–"),
        (size, 0, "0 B"),
        (size, 999, "999 B"),
        (size, 1_630_000, "1.63 MB"),
        (size, 2.5e12, "2.50 TB"),
        (megabytes, 1058.0, "1.06 GB"),
        (megabytes, 0.0, "–"),
    ],
)
def test_how_numbers_read(show: Callable[[float | None], str], value: float | None, text: str) -> None:
    assert show(value) == text


@pytest.mark.parametrize(
    ("values", "higher", "expected"),
    [
        ([1, 2, None], True, 2),
        ([1, 2, None], False, 1),
        ([1, 2], None, None),
        ([1, 1], True, None),
        ([None], True, None),
    ],
)
def test_best(values: list[float | None], higher: bool | None, expected: float | None) -> None:
    assert best(values, higher) == expected
