"""Readers of one file's bytes: plain text, Markdown, HTML, PDF and JSON lines."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.markdown import plain_markdown

if TYPE_CHECKING:
    from bs4 import Tag
    from bs4.element import PageElement

Reader = Callable[[bytes], tuple[str, str]]  # bytes -> (title or "", text)

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_FRONT_LINE = re.compile(r"\s*(?:$|#|- |[\w.-]+\s*:)|\s+\S")  # of YAML; between two rules may stand text
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_FILE_NAME = re.compile(r"\A\s*Microsoft \w+ - |\.[A-Za-z][A-Za-z0-9]{1,4}\s*\Z")
_TEXTS = "p div section article main blockquote pre figure figcaption body hr h1 h2 h3 h4 h5 h6"
_BLOCKS = frozenset(_TEXTS.split()) | {"li", "ul", "ol", "dl", "dt", "dd", "table", "tr"}
_UNREAD = frozenset({"script", "style", "noscript", "template", "nav", "footer", "svg", "head"}) | {
    *("button", "input", "select", "option", "textarea")
}


def decode(raw: bytes) -> str:
    """Decode UTF-8, with or without a byte-order mark.

    Raises
    ------
    DocumentError
        The bytes are not UTF-8.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 at byte {error.start}", fix="save the file as UTF-8") from None


def read_plain(raw: bytes) -> tuple[str, str]:
    """Read plain text; it has no title of its own."""
    return "", decode(raw)


def read_markdown(raw: bytes) -> tuple[str, str]:
    """Read Markdown: the title from the front matter or the first heading; headings and lists stay, other marks go."""
    text = decode(raw).replace("\r\n", "\n").replace("\r", "\n")
    title = ""
    if (front := _FRONT_MATTER.match(text)) and all(map(_FRONT_LINE.match, front[1].split("\n"))):
        text = text[front.end() :]
        if named := _FRONT_TITLE.search(front[1]):
            title = named[1]
    heading, plain = plain_markdown(text, lambda html: _html_text(html)[1])
    return title or heading, plain


def read_html(raw: bytes) -> tuple[str, str]:
    """Read HTML: the title from ``title`` or ``h1``; paragraphs, headings, lists and table rows as text."""
    return _html_text(decode(raw))


def _html_text(html: str) -> tuple[str, str]:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    named = soup.find("title") or soup.find("h1")
    title = named.get_text(" ", strip=True) if named else ""
    text = re.sub(r"\n[ \n]*\n", "\n\n", "".join(_html_pieces(soup)))
    text = re.sub(r";[ \t]*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^([ \t]*- )\s*\n", r"\1", text, flags=re.MULTILINE)
    return title, re.sub(r"(\n\s*- [^\n]*)\n[ \n]*(?=\n\s*- )", r"\1", text)


def _html_pieces(soup: Tag) -> Iterator[str]:
    """What a page says, in order: each node is looked at once, however many or deep they are."""
    waiting: list[PageElement | str] = [soup]
    while waiting:
        node = waiting.pop()
        kind = type(node).__name__
        if kind == "str":
            yield str(node)
        elif kind == "NavigableString":  # comments and other declarations are kinds of their own
            yield re.sub(r"\s+", " ", str(node))
        elif (name := getattr(node, "name", None)) and name not in _UNREAD:
            before, after = _around(name)
            waiting += [after, *reversed(getattr(node, "contents", ())), before]


def _around(name: str) -> tuple[str, str]:
    """What stands before and after the text of an element."""
    if name == "br":
        return "\n", ""
    if name in {"td", "th"}:
        return "", "; "
    if name not in _BLOCKS:
        return "", ""
    gap = "\n" if name in {"li", "tr"} else "\n\n"
    mark = "- " if name == "li" else "#" * int(name[1]) + " " if name[1:].isdecimal() else ""
    return gap + mark, gap


def read_pdf(raw: bytes) -> tuple[str, str]:
    """Read a PDF's text layer; the title from its metadata, unless a program wrote a file's name there.

    Raises
    ------
    DocumentError
        The file is encrypted, broken or has no text layer.
    """
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(raw))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [page.extract_text() for page in reader.pages]
        title = "" if locked else str((reader.metadata and reader.metadata.title) or "")
    except Exception as error:  # foreign bytes make the parser raise kinds beyond its own
        raise DocumentError(f"the PDF cannot be read ({type(error).__name__})", fix="export it again") from None
    if locked:
        raise DocumentError("the PDF is encrypted", fix="remove its password")
    text = re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", "\n".join(pages))
    if not any(char.isalnum() for char in text):
        raise DocumentError("the PDF has no text layer", fix="run a text recognition over the scan first")
    return "" if _FILE_NAME.search(title) else title, text


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A document of a JSON-lines file, or why a line holds none.

    Parameters
    ----------
    number
        Of the line, from 1.
    id
        What it says its id is; "" where it says none, None where that cannot be read.
    title, text
        Of the document.
    error
        Why there is none.
    """

    number: int
    id: str | None
    title: str = ""
    text: str = ""
    error: DocumentError | None = None


def read_json_lines(raw: bytes) -> Iterator[JsonLine]:
    """Read JSON lines with ``text`` and optionally ``title`` and ``id``."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            name: str | None = None
            try:
                fields = _json_object(decode(line))
                name = _json_field(fields, "id")
                title, text = _json_field(fields, "title"), fields.get("text")
                if not isinstance(text, str):
                    raise DocumentError("the line has no text", fix="write its text into a field text")
                yield JsonLine(number, name, title, text)
            except DocumentError as error:
                yield JsonLine(number, name, error=error)


def _json_object(line: str) -> dict[str, object]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise DocumentError("the line is not JSON", fix="write one JSON object on each line") from None
    if not isinstance(fields, dict):
        raise DocumentError("the line has no text", fix="write one JSON object on each line")
    return fields


def _json_field(fields: Mapping[str, object], key: str) -> str:
    """A field's value; "" where there is none."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise DocumentError(f"the field {key} is not a string", fix="write it as a string or leave it out")
    return "" if value is None else str(value)


READERS: dict[str, Reader] = {
    ".txt": read_plain,
    ".md": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
}
JSON_LINES = ".jsonl"
