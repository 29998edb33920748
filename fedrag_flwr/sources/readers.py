"""Readers of one file's bytes: plain text, Markdown, HTML and JSON lines."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from charset_normalizer import from_bytes

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.aligned import tables_told
from fedrag_flwr.sources.html import html_text
from fedrag_flwr.sources.markdown import plain_markdown

Reader = Callable[[bytes], tuple[str, str]]  # bytes -> (title or "", text)

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_FRONT_LINE = re.compile(r"\s*(?:$|#|- |[\w.-]+\s*:)|\s+\S")  # of YAML; between two rules may stand text
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)


# what Windows-1252 makes of another code: a sign in a word, letters of few languages, many accents in a row
_OTHER_CODE = re.compile(r"[^\W\d_][¡-©¬®-¶¸¹¼-¿×÷][^\W\d_]|[ÐÝÞðýþ]|[À-ÿ]{3}")


def decode(raw: bytes) -> str:
    """Decode UTF-8, with or without a byte-order mark; raises DocumentError where the bytes are not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 at byte {error.start}", fix="save the file as UTF-8") from None


def in_utf8(raw: bytes) -> tuple[bytes, str]:
    """A text of an older program in UTF-8, and how it was read: UTF-16 with its mark, or Windows-1252 where plausible.

    The second is "" for UTF-8, and for what is neither, which stays as it is.
    """
    try:
        if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return raw.decode("utf-16").encode(), "UTF-16"
        raw.decode("utf-8")
    except UnicodeDecodeError:
        found = from_bytes(raw, cp_isolation=["cp1252"], enable_fallback=False).best()
        if found is not None and not _OTHER_CODE.search(str(found)):
            return str(found).encode(), "Windows-1252"
    return raw, ""


def read_plain(raw: bytes) -> tuple[str, str]:
    """Read plain text; it has no title of its own. Tables that blanks align are read by rows."""
    return "", tables_told(decode(raw).replace("\r\n", "\n").replace("\r", "\n"))


def read_markdown(raw: bytes) -> tuple[str, str]:
    """Read Markdown: the title from the front matter or the first heading; headings and lists stay, other marks go."""
    text = decode(raw).replace("\r\n", "\n").replace("\r", "\n")
    title = ""
    if (front := _FRONT_MATTER.match(text)) and all(map(_FRONT_LINE.match, front[1].split("\n"))):
        text = text[front.end() :]
        if named := _FRONT_TITLE.search(front[1]):
            title = named[1]
    heading, plain = plain_markdown(text, lambda html: html_text(html)[1])
    return title or heading, plain


def read_html(raw: bytes) -> tuple[str, str]:
    """Read HTML: the title from ``title`` or ``h1``; paragraphs, headings, lists and table rows as text."""
    return html_text(decode(raw))


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A document of a JSON-lines file, or why a line holds none."""

    number: int  # of the line, from 1
    id: str | None  # what it says its id is; "" where it says none, None where that cannot be read
    # title, text: of the document.
    title: str = ""
    text: str = ""
    error: DocumentError | None = None  # why there is none


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
