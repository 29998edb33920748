"""Tables of plain text, whose columns are parted by blanks: each row becomes a paragraph, as in other tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from fedrag_flwr.sources.tables import heads_columns, told_row

_LEAST = 3  # lines and columns of a table without a rule below its heads
_PARTED = re.compile(r"\S(?: {2,}|\t+)\S")
_RULE = re.compile(r"\s*[-=_]{2,}(?:\s+[-=_]{2,})+\s*")  # below heads; it parts the columns
_LINE = re.compile(r"\s*[-=_]{4,}\s*")
_DEEP = " " * 8  # before the rest of a cell that takes two lines


@dataclass(frozen=True, slots=True)
class _Table:
    """Where a table's columns begin, and what heads them."""

    starts: tuple[int, ...]
    heads: tuple[str, ...]

    def cells(self, line: str) -> tuple[str, ...]:
        """A line's cells."""
        bounds = [0, *self.starts[1:], len(line)]
        return tuple(line[start:end].strip() for start, end in pairwise(bounds))

    def cuts(self, lines: Sequence[str]) -> bool:
        """Whether a word of these lines crosses from one column to the next."""
        return any(
            " " not in line[start - 1 : start + 1] for line in lines for start in self.starts[1:] if line[start:]
        )

    def fits(self, lines: Sequence[str]) -> bool:
        """Whether these lines have two blanks between columns, and no gap within one."""
        crossed = any(line[start - 2 : start].strip() for line in lines for start in self.starts[1:])
        gap = any(_PARTED.search(cell) for line in lines for cell in self.cells(line))
        return bool(self.starts) and not crossed and not gap


def tables_told(text: str) -> str:
    """A text with the rows of its aligned tables as paragraphs, each cell behind its column's head.

    A table is a run of lines whose columns stand below one another, two blanks or a tab apart: three lines of three
    columns, or heads above a rule of hyphens that parts the columns. Rows that follow in the same columns belong to it.
    """
    told: list[str] = []
    table: _Table | None = None
    goes_on = False  # nothing but blank lines since the table
    for may_be, run in groupby(text.split("\n"), _may_be_row):
        lines = list(run)
        while may_be and lines and not _PARTED.search(lines[0]):
            told.append(lines.pop(0))  # a title that is set deep, or a line above the heads
            goes_on = False
        found = _read(lines, table, goes_on=goes_on) if may_be and lines else None
        if found is None:
            told += lines
            goes_on = goes_on and not "".join(lines).strip()
        else:
            table, rows = found
            goes_on = True
            told += ["", *(line for row in rows for line in (told_row(table.heads, row), ""))]
    return "\n".join(told)


def _may_be_row(line: str) -> bool:
    """Whether a line may stand in a table: it has a gap, is a rule, or goes on with a cell of the row above."""
    return bool(_PARTED.search(line) or _LINE.fullmatch(line) or (line.startswith(_DEEP) and line.strip()))


def _read(lines: Sequence[str], above: _Table | None, *, goes_on: bool) -> tuple[_Table, list[list[str]]] | None:
    """The table of a run of lines with its rows below the heads; None where they are none.

    `above` is the last table; with `goes_on` nothing stands between.
    """
    tabbed = [re.split(r"\t+", line.strip("\t")) for line in lines]
    if len(lines) >= _LEAST and len({len(cells) for cells in tabbed}) == 1 < len(tabbed[0]):
        return _headed(_Table((), ()), tabbed)
    lines = [line.expandtabs() for line in lines]
    body = [line for line in lines if not _LINE.fullmatch(line) and not _RULE.fullmatch(line)]
    if ruled := next((at for at, line in enumerate(lines) if at and _RULE.fullmatch(line)), 0):
        table = _Table(tuple(found.start() for found in re.finditer(r"[-=_]+", lines[ruled])), ())
        if table.cuts(body):
            return None
        heads = [line for line in lines[:ruled] if line in body]
        named = [" ".join(filter(None, part)) for part in zip(*map(table.cells, heads), strict=True)]
        return replace(table, heads=tuple(named)), _rows(body[len(heads) :], table)
    table = _Table(_starts([line for line in body if _PARTED.search(line)]), ())
    rows = _rows(body, table)
    own = _headed(table, rows) if len(table.starts) >= _LEAST and len(rows) >= _LEAST else None
    if above is not None and above.heads and above.fits(body) and (goes_on or own is None or not own[0].heads):
        return above, _rows(body, above)
    return own


def _headed(table: _Table, rows: list[list[str]]) -> tuple[_Table, list[list[str]]]:
    """A table with its first row as its heads, if they are some."""
    headed = heads_columns(rows)
    return replace(table, heads=tuple(rows[0]) if headed else ()), rows[headed:]


def _starts(lines: Sequence[str]) -> tuple[int, ...]:
    """Where columns begin: behind two places or more that are blank in every line."""
    width = max(map(len, lines), default=0)
    used = "".join("x" if any(line[at : at + 1].strip() for line in lines) else " " for at in range(width))
    return tuple(found.start() for found in re.finditer(r"x+(?: x+)*", used))


def _rows(lines: Sequence[str], table: _Table) -> list[list[str]]:
    """The cells of lines; a line without a gap goes on with the row above."""
    rows: list[list[str]] = []
    for line in lines:
        cells = table.cells(line)
        if rows and not _PARTED.search(line):
            rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(list(cells))
    return rows
