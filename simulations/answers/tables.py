"""Tables over rows of answers: by set, by kind of question, by confidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fedrag_flwr.evaluation import paired_difference
from simulations.answers.bench import AnswerRow

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


def calibration_error(rows: Iterable[AnswerRow]) -> float:
    """Expected calibration error of given answers, in bins of equal width."""
    given = [(row.confidence, row.verdict == "right") for row in rows if row.path != "abstained"]
    if not given:
        return 0.0
    total = 0.0
    for low in range(BINS):
        own = [(p, right) for p, right in given if min(int(p * BINS), BINS - 1) == low]
        if own:
            total += abs(sum(p for p, _ in own) - sum(right for _, right in own))
    return total / len(given)


def reliability_table(rows: Iterable[AnswerRow]) -> str:
    """Confidence told and share that was right, in bins."""
    given = [(row.confidence, row.verdict == "right") for row in rows if row.path != "abstained"]
    lines = []
    for low in range(BINS):
        own = [(p, right) for p, right in given if min(int(p * BINS), BINS - 1) == low]
        if own:
            told, right = np.mean([p for p, _ in own]), np.mean([right for _, right in own])
            lines.append((f"{low / BINS:.1f} to {(low + 1) / BINS:.1f}", str(len(own)), f"{told:.2f}", f"{right:.2f}"))
    return markdown(("confidence", "answers", "told", "right"), lines)


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
