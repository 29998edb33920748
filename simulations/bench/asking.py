"""Asking a strategy what was not asked yet, so many questions at a time."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Question
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import KeptRows, Row
from strategies import FederatedRag, ServerTools


def ask_waiting(
    bench: Bench,
    system: str,
    strategy: FederatedRag,
    tools: ServerTools,
    grid: LocalGrid,
    kept: KeptRows,
    waiting: Sequence[Question],
    at_once: int,
    rows_of: Callable[[Sequence[Question]], Iterable[Row]],
) -> Traffic:
    """Prepare a strategy, ask it in batches, keep the rows of each that was answered, and close it with its tools."""
    with closing(tools), closing(strategy):
        strategy.prepare(grid, str(grid.run.run_id))
        for start in range(0, len(waiting), at_once):
            batch = waiting[start : start + at_once]
            strategy.ask(batch)
            for question, row in zip(batch, rows_of(batch), strict=True):
                kept.keep(question.id, row)
            bench.tell(f"{system}: {start + len(batch)} of {len(waiting)}")
        return strategy.outcome().traffic
