"""HTML as text: what a person reads of a page, as headings, paragraphs, lists and rows of tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fedrag_flwr.sources.tables import heads_columns, told_row

if TYPE_CHECKING:
    from bs4 import Tag
    from bs4.element import PageElement

_TEXTS = "p div section article main blockquote pre figure figcaption body hr h1 h2 h3 h4 h5 h6 caption"
_BLOCKS = frozenset(_TEXTS.split()) | {"li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "td", "th"}
_UNREAD = frozenset({"script", "style", "noscript", "template", "nav", "footer", "svg", "head"}) | {
    *("button", "input", "select", "option", "textarea")
}
_CELLS = frozenset({"tr", "td", "th", "caption"})
_STRUCTURE = ["table", "h1", "h2", "h3", "h4", "h5", "h6"]  # within a table's cells: it lays out a page
_POWER = re.compile(r"\s*[+−-]?\d{1,4}\s*")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_MOST_ACROSS, _MOST_DOWN = 20, 50  # columns and rows that one cell may span
_MOST_AGAIN = 200  # characters of a cell that is told again in each row that it spans


def html_text(html: str) -> tuple[str, str]:
    """Give the title (from ``title`` or ``h1``) and the text of a page.

    Scripts, navigation, footers and controls go. A table's row becomes one paragraph: each cell behind its column's
    head; a table that lays out a page is read cell by cell.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    named = soup.find("title") or soup.find("h1")
    title = named.get_text(" ", strip=True) if named else ""
    text = re.sub(r"\n[ \n]*\n", "\n\n", _Page().text_of(soup))
    text = re.sub(r"^([ \t]*- )\s*\n", r"\1", text, flags=re.MULTILINE)
    return title, re.sub(r"(\n\s*- [^\n]*)\n[ \n]*(?=\n\s*- )", r"\1", text).strip()


class _End(NamedTuple):
    """Where an element ends."""

    name: str
    after: str


