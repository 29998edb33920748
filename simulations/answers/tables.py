"""Tables over rows of answers: by set, by kind of question, by confidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.evaluation import paired_difference
from simulations.answers.bench import AnswerRow
from simulations.reporting.line_chart import line_chart

FLOOR = "plain"
BINS = 10


def answer_table(rows: Sequence[AnswerRow]) -> str:
    """One line for each set and system, and over all sets."""
    heads = (
        "set",
        "system",
        "n",
        "right",
        "wrong",
        "declined",
        "right - plain",
        "mean s",
        "p95 s",
        "read",
        "written",
        "calls",
    )
    lines = []
    sets = list(dict.fromkeys(row.set for row in rows))
    for name in (*sets, *(["all"] if len(sets) > 1 else [])):
        own = [row for row in rows if name in (row.set, "all")]
        for system in dict.fromkeys(row.system for row in own):
            lines.append((name, *_line([row for row in own if row.system == system], own)))
    return markdown(heads, lines)


def kind_table(rows: Sequence[AnswerRow]) -> str:
    """Right of all, by set and kind of question, for each system."""
    systems = list(dict.fromkeys(row.system for row in rows))
    lines = []
    for name, kind in dict.fromkeys((row.set, row.kind) for row in rows):
        own = [row for row in rows if (row.set, row.kind) == (name, kind)]
        cells = []
        for system in systems:
            of = [row for row in own if row.system == system]
            cells.append(f"{_count(of, 'right')} / {_count(of, 'wrong')} / {_count(of, 'declined')}")
        lines.append((name, kind, str(len(own) // len(systems)), *cells))
    return markdown(("set", "kind", "n", *(f"{system}: right / wrong / declined" for system in systems)), lines)


def ranking_table(rows: Sequence[AnswerRow]) -> str:
    """How much of the gold documents the ranking finds, by set."""
    lines = []
    for name in dict.fromkeys(row.set for row in rows):
        own = {row.id: row for row in rows if row.set == name and row.found_all >= 0}.values()
        five, every = np.mean([row.found_five for row in own]), np.mean([row.found_all for row in own])
        lines.append((name, str(len(own)), f"{100 * five:.1f}", f"{100 * every:.1f}"))
    return markdown(("set", "n", "R@5", "all gold at 8"), lines)


@dataclass(frozen=True, slots=True)
class Bin:
    """Given answers of about one confidence: its bounds, how many, their mean confidence, the share that is right."""

    low: float
    high: float
    count: int
    told: float
    right: float


def reliability(rows: Iterable[AnswerRow]) -> list[Bin]:
    """Given answers by confidence, in bins of equal width; empty bins are left out."""
    given = [(row.confidence, row.verdict == "right") for row in rows if row.path != "abstained"]
    found = []
    for place in range(BINS):
        own = [one for one in given if min(int(one[0] * BINS), BINS - 1) == place]
        if own:
            told, right = (float(mean) for mean in np.mean(own, axis=0))
            found.append(Bin(place / BINS, (place + 1) / BINS, len(own), told, right))
    return found


def calibration_error(rows: Iterable[AnswerRow]) -> float:
    """Expected calibration error of given answers (Guo et al. 2017, eq. 3)."""
    bins = reliability(rows)
    return sum(one.count * abs(one.told - one.right) for one in bins) / max(sum(one.count for one in bins), 1)


def reliability_table(rows: Iterable[AnswerRow]) -> str:
    """Confidence told and share that was right, in bins."""
    lines = [
        (f"{one.low:.1f} to {one.high:.1f}", str(one.count), f"{one.told:.2f}", f"{one.right:.2f}")
        for one in reliability(rows)
    ]
    return markdown(("confidence", "answers", "told", "right"), lines)


def reliability_chart(rows: Iterable[AnswerRow]) -> str:
    """The reliability diagram, as SVG: the share that is right over the confidence told, beside what was told."""
    bins = reliability(rows)
    told = [one.told for one in bins]
    lines = {"right": [one.right for one in bins], "as told": told}
    marks = {place: f"{one.count} answers" for place, one in enumerate(bins)}
    return line_chart(lines, "confidence", "share of the answers that is right", told, marks)


def level_table(rows: Sequence[AnswerRow], levels: Sequence[float]) -> str:
    """What each level of confidence, below which nothing is answered, would have cost."""
    lines = []
    for level in levels:
        kept = [row.path != "abstained" and row.confidence >= level for row in rows]
        right = sum(row.verdict == "right" and keep for row, keep in zip(rows, kept, strict=True))
        cells = []
        for nothing in (False, True):
            of = [keep for row, keep in zip(rows, kept, strict=True) if (row.kind == "unanswerable") == nothing]
            cells.append(f"{100 - 100 * float(np.mean(of)):.0f} %" if of else "")
        lines.append((f"{level:.2f}", str(right), str(sum(kept) - right), *cells))
    return markdown(("level", "right answers", "wrong answers", "answerable declined", "unanswerable declined"), lines)


def markdown(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    body = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*body, *(f"| {' | '.join(line)} |" for line in lines)])


def _line(own: Sequence[AnswerRow], beside: Sequence[AnswerRow]) -> tuple[str, ...]:
    seconds = [row.seconds for row in own]
    return (
        own[0].system,
        str(len(own)),
        *(str(_count(own, verdict)) for verdict in ("right", "wrong", "declined")),
        _against_floor(own, beside),
        f"{np.mean(seconds):.2f}",
        f"{np.percentile(seconds, 95):.2f}",
        f"{np.mean([row.tokens_in for row in own]):.0f}",
        f"{np.mean([row.tokens_out for row in own]):.1f}",
        f"{np.mean([row.calls for row in own]):.2f}",
    )


def _against_floor(own: Sequence[AnswerRow], beside: Sequence[AnswerRow]) -> str:
    """The paired difference to the floor, in points, with its interval."""
    floor = {(row.set, row.id): row.verdict == "right" for row in beside if row.system == FLOOR}
    pairs = [(row.verdict == "right", floor[row.set, row.id]) for row in own if (row.set, row.id) in floor]
    if own[0].system == FLOOR or len(pairs) < 2:
        return ""
    first, second = (100.0 * np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    found = paired_difference(first, second, rng=np.random.default_rng(7))
    return f"{found.value:+.1f} ({found.low:+.1f} to {found.high:+.1f})"


def _count(rows: Iterable[AnswerRow], verdict: str) -> int:
    return sum(row.verdict == verdict for row in rows)
