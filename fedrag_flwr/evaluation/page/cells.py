"""What the report's tables and bars are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, the value that sorts it, a bar's length in [0, 1], and whether it is the best."""

    text: str
    value: float | None = None
    bar: float | None = None
    best: bool = False
    note: str = ""
    wording: bool = False  # sorts by its text


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: id, caption, headings (text, explanation), and rows of a name and cells."""

    id: str
    caption: str
    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    wordings: tuple[str, ...] = ()  # headings of columns of words


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a stacked bar: what it is, its share of the bar in [0, 1], and its text."""

    kind: str
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A stacked bar: what it is for, how much of the full width it takes, its parts, and the text after it."""

    name: str
    width: float
    segments: tuple[Segment, ...]
    text: str = ""
