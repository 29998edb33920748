"""Readers of one file's bytes: plain text, Markdown, HTML, PDF and JSON lines."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator

from fedrag_flwr.errors import DocumentError

Reader = Callable[[bytes], tuple[str, str]]  # bytes -> (title or "", text)

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?=.*\w)(.+)\n=+\s*$", re.MULTILINE)
_FILE_NAME = re.compile(r"\A\s*Microsoft \w+ - |\.[A-Za-z][A-Za-z0-9]{1,4}\s*\Z")
_BLOCKS = (
    "p div section article main li ul ol dl dt dd blockquote pre table tr figure figcaption h1 h2 h3 h4 h5 h6 body hr"
)
_UNREAD = "script style noscript template nav footer svg head form button"


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
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        if named := _FRONT_TITLE.search(front[1]):
            title = named[1]
    if not title:
        headings = [found for found in (_UNDERLINED.search(text), _HEADING.search(text)) if found]
        title = _inline(min(headings, key=lambda found: found.start())[1]) if headings else ""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return title, "\n".join(_markdown_line(line) for line in text.split("\n"))


def _markdown_line(line: str) -> str:
    if re.match(r"\s*(?:```|~~~|\|?\s*:?-{2,}:?\s*\|)", line):
        return ""
    if line.lstrip().startswith("|"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        line = "; ".join(cell for cell in cells if cell)
    return _inline(re.sub(r"^\s*(?:>\s?)+", "", line))


def _inline(text: str) -> str:
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_]+?)(?<=\S)_(?!\w)", r"\1\2", text)
    text = re.sub(r"`([^`]*)`", r"\1", text)
    return re.sub(r"<(https?://[^>\s]+)>", r"\1", re.sub(r"</?[a-zA-Z][^<>]{0,200}>", "", text))


def read_html(raw: bytes) -> tuple[str, str]:
    """Read HTML: the title from ``title`` or ``h1``; paragraphs, headings, lists and table rows as text."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(decode(raw), "html.parser")
    named = soup.find("title") or soup.find("h1")
    title = named.get_text(" ", strip=True) if named else ""
    for element in soup.find_all(_UNREAD.split()):
        element.decompose()
    for string in soup.find_all(string=True):
        string.replace_with(re.sub(r"\s+", " ", string) if type(string).__name__ == "NavigableString" else "")
    for element in soup.find_all("br"):
        element.replace_with("\n")
    for element in soup.find_all(["td", "th"]):
        element.append("; ")
    for element in soup.find_all(_BLOCKS.split()):
        gap = "\n" if element.name in {"li", "tr"} else "\n\n"
        mark = "- " if element.name == "li" else "#" * int(element.name[1]) + " " if element.name[1:].isdigit() else ""
        element.insert_before(gap + mark)
        element.insert_after(gap)
    text = re.sub(r";\s*$", "", soup.get_text(), flags=re.MULTILINE)
    text = re.sub(r"^(\s*- )\s*\n", r"\1", text, flags=re.MULTILINE)
    return title, re.sub(r"(\n\s*- [^\n]*)\n[ \n]*(?=\n\s*- )", r"\1", text)


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


def read_json_lines(raw: bytes) -> Iterator[tuple[int, dict[str, str] | DocumentError]]:
    """Read JSON lines with ``text`` and optionally ``title`` and ``id``; yield line numbers with fields or errors."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, _json_document(decode(line))
            except DocumentError as error:
                yield number, error


def _json_document(line: str) -> dict[str, str]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise DocumentError("the line is not JSON", fix="write one JSON object on each line") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("text"), str):
        raise DocumentError("the line has no text", fix='write {"text": ..., "title": ..., "id": ...}')
    found = {"text": fields["text"]}
    for key in ("title", "id"):
        value = fields.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise DocumentError(f"the field {key} is not a string", fix="write it as a string or leave it out")
        if value is not None:
            found[key] = str(value)
    return found


READERS: dict[str, Reader] = {
    ".txt": read_plain,
    ".md": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
}
JSON_LINES = ".jsonl"
