"""Files of office programs, sheets, mail and books for the tests, written by the formats' own libraries."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from email.message import EmailMessage
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import odfdo

Rows = Sequence[Sequence[object]]
STAFF: Rows = (("Role", "Ext."), ("Bookkeeper", 105), ("Porter", 107))


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


def docx(title: str, paragraphs: Sequence[str], rows: Rows = ()) -> bytes:
    """Write a Word document."""
    import docx

    document = docx.Document()
    document.add_heading(title, 0)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if rows:
        table = document.add_table(len(rows), len(rows[0]))
        for place, row in enumerate(rows):
            for cell, value in zip(table.rows[place].cells, row, strict=True):
                cell.text = str(value)
    return _saved(document.save)


def pptx(title: str, text: str, notes: str = "", rows: Rows = ()) -> bytes:
    """Write a slide."""
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    assert slide.shapes.title is not None
    slide.shapes.title.text_frame.text = title
    slide.placeholders[1].text_frame.text = text
    if rows:
        inch = Inches(1)
        table = slide.shapes.add_table(len(rows), len(rows[0]), inch, inch, inch, inch).table
        for place, row in enumerate(rows):
            for column, value in enumerate(row):
                table.cell(place, column).text = str(value)
    if notes:
        frame = slide.notes_slide.notes_text_frame
        assert frame is not None
        frame.text = notes
    return _saved(deck.save)


def xlsx(sheets: Mapping[str, Rows], shown: Mapping[str, str] | None = None, hidden: Sequence[str] = ()) -> bytes:
    """Write a workbook; `shown` has number formats by cell."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for row in rows:
            sheet.append(row)
        for cell, how in (shown or {}).items():
            sheet[cell].number_format = how
    return _saved(book.save)


def odt(title: str, text: str, rows: Rows = ()) -> bytes:
    """Write an OpenDocument text."""
    import odfdo

    document = odfdo.Document("text")
    document.body.clear()
    document.body.append(odfdo.Header(1, title))
    document.body.append(odfdo.Paragraph(text))
    if rows:
        document.body.append(_table("Staff", rows))
    return _saved(document.save)


def ods(name: str, rows: Rows) -> bytes:
    """Write an OpenDocument spreadsheet."""
    import odfdo

    document = odfdo.Document("spreadsheet")
    document.body.clear()
    document.body.append(_table(name, rows))
    return _saved(document.save)


def _table(name: str, rows: Rows) -> odfdo.Table:
    import odfdo

    table = odfdo.Table(name)
    for place, row in enumerate(rows):
        table.set_row_values(place, [value if isinstance(value, int | timedelta) else str(value) for value in row])
    return table


def epub(title: str, chapters: Sequence[str], locked: Sequence[str] = ()) -> bytes:
    """Write an e-book, its chapters in another order than that of their names; `locked` files are said to be so."""
    names = [f"c{len(chapters) - place}.xhtml" for place in range(len(chapters))]
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", container)
        book.writestr("OEBPS/content.opf", package)
        if locked:
            told = "".join(f'<CipherReference URI="OEBPS/{name}"/>' for name in locked)
            book.writestr("META-INF/encryption.xml", f"<encryption>{told}</encryption>")
        for name, chapter in zip(names, chapters, strict=True):
            book.writestr(f"OEBPS/{name}", f"<html><head><title>x</title></head><body>{chapter}</body></html>")
    return out.getvalue()


def message(
    subject: str, text: str = "", html: str = "", attachments: Mapping[str, bytes] | None = None
) -> EmailMessage:
    """Write a message."""
    mail = EmailMessage()
    mail["Subject"] = subject
    mail["From"] = "Ada Morrow <ada@ward.example>"
    mail["To"] = "rota@ward.example"
    mail["Date"] = "Mon, 02 Mar 2026 09:30:00 +0000"
    if text or not html:
        mail.set_content(text)
        if html:
            mail.add_alternative(html, subtype="html")
    else:
        mail.set_content(html, subtype="html")
    for name, raw in (attachments or {}).items():
        mail.add_attachment(raw, maintype="application", subtype="octet-stream", filename=name)
    return mail


def mbox(messages: Sequence[EmailMessage]) -> bytes:
    """Write a mailbox."""
    return b"".join(b"From ada@ward.example Mon Mar  2 09:30:00 2026\n" + bytes(one) + b"\n" for one in messages)


def notebook(*cells: Mapping[str, object]) -> bytes:
    """Write a notebook of the fourth format."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}).encode()


def bomb(member: str = "word/document.xml", size: int = 2**30) -> bytes:
    """Write an archive that unpacks to a thousand times its size."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(member, "w") as told:
        for _ in range(size // 2**20):
            told.write(bytes(2**20))
    return out.getvalue()


DAY = date(2026, 3, 2)
