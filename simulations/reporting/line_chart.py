"""A line chart as one SVG file, for the figures of the benchmark pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 640.0, 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 624.0, 20.0, 312.0
_COLOURS = ("#0e7c74", "#2f64cf", "#a96207", "#8140c4", "#b3261e")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4")
_TICKS = 5


def line_chart(
    lines: Mapping[str, Sequence[float]],
    x_title: str,
    y_title: str,
    across: Sequence[float] | None = None,
    marks: Mapping[int, str] | None = None,
) -> str:
    """Draw each line's values over 0, 1, 2, ..., or over values of one's own, with a legend, on a white ground.

    Parameters
    ----------
    lines
        Values by name; at least one line of at least one value.
    x_title, y_title
        What the axes show.
    across
        Where the values of all lines lie; None: at 0, 1, 2, ...
    marks
        What to write beside the points of the first line, by their places.
    """
    every = [value for values in lines.values() for value in values]
    places = list(across or range(max(len(values) for values in lines.values())))
    along = _ticks(min(places), max(places))
    up = _ticks(min(every), max(every))

    def x(value: float) -> float:
        return _LEFT + (value - along[0]) / (along[-1] - along[0]) * (_RIGHT - _LEFT)

    def y(value: float) -> float:
        return _BOTTOM - (value - up[0]) / (up[-1] - up[0]) * (_BOTTOM - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{escape(y_title)} over {escape(x_title)}</title>",
        f'<rect width="{_WIDTH:g}" height="{_HEIGHT:g}" fill="#ffffff"/>',
    ]
    for tick in up:
        parts.append(_segment(_LEFT, y(tick), _RIGHT, y(tick), "#dde2ea"))
        parts.append(_text(_LEFT - 8, y(tick) + 4, f"{tick:g}", "end"))
    for tick in along:
        parts.append(_segment(x(tick), _BOTTOM, x(tick), _BOTTOM + 5, "#55627a"))
        parts.append(_text(x(tick), _BOTTOM + 20, f"{tick:g}", "middle"))
    parts.append(_segment(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "#55627a"))
    parts.append(_text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, x_title, "middle"))
    middle = f'transform="translate(16 {(_TOP + _BOTTOM) / 2:g}) rotate(-90)"'
    parts.append(f'<text {middle} text-anchor="middle" fill="#16202e">{escape(y_title)}</text>')
    for place, (name, values) in enumerate(lines.items()):
        stroke = f'stroke="{_COLOURS[place % 5]}" stroke-width="2" stroke-dasharray="{_DASHES[place % 5]}"'
        points = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in zip(places, values, strict=False))
        parts.append(f'<polyline fill="none" {stroke} points="{points}"/>')
        level = _TOP + 12 + 20 * place
        parts.append(f'<line x1="{_RIGHT - 190:g}" x2="{_RIGHT - 154:g}" y1="{level:g}" y2="{level:g}" {stroke}/>')
        parts.append(_text(_RIGHT - 146, level + 4, name, "start"))
    first = next(iter(lines.values()))
    for place, said in (marks or {}).items():
        at = x(places[place]), y(first[place])
        parts.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3.5" fill="{_COLOURS[0]}"/>')
        parts.append(_text(at[0] + 6, at[1] - 8, said, "start"))
    return "\n".join([*parts, "</svg>", ""])


def _ticks(low: float, high: float) -> list[float]:
    """Choose round values that enclose a range."""
    rough = max(high - low, 1e-9) / _TICKS
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * scale for factor in (1, 2, 5, 10) if factor * scale >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(step * place, 10) for place in range(first, max(last, first + 1) + 1)]


def _segment(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, said: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#16202e">{escape(said)}</text>'
