"""What systems did before their first question, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fedrag_flwr.evaluation.measures import size
from fedrag_flwr.records import BuildReport, Cost
from simulations.bench.rows import Row

READING = "reading the documents"  # stands as a system's name, and is no system's
_HEADS = ("dataset", "system", "seconds", "LLM calls", "tokens in", "tokens out", "messages", "up", "down", "made")


def construction_table(rows: Iterable[Row]) -> str:
    """What rows tell of preparations, as Markdown and summed over devices.

    Where a local baseline is asked, the documents are read and encoded before any system prepares itself: that has a
    row of its own and is charged to none. Without one, it is in the build of the first system that needs them; a
    system with a store of its own reads them itself. A store that an earlier run or system built costs nothing again,
    and what devices and server told each other for an earlier one is not sent again: of systems that exchange the
    same, the first has the bytes.
    """
    lines = [_HEADS, ("---",) * len(_HEADS), *(_line(row) for row in rows if not row.question_id)]
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
        str(row.traffic.messages),
        size(row.traffic.bytes_up),
        size(row.traffic.bytes_down),
        ", ".join(f"{number} {what}" for what, number in made.items()),
    )


def _of_build(builds: Sequence[BuildReport]) -> Counter[str]:
    counts = Counter(memories=sum(report.items for report in builds if report.corpus_tokens))  # else they were there
    return +counts
