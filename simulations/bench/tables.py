"""Tables as Markdown, lines as a chart, intervals as text, and what orders of passages are worth."""

from collections.abc import Collection, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from pandas import DataFrame

from fedrag_flwr.evaluation.bootstrap import Interval, paired_difference
from fedrag_flwr.retrieval.base import Ranking

Order = tuple[str, ...]
Floats = NDArray[np.float64]


def markdown(frame: DataFrame) -> str:
    """A frame as a Markdown table; whole numbers without a point, others as they were rounded."""
    cells = [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    lines = [list(map(str, frame.columns)), ["---"] * len(frame.columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


def line_chart(lines: DataFrame, x: str, y: str, path: Path) -> None:
    """Draw each column over the index, as SVG."""
    with mpl.rc_context({"svg.hashsalt": path.stem}):  # the same figures, the same file
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for name in lines.columns:
            axes.plot(lines.index, lines[name], marker="o", markersize=3, label=str(name))
        axes.set(xlabel=x, ylabel=y)
        axes.grid(alpha=0.3)
        if len(lines.columns) > 1:
            axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})


def with_interval(found: Interval, sign: str = "", times: float = 1.0, digits: int = 1) -> str:
    """An estimate with its interval, times 100 for per cent; `sign` "+" is for differences."""
    value, low, high = (f"{times * one:{sign}.{digits}f}" for one in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def difference(first: ArrayLike, second: ArrayLike, seed: int, times: float = 1.0) -> str:
    """How much higher the mean of the first is over the same questions, with its paired-bootstrap interval.

    `times` 100 tells shares in per cent; values that are scaled before would lose the wider bounds of zeros and ones.
    """
    return with_interval(paired_difference(first, second, rng=np.random.default_rng(seed)), "+", times)


def ids(ranking: Ranking) -> Order:
    """The passages of a ranking."""
    return tuple(found.passage_id for found in ranking)


def recalls(
    orders: Sequence[Order],
    supporting: Sequence[Collection[str]],
    cuts: Sequence[int],
    answering: Sequence[Collection[str]] = (),
) -> DataFrame:
    """Each question's measures in per cent, a row a question.

    R@k is the share of its supporting passages among the first k, all@k says that they all are. With `answering`,
    support@5 says that one of the first 5 holds the answer; it is not a number where no passage of the question does
    (yes and no, mostly).
    """
    found = DataFrame(index=range(len(orders)))
    for k in cuts:
        pairs = zip(orders, supporting, strict=True)
        found[f"R@{k}"] = [100.0 * len(set(gold) & set(order[:k])) / len(gold) for order, gold in pairs]
        found[f"all@{k}"] = 100.0 * (found[f"R@{k}"] == 100.0)
    if answering:
        pairs = zip(orders, answering, strict=True)
        found["support@5"] = [100.0 * bool(set(held) & set(order[:5])) if held else np.nan for order, held in pairs]
    return found


def gained(first: DataFrame, second: DataFrame, measure: str, seed: int) -> str:
    """The difference of two orders in a measure in per cent, over questions that have it."""
    known = first[measure].notna() & second[measure].notna()
    return difference(first[measure][known] / 100, second[measure][known] / 100, seed, times=100)
