"""Written documents of office programs, e-books and reStructuredText, by way of HTML or Markdown."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.etree import ElementTree

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.html import html_text
from fedrag_flwr.sources.markdown import plain_markdown
from fedrag_flwr.sources.tables import table_text

if TYPE_CHECKING:
    from pptx.shapes.base import BaseShape
    from pptx.text.text import TextFrame

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
_RST = {
    "file_insertion_enabled": False,  # a document must not read this device's other files
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "_disable_config": True,
    "embed_stylesheet": False,
    "math_output": "LaTeX",
}


def read_docx(raw: bytes) -> tuple[str, str]:
    """Read a Word document: headings, paragraphs, lists, tables and notes; the title is its first heading."""
    import mammoth

    no_pictures = mammoth.images.img_element(lambda _: {})
    return html_text(mammoth.convert_to_html(io.BytesIO(raw), style_map=_STYLES, convert_image=no_pictures).value)


def read_odt(raw: bytes) -> tuple[str, str]:
    """Read an OpenDocument text; the title is its first heading."""
    from odfdo import Document

    return plain_markdown(str(Document(io.BytesIO(raw)).to_markdown()), lambda html: html_text(html)[1])


def read_rst(raw: bytes) -> tuple[str, str]:
    """Read reStructuredText; files that it includes are not read."""
    from docutils.core import publish_parts

    from fedrag_flwr.sources.readers import decode

    return html_text(publish_parts(decode(raw), writer="html5", settings_overrides=_RST)["html_body"])


def read_pptx(raw: bytes) -> tuple[str, str]:
    """Read slides: each under its title, with its texts, tables and notes; the title is that of the first."""
    from pptx import Presentation

    titles, told = [], []
    for slide in Presentation(io.BytesIO(raw)).slides:
        head = slide.shapes.title
        title = " ".join(head.text_frame.text.split()) if head is not None else ""
        titles.append(title)
        told.append(f"## {title}" if title else "")
        told += _shapes(shape for shape in slide.shapes if head is None or shape.shape_id != head.shape_id)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            told += _paragraphs(notes)
    return next(filter(None, titles), ""), "\n\n".join(filter(None, told))


def _shapes(shapes: Iterable[BaseShape]) -> Iterator[str]:
    """The texts of a slide's shapes, also of grouped ones."""
    for shape in shapes:
        if getattr(shape, "has_table", False):
            rows = shape.table.rows  # type: ignore[attr-defined]
            yield table_text([[cell.text for cell in row.cells] for row in rows], headed=True)
        elif shape.has_text_frame:
            yield from _paragraphs(shape.text_frame)  # type: ignore[attr-defined]
        elif hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)


def _paragraphs(frame: TextFrame) -> Iterator[str]:
    for paragraph in frame.paragraphs:
        yield " ".join(paragraph.text.split())


def read_epub(raw: bytes) -> tuple[str, str]:
    """Read an e-book: its chapters in their order; raises DocumentError where it names no chapters, or is protected."""
    with zipfile.ZipFile(io.BytesIO(raw)) as book:
        container = ElementTree.fromstring(book.read("META-INF/container.xml"))
        package_name = next(str(one.get("full-path")) for one in container.iter() if _local(one) == "rootfile")
        package = list(ElementTree.fromstring(book.read(package_name)).iter())
        files = {one.get("id"): str(one.get("href")) for one in package if _local(one) == "item"}
        title = next((one.text or "" for one in package if _local(one) == "title"), "")
        chapters = dict.fromkeys(files[one.get("idref")] for one in package if _local(one) == "itemref")
        folder = posixpath.dirname(package_name)
        names = [posixpath.normpath(posixpath.join(folder, unquote(href))) for href in chapters]
        if "META-INF/encryption.xml" in book.namelist():  # often of fonts alone
            locked = book.read("META-INF/encryption.xml").decode("utf-8", "replace")
            if any(f'"{name}"' in locked for name in names):
                raise DocumentError("the e-book is protected", fix="export it without protection")
        pages = [book.read(name) for name in names]
    texts = [html_text(page.decode("utf-8", "replace"))[1] for page in pages]
    if not any(texts):
        raise DocumentError("the e-book holds no text", fix="export it again")
    return title.strip(), "\n\n".join(filter(None, texts))


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
