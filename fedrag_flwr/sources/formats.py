"""Which files are read, by their endings: some here, those of foreign programs in a process of their own."""

from __future__ import annotations

import io
import logging
import zipfile
from functools import partial

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.data import read_ipynb, read_json
from fedrag_flwr.sources.mail import read_eml, read_mbox
from fedrag_flwr.sources.office import read_docx, read_epub, read_odt, read_pptx, read_rst
from fedrag_flwr.sources.pdf import read_pdf
from fedrag_flwr.sources.readers import Reader, in_utf8, read_html, read_markdown, read_plain
from fedrag_flwr.sources.scans import SCANS, read_scan, recognises
from fedrag_flwr.sources.sheets import read_csv, read_ods, read_tsv, read_xlsx

JSON_LINES = ".jsonl"
_MOST_UNPACKED = 512 * 2**20  # bytes
_LOG = logging.getLogger(__name__)


def read_attached(suffix: str, raw: bytes) -> str:
    """The text of a message's attachment; "" for one that is not read, of which a warning tells."""
    reader = READERS.get(suffix) or FOREIGN.get(suffix)
    if reader is None or suffix in {".eml", ".mbox"}:
        _LOG.warning("an attachment is %s", why_unread(suffix))
        return ""
    if suffix in TEXTS:
        raw, code = in_utf8(raw)
        if code:
            _LOG.warning("an attachment is not UTF-8, and is read as %s", code)
    try:
        return reader(raw)[1]
    except Exception as error:  # foreign bytes make parsers raise kinds beyond their own; the message is read
        _LOG.warning("an attachment (%s) cannot be read (%s)", suffix, type(error).__name__)
        return ""


def _packed(read: Reader, raw: bytes) -> tuple[str, str]:
    """Read a format that is a ZIP archive: one that is none, or unpacks to too much, is not given to its library."""
    if raw.startswith(b"\xd0\xcf\x11\xe0"):
        raise DocumentError("it has a password, or is of an older format", fix="save it anew, without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        raise DocumentError("the file is broken", fix="export it again") from None
    if unpacked > _MOST_UNPACKED:
        raise DocumentError(f"it unpacks to more than {_MOST_UNPACKED} bytes", fix="split it")
    return read(raw)


_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
_PACKED: dict[str, Reader] = {
    ".docx": read_docx,
    ".pptx": read_pptx,
    ".xlsx": read_xlsx,
    ".odt": read_odt,
    ".ods": read_ods,
    ".epub": read_epub,
}
READERS: dict[str, Reader] = {
    **dict.fromkeys((".txt", ".text", ".log"), read_plain),
    **dict.fromkeys(_MARKDOWN, read_markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".json": read_json,
    ".ipynb": read_ipynb,
}
"""Those that read text by little more than the standard library."""

FOREIGN: dict[str, Reader] = {
    **{suffix: partial(_packed, reader) for suffix, reader in _PACKED.items()},
    ".pdf": read_pdf,
    ".rst": read_rst,
    ".eml": partial(read_eml, attached=read_attached),
    ".mbox": partial(read_mbox, attached=read_attached),
    **(dict.fromkeys(SCANS, read_scan) if recognises() else {}),
}
"""Those that may crash, hang or take all memory: run them by a `Converter`."""

TEXTS = frozenset({*READERS, ".rst"} - {".json", ".ipynb"})
"""Those that need not be UTF-8."""

ENDINGS = (*READERS, *FOREIGN, JSON_LINES)
"""Of all files that are read."""

_SHORT = frozenset({".txt", ".md", ".html", ".htm", ".pdf"})
_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".webp", ".heic", ".heif", ".svg"})
_OLDER = frozenset({".doc", ".dot", ".xls", ".ppt", ".pps", ".rtf", ".msg", ".wpd"})


def stem_of(name: str) -> str:
    """A document's id: its file's name, without the ending where it is one of the first five that were read.

    The others keep theirs, so that a sheet and a text of one name are two documents.
    """
    stem, dot, ending = name.rpartition(".")
    return stem if f"{dot}{ending}".lower() in _SHORT | {JSON_LINES} else name


def why_unread(suffix: str) -> str:
    """Why files of an ending are passed over; never the ending itself, which may be part of a person's name."""
    if suffix in _PICTURES:
        return "a picture, whose text is not recognised"
    if suffix in _OLDER:
        return "of an older office format (save it anew)"
    return "of a kind that is not read"
