"""The report's figures as SVG: accuracy against latency, and paths."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fedrag_flwr.evaluation.measures import contenders, label
from fedrag_flwr.evaluation.rows import MISSING
from fedrag_flwr.evaluation.scoring import PATHS, SystemResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "memorizer": "#0e7c74",
    "cognizer": "#2f64cf",
    "remote": "#a96207",
    "cache": "#8140c4",
    "abstained": "#8a93a3",
    MISSING: "#b3261e",
}
_ROOM = 32  # characters of a name
_FLOOR = 1e-4  # seconds; a log axis has no zero
Systems = Mapping[str, SystemResult]


class Figure:
    """One drawn figure; `svg` is complete once the drawing has ended."""

    svg = ""


@contextmanager
def drawn(told: str, height: float) -> Iterator[tuple[Axes, Figure]]:
    """Draw one figure, whose words stay text and which looks the same each time; `told` says what it shows."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    made = Figure()
    # names are whatever devices chose: no dollar sign in them begins a formula
    with mpl.rc_context({"svg.hashsalt": told, "svg.fonttype": "none", "text.parse_math": False}):
        canvas = Canvas(figsize=(7.5, height), layout="constrained")
        axes = canvas.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        yield axes, made
        file = io.StringIO()
        canvas.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = re.sub(r'<g id="[^"]*"', "<g", file.getvalue())  # two figures on one page would share these
    made.svg = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(told)}" ', 1)


def plane(systems: Systems) -> str:
    """ACC over mean latency with 95 % intervals (FD-RAG fig. 2); systems that none beats in both are joined.

    Empty where no latency was measured.
    """
    dots = {name: (r.latency_s.mean, 100 * r.acc) for name, r in systems.items() if r.latency_s.mean is not None}
    if not dots:
        return ""
    front = sorted(frontier({name: dots[name] for name in contenders(systems) if name in dots}), key=dots.__getitem__)
    with drawn("ACC over mean latency of each system", 4.5) as (axes, made):
        for name, (x, acc) in dots.items():
            found = systems[name].intervals.get("ACC")
            low, high = (100 * found.low, 100 * found.high) if found else (acc, acc)
            spread = [[max(acc - low, 0.0)], [max(high - acc, 0.0)]]
            best = name in front
            axes.errorbar(max(x, _FLOOR), acc, spread, fmt="o" if best else "s", color="#0e7c74" if best else "#55627a")
            axes.annotate(_short(label(name, systems[name])), (max(x, _FLOOR), acc), (6, 4), textcoords="offset points")
        axes.plot([max(dots[name][0], _FLOOR) for name in front], [dots[name][1] for name in front], "--", lw=1)
        axes.set(xscale="log", xlabel="mean seconds per answer", ylabel="ACC, per cent")
        axes.margins(x=0.2)
    return made.svg


def frontier(dots: Mapping[str, tuple[float, float]]) -> set[str]:
    """Name the systems of (seconds, ACC) that no other one beats in both (FD-RAG eq. 3)."""
    return {
        name
        for name, (took, acc) in dots.items()
        if not any(other[0] <= took and other[1] >= acc and other != (took, acc) for other in dots.values())
    }


def shares(systems: Systems) -> str:
    """The share of all questions that each path answered, averaged over devices, as stacked bars."""
    found = {name: {**r.paths, MISSING: r.missing} for name, r in systems.items()}
    with drawn("Share of questions by path of each system", 0.8 + 0.35 * len(systems)) as (axes, made):
        left = np.zeros(len(found))
        for path in used_paths(systems):
            widths = np.array([100 * told.get(path, 0.0) for told in found.values()])
            axes.barh(range(len(found)), widths, left=left, label=_short(path), color=COLOURS.get(path, "#c0c6d0"))
            left += widths
        axes.set_yticks(range(len(found)), [_short(name) for name in found])
        axes.invert_yaxis()
        axes.set(xlabel="per cent of questions", xlim=(0, 100))
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, frameon=False)
    return made.svg


def used_paths(systems: Systems) -> list[str]:
    """The paths that occur, the known ones first, and `missing` where a question is."""
    found = {path for r in systems.values() for path, share in r.paths.items() if share}
    lost = [MISSING] if any(r.missing for r in systems.values()) else []
    return [path for path in PATHS if path in found] + sorted(found.difference(PATHS)) + lost


def _short(name: str) -> str:
    """A name as a figure has room for it."""
    return name if len(name) <= _ROOM else f"{name[: _ROOM - 1]}…"
