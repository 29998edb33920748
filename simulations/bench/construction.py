"""What systems did before their first question, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fedrag_flwr.records import BuildReport, Cost
from simulations.bench.rows import Row, Rows
from simulations.bench.world import World

_HEADS = ("dataset", "system", "seconds", "LLM calls", "tokens in", "tokens out", "made")


def construction_table(worlds: Sequence[World], rows: Rows, systems: Sequence[str]) -> str:
    """As Markdown, summed over devices.

    A local baseline's seconds leave out reading and encoding the documents, which FD-RAG's builds hold. A store that
    an earlier run built costs nothing again.
    """
    lines = [_HEADS, ("---",) * len(_HEADS)]
    for world in worlds:
        for system in systems:
            lines += [_line(row) for row in rows.of(world.name, system) if not row.question_id]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _line(row: Row) -> tuple[str, ...]:
    costs = [*(report.cost for report in row.builds), *(one.cost for one in row.constructions)]
    total = sum(costs, Cost())
    made: Counter[str] = Counter()
    for count in (text for one in row.constructions for text in one.counts):
        what, _, number = count.partition("=")
        made[what] += int(number)
    made.update(_of_build(row.builds))
    return (
        row.dataset,
        row.system,
        f"{total.seconds:.1f}",
        str(total.llm_calls),
        str(total.tokens_in),
        str(total.tokens_out),
        ", ".join(f"{number} {what}" for what, number in made.items()),
    )


def _of_build(builds: Sequence[BuildReport]) -> Counter[str]:
    counts = Counter(memories=sum(report.items for report in builds))
    return +counts
