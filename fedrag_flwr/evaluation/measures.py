"""The measures of a system that tables and reports show: how each reads, and which value is the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fedrag_flwr.evaluation.scoring import SystemResult

NONE = "–"
MINUS = "−"


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure; `higher_is_better` is None where neither more nor less is better by itself."""

    heading: str
    value: Callable[[SystemResult], float | None]
    show: Callable[[float | None], str]
    higher_is_better: bool | None = None


def points(share: float | None) -> str:
    """Show a share in [0, 1] as percentage points with one decimal."""
    return NONE if share is None else f"{100 * share:.1f}"


def signed_points(share: float) -> str:
    """Show a difference of shares as signed percentage points."""
    told = f"{100 * share:+.1f}".replace("-", MINUS)
    return "0.0" if told[1:] == "0.0" else told


def number(value: float | None) -> str:
    """Show a mean or a count with as many digits as matter."""
    if value is None:
        return NONE
    return f"{value:.2f}" if abs(value) < 10 and value != int(value) else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Show seconds as ms, s, min or h with three digits."""
    if value is None:
        return NONE
    if value < 0.9995:
        return f"{_digits(value * 1e3)} ms"
    if value < 120:
        return f"{_digits(value)} s"
    return f"{_digits(value / 60)} min" if value < 7200 else f"{_digits(value / 3600)} h"


def size(value: float | None) -> str:
    """Show bytes in powers of 1,000."""
    if value is None:
        return NONE
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.0f} B" if unit == "B" else f"{_digits(value)} {unit}"
        value /= 1000
    return f"{_digits(value)} TB"


def megabytes(value: float | None) -> str:
    """Show megabytes; zero means that nobody measured."""
    return size(value * 1e6) if value else NONE


def _of_answers(value: Callable[[SystemResult], float]) -> Callable[[SystemResult], float | None]:
    """A cost of answers: None of a system that gave none, which is not the cheapest."""
    return lambda result: value(result) if result.answered else None


QUALITY: Sequence[Measure] = (
    Measure("ACC", lambda r: r.acc, points, True),
    Measure("F1", lambda r: r.f1, points, True),
    Measure("EM", lambda r: r.em, points, True),
    Measure("Abstained", lambda r: r.abstained, points),
    Measure("Missing", lambda r: r.missing, points, False),
    Measure("Mean latency", lambda r: r.latency_s.mean, seconds, False),
    Measure("p50", lambda r: r.latency_s.p50, seconds, False),
    Measure("p95", lambda r: r.latency_s.p95, seconds, False),
)
COST: Sequence[Measure] = (
    Measure("LLM calls", _of_answers(lambda r: r.llm_calls), number, False),
    Measure("Tokens in", _of_answers(lambda r: r.tokens_in), number, False),
    Measure("Tokens out", _of_answers(lambda r: r.tokens_out), number, False),
    Measure("Messages", lambda r: r.messages, number, False),
    Measure("Up", lambda r: r.bytes_up, size),
    Measure("Down", lambda r: r.bytes_down, size),
    Measure("Peak memory", lambda r: r.peak_rss_mb or None, megabytes, False),
)


def label(name: str, result: SystemResult) -> str:
    """A system's name as tables show it."""
    return f"{name} (upper bound)" if result.upper_bound else name


def contenders(systems: Mapping[str, SystemResult]) -> dict[str, SystemResult]:
    """The systems that can be best of something: all but upper bounds."""
    return {name: result for name, result in systems.items() if not result.upper_bound}


def leaders(
    systems: Mapping[str, SystemResult], values: Sequence[float | None], higher_is_better: bool | None
) -> frozenset[str]:
    """Name the contenders with the best value, where there is something to choose.

    `values`: one of each system, in their order; `higher_is_better`: None where neither more nor less is.
    """
    among = contenders(systems)
    found = {name: value for name, value in zip(systems, values, strict=True) if name in among and value is not None}
    top = best(list(found.values()), higher_is_better)
    return frozenset(name for name, value in found.items() if value == top)


def best(values: Sequence[float | None], higher_is_better: bool | None) -> float | None:
    """Return the best of some values, or None where there is nothing to choose."""
    known = [value for value in values if value is not None]
    if higher_is_better is None or len(set(known)) < 2:
        return None
    return max(known) if higher_is_better else min(known)


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
