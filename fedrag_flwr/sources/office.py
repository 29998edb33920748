"""Written documents of office programs, by way of HTML or Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fedrag_flwr.sources.html import html_text
from fedrag_flwr.sources.markdown import plain_markdown
from fedrag_flwr.sources.tables import table_text

if TYPE_CHECKING:
    from pptx.shapes.base import BaseShape
    from pptx.text.text import TextFrame

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


def read_docx(raw: bytes) -> tuple[str, str]:
    """Read a Word document: headings, paragraphs, lists, tables and notes; the title is its first heading."""
    import mammoth

    no_pictures = mammoth.images.img_element(lambda _: {})
    return html_text(mammoth.convert_to_html(io.BytesIO(raw), style_map=_STYLES, convert_image=no_pictures).value)


def read_odt(raw: bytes) -> tuple[str, str]:
    """Read an OpenDocument text; the title is its first heading."""
    from odfdo import Document

    return plain_markdown(str(Document(io.BytesIO(raw)).to_markdown()), lambda html: html_text(html)[1])


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