class _Page:
    """A page as it is read: each node is looked at once, however many or deep they are."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._table: _Table | None = None  # of data; the tables that lay out a page are none
        self._bold = 0

    def text_of(self, soup: Tag) -> str:
        """Read all of it."""
        from bs4 import Tag

        waiting: list[PageElement | _End] = [soup]
        while waiting:
            node = waiting.pop()
            if isinstance(node, _End):
                self._close(node)
            elif isinstance(node, Tag):
                if node.name not in _UNREAD:
                    waiting += [_End(node.name, self._open(node)), *reversed(node.contents)]
            elif type(node).__name__ == "NavigableString":  # comments and other declarations are kinds of their own
                self._add(re.sub(r"\s+", " ", str(node)), node.parent)
        return "".join(self._out)

    def _add(self, text: str, parent: Tag | None) -> None:
        if parent is not None and parent.name == "sup" and _POWER.fullmatch(text):  # ten to the sixth is not 106
            text = text.strip().translate(_RAISED)
        self._put(text, plain=not self._bold)

    def _put(self, text: str, *, plain: bool = False) -> None:
        if self._table is None or not self._table.put(text, plain):
            self._out.append(text)

    def _open(self, node: Tag) -> str:
        """Begin an element; give what stands after its text."""
        name = node.name
        self._bold += name in {"b", "strong"}
        if self._table is not None and name in _CELLS:
            self._table.begin(node)
            return ""
        if name == "table" and self._table is None and not _lays_out(node):
            self._table = _Table()
        before, after = _around(name)
        self._put("\n" if self._table is not None and before else before)  # no marks of lists in a row
        return after

    def _close(self, end: _End) -> None:
        self._bold -= end.name in {"b", "strong"}
        if self._table is not None and end.name in _CELLS:
            self._table.end()
        elif self._table is not None and end.name == "table":
            table, self._table = self._table, None
            self._out.append(f"\n\n{table.text()}")
        self._put("\n" if self._table is not None and end.after else end.after)


def _lays_out(table: Tag) -> bool:
    return table.get("role") in ("presentation", "none") or table.find(_STRUCTURE) is not None


def _around(name: str) -> tuple[str, str]:
    """What stands before and after the text of an element."""
    if name == "br":
        return "\n", ""
    if name not in _BLOCKS:
        return "", ""
    gap = "\n" if name == "li" else "\n\n"
    mark = "- " if name == "li" else "#" * int(name[1]) + " " if name[1:].isdecimal() else ""
    return gap + mark, gap


@dataclass(slots=True)
class _Cell:
    """One cell, with the columns and rows that it spans."""

    name: str
    across: int = 1
    down: int = 1
    parts: list[str] = field(default_factory=list)
    bold: bool = True  # nothing in it is plain

    @property
    def text(self) -> str:
        """Its lines as one."""
        told = ""
        for line in "".join(self.parts).split("\n"):
            if line := " ".join(line.split()):
                told += line if not told else f" {line}" if told[-1] in ".,;:!?" else f", {line}"
        return told


class _Table:
    """A table of data as it is read; cells and rows need no end of their own."""

    def __init__(self) -> None:
        self._rows: list[list[_Cell]] = []
        self._open: _Cell | None = None
        self._captions: list[_Cell] = []

    def put(self, text: str, plain: bool) -> bool:
        """Add to the cell that is open; say whether one is."""
        if self._open is None:
            return False
        self._open.parts.append(text)
        self._open.bold = self._open.bold and not (plain and text.strip())
        return True

    def begin(self, node: Tag) -> None:
        """Begin a row, a cell or the caption."""
        self.end()
        if node.name == "tr":
            self._rows.append([])
            return
        across, down = _span(node.get("colspan"), _MOST_ACROSS), _span(node.get("rowspan"), _MOST_DOWN)
        self._open = _Cell(node.name, across, down)
        if node.name == "caption":
            self._captions.append(self._open)
        else:
            self._rows = self._rows or [[]]
            self._rows[-1].append(self._open)

    def end(self) -> None:
        """End the cell that is open."""
        self._open = None

    def text(self) -> str:
        """The caption, then each row behind the heads of its columns."""
        rows = [row for row in _grid(self._rows) if any(cell.text for cell in row)]
        told = [caption.text for caption in self._captions]
        while len(rows) > 1 and _is_title(rows[0]):
            told.append(rows.pop(0)[0].text)
        heads: list[str] = []
        while rows and _is_head(rows[0]) and not (heads and (len(rows) == 1 or _is_title(rows[0]))):
            heads = _joined(heads, [cell.text for cell in rows.pop(0)])
        if not heads and len(rows) > 1 and _stands_out(rows):
            heads = [cell.text for cell in rows.pop(0)]
        told += [_row_text(heads, row) for row in rows] or [told_row((), heads)]
        return "\n\n".join(filter(None, told))


def _span(value: object, most: int) -> int:
    return max(1, min(int(value[:4]), most)) if isinstance(value, str) and value.isdecimal() else 1


def _grid(rows: list[list[_Cell]]) -> list[list[_Cell]]:
    """The rows with each cell in all columns and rows that it spans; across, only a head's text is told again."""
    grid = []
    below: dict[int, tuple[int, _Cell]] = {}  # by column, the rows that a cell from above still spans
    for row in rows:
        cells: list[_Cell] = []
        for cell in (*row, None):
            while len(cells) in below:
                left, above = below.pop(place := len(cells))
                cells.append(above)
                if left > 1:
                    below[place] = left - 1, above
            for number in range(cell.across if cell else 0):
                shown = cell if cell and (not number or cell.name == "th") else _Cell("td")
                if cell and cell.down > 1 and len(cell.text) <= _MOST_AGAIN:
                    below[len(cells)] = cell.down - 1, shown
                cells.append(shown)
        grid.append(cells)
    return grid


def _is_head(row: list[_Cell]) -> bool:
    return all(cell.name == "th" or not cell.text for cell in row)


def _is_title(row: list[_Cell]) -> bool:
    """Whether one head goes over all columns: it tells what the rows below are of."""
    return _is_head(row) and len(row) > 1 and len({cell.text for cell in row}) == 1


def _joined(above: list[str], below: list[str]) -> list[str]:
    """Heads of two rows as one."""
    wide = max(len(above), len(below))
    pairs = zip(above + [""] * (wide - len(above)), below + [""] * (wide - len(below)), strict=True)
    return [" ".join(dict.fromkeys(filter(None, pair))) for pair in pairs]


def _stands_out(rows: list[list[_Cell]]) -> bool:
    """Whether the first row heads the columns though its cells are no heads: it alone is bold, or looks like that."""
    if any(cell.name == "th" for row in rows for cell in row):
        return False
    texts = [[cell.text for cell in row] for row in rows]
    bold = [all(cell.bold for cell in row) for row in rows]
    return heads_columns(texts, headed=bold[0] and not any(bold[1:]))


def _row_text(heads: list[str], row: list[_Cell]) -> str:
    cells = [cell.text for cell in row]
    if not heads and row[0].name == "th" and len(set(filter(None, cells))) > 1:  # a row with a head of its own
        return told_row((), (told_row((cells[0],), (told_row((), cells[1:]),)),))
    return told_row((), list(dict.fromkeys(cells))) if _is_head(row) else told_row(heads, cells)
