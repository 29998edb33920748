"""Tables as text: each row is a paragraph, each cell stands behind its column's head."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

_MOST_HEAD = 60  # characters; what is longer is text
_LONGEST = 200  # of a head that is marked as one: it is told again in each row
_VALUE = re.compile(r"[^\w]*\d[\d.,:/\s%°–−-]*\w{0,3}\W*|\d{4}-\d\d.*|true|false|yes|no", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")  # the one number that heads columns


def told_row(heads: Sequence[str], cells: Sequence[str]) -> str:
    """One row: each cell behind its column's head, parted by semicolons; empty cells are left out."""
    pairs = zip_longest(heads, cells, fillvalue="")
    return "; ".join(f"{head.rstrip(':')[:_LONGEST]}: {cell}" if head else cell for head, cell in pairs if cell)


def table_text(rows: Sequence[Sequence[str]], *, headed: bool = False) -> str:
    """A table without marks for its heads: its first row heads the columns if it looks like that.

    Empty rows and columns are left out. Rows above the heads that fill few columns tell what the table is of. Where the
    heads repeat, the row above them says of what: "Winter" over two columns, "Summer" over two others.

    Parameters
    ----------
    headed
        Whether any first row of short texts counts as heads, as in a sheet; else two columns may be names with values,
        unless nothing but numbers stands below a head.
    """
    filled = [[" ".join(cell.split()) for cell in row] for row in rows]
    filled = [row for row in filled if any(row)]
    used = sorted({place for row in filled for place, cell in enumerate(row) if cell})
    filled = [[row[place] if place < len(row) else "" for place in used] for row in filled]
    told = []
    while len(used) > 1 and len(filled) > 1 and not all(filled[0]):
        if joined := _two_heads(*filled[:2]):
            filled[:2] = [joined]
        elif _tells(filled[0], headed=heads_columns(filled, headed=headed)):
            told.append(told_row((), filled.pop(0)))
        else:
            break
    heads = filled.pop(0) if heads_columns(filled, headed=headed) else []
    return "\n\n".join((*told, *(told_row(heads, row) for row in filled))) or told_row((), heads)


def _tells(row: Sequence[str], *, headed: bool) -> bool:
    """Whether a first row tells what the table is of: one cell, or half of them and no heads (`headed`)."""
    filled = sum(map(bool, row))
    return filled == 1 or filled * 2 < len(row) or (filled * 2 == len(row) and not headed)


def _two_heads(groups: Sequence[str], names: Sequence[str]) -> list[str]:
    """The heads that two rows give together, where each group has the same names below it; else none."""
    heads: list[tuple[str, str]] = []
    for place, (above, name) in enumerate(zip(groups, names, strict=True)):
        heads.append((above or (heads[-1][0] if name and place else ""), name))
    below: dict[str, list[str]] = {}
    for group, name in heads[1:]:
        below.setdefault(group, []).append(name)
    first, *others = below.values()
    alike = len(first) > 1 and others and all(own == first for own in others)
    return [" ".join(filter(None, head)) for head in heads] if alike else []


def heads_columns(rows: Sequence[Sequence[str]], *, headed: bool = False) -> bool:
    """Say whether the first of a table's rows heads its columns; `headed` as for `table_text`."""
    if len(rows) < 2:
        return False
    first, *below = rows
    named = [cell.casefold() for cell in first if cell]  # a corner is often empty, or a column of remarks
    if len(named) * 2 < len(first) or len(set(named)) < len(named) or any(len(cell) > _MOST_HEAD for cell in named):
        return False
    if any(_VALUE.fullmatch(cell) and not (place and _YEAR.fullmatch(cell)) for place, cell in enumerate(first)):
        return False
    if headed or (len(first) > 2 and len(below) > 1):
        return True
    least = 1 if len(first) > 2 else 2
    return any(_differs(place, below, least) for place in range(len(first)))


def _differs(place: int, below: Sequence[Sequence[str]], least: int) -> bool:
    """Whether a column holds nothing but values (numbers, dates), at least so many, below a cell that is none."""
    cells = [row[place] for row in below if place < len(row) and row[place]]
    return len(cells) >= least and all(map(_VALUE.fullmatch, cells))
