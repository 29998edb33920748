"""Geometry of the report's two drawn figures; the template turns it into SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedrag_flwr.evaluation.measures import seconds

SVG_NAMESPACE = r"""
const SVG = new DOMParser().parseFromString("<" + "svg>", "text/html").body.firstChild.namespaceURI;
"""

PATH_PICTURE = r"""
function drawn(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function pathPicture([nodes, links, passage, score]) {
  const WIDTH = 340, BOX = 28, STEP = 74, FITS = 42;
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const parts = [];
  links.forEach(([relation, source, down], i) => {
    const top = 4 + i * STEP + BOX, bottom = 4 + (i + 1) * STEP, tip = down ? bottom : top, back = down ? -8 : 8;
    parts.push(drawn("line", { class: "axis", x1: 24, x2: 24, y1: top, y2: bottom }),
      drawn("polygon", { class: "tip", points: `24,${tip} 19,${tip + back} 29,${tip + back}` }),
      drawn("text", { x: 38, y: top + 19 }, cut(relation, FITS)),
      drawn("text", { class: "where", x: 38, y: top + 36 }, cut(source, FITS)));
  });
  nodes.forEach(([text, asked, bridge], i) => {
    const y = 4 + i * STEP;
    parts.push(drawn("g", { class: "vertex" + (asked ? " asked" : "") + (bridge ? " bridge" : "") },
      drawn("title", {}, text),
      drawn("rect", { x: 4, y, width: WIDTH - 8, height: BOX, rx: 6 }),
      drawn("text", { class: "name", x: 14, y: y + 19 }, cut(text, FITS))));
  });
  const height = 8 + links.length * STEP + BOX;
  const told = nodes.map(([text]) => text).join(", ");
  return el("figure", { class: "path" },
    drawn("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "Answer path: " + told }, ...parts),
    el("figcaption", {}, "to " + passage + ", score " + score));
}
"""


_FLOOR = 1e-4  # seconds; a log axis has no zero
_BINS_PER_DECADE = 6
_CHARACTER = 7.2  # mean width of a label's character


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick: where it is, in the figure's units, and what it says."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A system to be drawn: latency in seconds, ACC and its bounds in [0, 1], and whether it is an upper bound."""

    name: str
    seconds: float
    acc: float
    low: float
    high: float
    upper_bound: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """Where a name stands: its baseline and the side from which it is written."""

    x: float
    y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A system as drawn: position, whisker ends, label, and whether no other system beats it."""

    dot: Dot
    x: float
    y: float
    top: float
    bottom: float
    label: Label
    frontier: bool


@dataclass(frozen=True, slots=True)
class Scatter:
    """The accuracy-latency plane (FD-RAG fig. 2) with its Pareto frontier as an SVG polyline."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    marks: tuple[Mark, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    frontier: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin's share of one path: position and size in the unit square, y downwards."""

    path: str
    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """Latencies of one system, stacked by path, on the axis that all systems share."""

    system: str
    bars: tuple[Bar, ...]
    n: int


def scatter(dots: Sequence[Dot], *, ranked: bool = True, width: float = 560, height: float = 360) -> Scatter | None:
    """Lay out the accuracy-latency plane, with its frontier if `ranked`; None where there is no dot."""
    if not dots:
        return None
    left, right, top, bottom = 52.0, width - 16, 16.0, height - 48
    logs = [math.log10(max(dot.seconds, _FLOOR)) for dot in dots]
    low_x, high_x = _padded(min(logs), max(logs))
    low_y = max(0.0, math.floor((min(dot.low for dot in dots) - 0.02) * 10) / 10)
    high_y = min(1.0, math.ceil((max(dot.high for dot in dots) + 0.02) * 10) / 10)

    def across(log: float) -> float:
        return left + (log - low_x) / (high_x - low_x) * (right - left)

    def down(acc: float) -> float:
        return bottom - (acc - low_y) / (high_y - low_y) * (bottom - top)

    best = _frontier([dot for dot in dots if not dot.upper_bound]) if ranked else set()
    spots = [(across(log), down(dot.acc)) for dot, log in zip(dots, logs, strict=True)]
    labels = _labels([dot.name for dot in dots], spots, (left, right, top, bottom))
    marks = [
        Mark(dot, x, y, down(dot.high), down(dot.low), label, dot.name in best)
        for dot, (x, y), label in zip(dots, spots, labels, strict=True)
    ]
    line = sorted((mark.x, mark.y) for mark in marks if mark.frontier)
    step = 0.1 if high_y - low_y > 0.25 else 0.05
    return Scatter(
        width,
        height,
        left,
        right,
        top,
        bottom,
        tuple(marks),
        tuple(Tick(across(log), _tick(10**log)) for log in _log_ticks(low_x, high_x)),
        tuple(
            Tick(down(low_y + step * i), f"{100 * (low_y + step * i):.0f}")
            for i in range(round((high_y - low_y) / step) + 1)
        ),
        " ".join(f"{x:.1f},{y:.1f}" for x, y in line),
    )


def histograms(
    latencies: Mapping[str, Mapping[str, Sequence[float]]], paths: Sequence[str]
) -> tuple[tuple[Histogram, ...], tuple[Tick, ...]]:
    """Lay out the latency histograms of all systems over one log axis; ticks are in [0, 1].

    Parameters
    ----------
    latencies
        Measured seconds by system and path.
    paths
        The order in which paths are stacked, from the bottom.
    """
    every = [max(value, _FLOOR) for by_path in latencies.values() for values in by_path.values() for value in values]
    if not every:
        return (), ()
    low, high = math.floor(math.log10(min(every))), math.floor(math.log10(max(every))) + 1
    bins = (high - low) * _BINS_PER_DECADE
    drawn = tuple(_histogram(name, by_path, paths, low, bins) for name, by_path in latencies.items())
    ticks = tuple(Tick((log - low) / (high - low), _tick(10.0**log)) for log in range(low, high + 1))
    return drawn, ticks


def _histogram(
    system: str, by_path: Mapping[str, Sequence[float]], paths: Sequence[str], low: int, bins: int
) -> Histogram:
    counts = {path: [0] * bins for path in paths if by_path.get(path)}
    for path, row in counts.items():
        for value in by_path[path]:
            row[min(bins - 1, int((math.log10(max(value, _FLOOR)) - low) * _BINS_PER_DECADE))] += 1
    tallest = max((sum(column) for column in zip(*counts.values(), strict=True)), default=0)
    bars = []
    for index in range(bins):
        height = 1.0
        start, end = (10 ** (low + (index + side) / _BINS_PER_DECADE) for side in (0, 1))
        for path, row in counts.items():
            if row[index]:
                share = row[index] / tallest
                height -= share
                label = f"{path}: {row[index]} between {seconds(start)} and {seconds(end)}"
                bars.append(Bar(path, index / bins, height, 1 / bins, share, label))
    return Histogram(system, tuple(bars), sum(len(values) for values in by_path.values()))


def _frontier(dots: Sequence[Dot]) -> set[str]:
    """Name the dots that no other one beats in both accuracy and latency (FD-RAG eq. 3)."""
    return {
        dot.name
        for dot in dots
        if not any(
            other.acc >= dot.acc
            and other.seconds <= dot.seconds
            and (other.acc > dot.acc or other.seconds < dot.seconds)
            for other in dots
        )
    }


def _labels(
    names: Sequence[str], spots: Sequence[tuple[float, float]], bounds: tuple[float, float, float, float]
) -> list[Label]:
    """Put each name beside its spot where it covers neither another spot nor another name, if there is such a place."""
    left, right, top, bottom = bounds
    taken = [(x - 7, x + 7, y) for x, y in spots]
    labels = []
    for name, (x, y) in zip(names, spots, strict=True):
        length = _CHARACTER * len(name)
        places = [
            (start, anchor, y + shift)
            for shift in (0, -14, 14, -28, 28)
            for start, anchor in ((x + 10, "start"), (x - 10 - length, "end"))
            if left < start and start + length < right + 10 and top < y + shift < bottom
        ] or [(x + 10, "start", y)]
        free = (
            place
            for place in places
            if not any(place[0] < to and at < place[0] + length and abs(place[2] - v) < 13 for at, to, v in taken)
        )
        start, anchor, middle = next(free, places[0])
        taken.append((start, start + length, middle))
        labels.append(Label(start if anchor == "start" else start + length, middle + 4, anchor))
    return labels


def _padded(low: float, high: float) -> tuple[float, float]:
    pad = max(0.08 * (high - low), (1.0 - (high - low)) / 2)  # a decade at least: it has ticks
    return low - pad, high + pad


def _log_ticks(low: float, high: float) -> list[float]:
    wide = high - low > 2
    logs = [
        decade + math.log10(digit)
        for decade in range(math.floor(low), math.ceil(high) + 1)
        for digit in ((1,) if wide else (1, 2, 5))
    ]
    return [log for log in logs if low <= log <= high]


def _tick(value: float) -> str:
    return f"{value:.3g} s" if value > 0.999 else f"{1000 * value:.3g} ms"
