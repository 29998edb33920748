"""Markdown without its marks: what a person reads of a page, as headings, paragraphs, lists and rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fedrag_flwr.sources.tables import told_row

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_TEMPLATE = re.compile(r"\{%.{0,2000}?%\}|\{\{.{0,2000}?\}\}|\{#.{0,2000}?#\}", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def plain_markdown(text: str, plain_html: Callable[[str], str]) -> tuple[str, str]:
    """Give the first heading and the text of a Markdown page.

    Emphasis, link targets, images, template tags (``{% %}``, ``{{ }}``), HTML tags, comments and backslashes go.
    Headings keep their number signs, items their marks. A table's row becomes one line: each cell behind its column's
    head, parted by semicolons. Code stays as it is.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "template", _template)
    page = _Page(plain_html)
    page.add(parser.parse(text))
    return page.title, "\n\n".join(page.blocks)


def _template(state: StateInline, silent: bool) -> bool:
    """Pass over a template's tag."""
    found = _TEMPLATE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    state.pos = found.end()
    return True


class _Page:
    """The blocks of a page as they are read."""

    def __init__(self, plain_html: Callable[[str], str]) -> None:
        self.title = ""
        self.blocks: list[str] = []
        self._plain_html = plain_html
        self._marks: list[str] = []  # of the lists that are open; "" for bullets, else the next number
        self._item = ""  # the mark of an item that nothing stands in yet
        self._listed = False  # whether the last block is of the list that is open
        self._cells: list[str] | None = None
        self._heads: list[str] = []  # of the table's columns
        self._rows = 0  # of the table so far

    def add(self, tokens: Sequence[Token]) -> None:
        """Read a page's tokens in their order."""
        for number, token in enumerate(tokens):
            match token.type:
                case "inline":
                    self._inline(token, tokens[number - 1])
                case "fence" | "code_block":
                    self._put(token.content.rstrip("\n"))
                case "html_block":
                    self._put(self._plain_html(token.content).strip())
                case "bullet_list_open" | "ordered_list_open":
                    self._listed = self._listed and bool(self._marks)
                    self._marks.append("" if token.type[0] == "b" else str(token.attrGet("start") or 1))
                case "bullet_list_close" | "ordered_list_close":
                    self._marks.pop()
                case "list_item_open":
                    self._item = self._next_mark()
                case "list_item_close":
                    self._item = ""
                case "table_open":
                    self._heads, self._rows = [], 0
                case "tr_open":
                    self._cells = []
                case "thead_close":
                    self._heads, self._cells = self._cells or [], None
                case "tr_close" if self._heads:
                    self._row()
                case "table_close" if not self._rows:
                    self._put("; ".join(filter(None, self._heads)))

    def _inline(self, token: Token, before: Token) -> None:
        text = _words(token.children or ())
        if self._cells is not None:
            self._cells.append(" ".join(text.split()))
        elif before.type == "heading_open":
            text = " ".join(text.split())
            self.title = self.title or text
            self._put(f"{'#' * int(before.tag[1])} {text}" if text else "")
        else:
            self._put(text)

    def _put(self, text: str) -> None:
        """Add a block; items of one list stand on lines of their own."""
        if not text.strip():
            return
        if self._item:
            text, self._item = f"{self._item} {text}", ""
            if self._listed:
                self.blocks[-1] += f"\n{text}"
                return
        self.blocks.append(text)
        self._listed = bool(self._marks)

    def _next_mark(self) -> str:
        if not self._marks[-1]:
            return "-"
        number = self._marks[-1]
        self._marks[-1] = str(int(number) + 1)
        return f"{number}."

    def _row(self) -> None:
        cells, self._cells = self._cells or [], None
        told = told_row(self._heads, cells)
        self._rows += bool(told)
        self._put(told)


def _words(tokens: Sequence[Token]) -> str:
    """The text of a line's tokens."""
    found: list[str] = []
    for token in tokens:
        match token.type:
            case "text" | "code_inline" | "text_special":
                found.append(token.content)
            case "softbreak" | "hardbreak":
                found.append("\n")
            case "html_inline" if _BREAK.match(token.content):
                found.append("\n")
    return "".join(found).strip()
