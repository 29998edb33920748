"""The text of a PDF: without what repeats at the edges of its pages, and with words whole that lines broke."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.scans import recognises, scanned_text

_NO_TITLE = re.compile(r"\A\s*Microsoft \w+ - |\.[A-Za-z][A-Za-z0-9]{1,4}\s*\Z|\A\W*untitled\W*\Z", re.IGNORECASE)
_EDGE = 3  # lines at the top and at the bottom of a page that may be a running head or foot
_LEAST_SHARE = 0.4  # of the pages: left and right ones may have heads of their own
_BROKEN = re.compile(r"([^\W_][\w'’-]*)(-|‐|\u00ad)[ \t]*\n[ \t]*(\w+)")
_BROKEN_NUMBER = re.compile(r"(?<![\d,.])(\d{1,3}(?:,\d{3})*,)[ \t]*\n[ \t]*(?=\d{3}(?!\d))")
_BEFORE_HYPHENS = (
    "all cross e ex full half high ill left long low mid part right self semi short vice well one two three four five "
    "six seven eight nine ten twenty thirty forty fifty sixty seventy eighty ninety"
)
_COMPOUNDING = frozenset(_BEFORE_HYPHENS.split())
_ENDINGS = "age ages ed en er est ing ish land lands less light lights ly ness some teen teenth time way ways"
_AFTER_NONE = frozenset(_ENDINGS.split())


def read_pdf(raw: bytes) -> tuple[str, str]:
    """Read a PDF's text layer; the title from its metadata, unless a program wrote a file's name there; raises
    DocumentError where the file is encrypted or has no text, and errors of pypdf where it is broken.

    The text of one without a text layer is recognised where Tesseract is installed.
    """
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(raw))
    locked = reader.is_encrypted and not reader.decrypt("")
    pages = [] if locked else [page.extract_text() for page in reader.pages]
    if not locked and recognises() and not "".join(pages).strip():
        pages = [scanned_text(page) for page in reader.pages]
    title = "" if locked else str((reader.metadata and reader.metadata.title) or "")
    if locked:
        raise DocumentError("the PDF is encrypted", fix="remove its password")
    text = whole_words("\n".join(without_edges(pages)))
    if not any(char.isalnum() for char in text):
        raise DocumentError("the PDF has no text layer", fix="install tesseract, or run a text recognition first")
    return "" if _NO_TITLE.search(title) else title, text


def without_edges(pages: Sequence[str]) -> list[str]:
    """Leave out lines at the edges of pages that stand on many of them, and numbers there that count the pages."""
    parted = [[line for line in page.split("\n") if line.strip()] for page in pages]
    counts: Counter[str] = Counter()
    for number, lines in enumerate(parted):
        counts.update({key for line in (*lines[:_EDGE], *lines[-_EDGE:]) for key in _keys(line, number)})
    least = max(2, _LEAST_SHARE * len(parted))

    def repeats(line: str, number: int) -> bool:
        return any(counts[key] >= least for key in _keys(line, number))

    kept = []
    for number, lines in enumerate(parted):
        start, end = 0, len(lines)
        while start < min(_EDGE, end) and repeats(lines[start], number):
            start += 1
        while end > max(start, len(lines) - _EDGE) and repeats(lines[end - 1], number):
            end -= 1
        kept.append("\n".join(lines[start:end]))
    return kept if any(kept) else list(pages)


def _keys(line: str, page: int) -> Iterator[str]:
    """What a line would say on the other pages, if it repeats there: the same, or the same but for a page's number."""
    line = " ".join(line.split())[:200]
    yield line
    for found in re.finditer(r"\d{1,5}", line):
        yield f"{line[: found.start()]}\0{int(found[0]) - page}\0{line[found.end() :]}"


def whole_words(text: str) -> str:
    """Join the words and numbers that line breaks part; a compound's hyphen stays."""
    words = Counter(re.findall(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*", text.casefold()))

    def joined(found: re.Match[str]) -> str:
        left, mark, right = found.groups()
        compound = mark != "\u00ad" and _compound(left.casefold(), right, words)
        return f"{left}{'-' if compound else ''}{right}"

    return _BROKEN_NUMBER.sub(r"\1", _BROKEN.sub(joined, text))


def _compound(left: str, right: str, words: Counter[str]) -> bool:
    """Whether a hyphen at a line's end is a word's own: the document itself knows, else the first part tells."""
    if not right[0].islower() or not left[-1].isalpha() or "-" in left:
        return True
    if words[f"{left}-{right}"] or words[f"{left}{right}"]:
        return words[f"{left}-{right}"] >= words[f"{left}{right}"]
    return left in _COMPOUNDING and right not in _AFTER_NONE
