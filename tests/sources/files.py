"""Small files for the tests, and folders that may not be entered."""

import errno
import io
import os
from pathlib import Path

import pytest


def lock(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let nobody look at what lies in a folder, as where it may not be entered; tests may run as root."""
    stat, listdir = Path.stat, os.listdir

    def refuse(path: str | Path) -> None:
        if folder in Path(path).parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    def looking(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        refuse(path)
        return stat(path, follow_symlinks=follow_symlinks)

    def listing(path: str | Path = ".") -> list[str]:
        refuse(path)
        return listdir(path)

    patch.setattr(Path, "stat", looking)
    patch.setattr(os, "listdir", listing)


def pdf(text: str, title: str = "", password: str = "") -> bytes:
    """Write a one-page PDF with a line of text (none for an empty text)."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
    )
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode() if text else b"")
    page[NameObject("/Contents")] = writer._add_object(stream)
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
