"""Scans are read by Tesseract, in the process for foreign formats; photographs are not."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from fedrag_flwr.errors import EmptySourceError
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.sources.scans import recognises

pytestmark = pytest.mark.skipif(not recognises(), reason="tesseract is not installed")
PAGES = ("The boiler is serviced every October.", "Ask the caretaker for the key to the cellar.")


def page(text: str) -> Image.Image:
    """A white sheet with one line of print, as a scanner sees it."""
    sheet = Image.new("L", (1200, 300), 255)
    ImageDraw.Draw(sheet).text((60, 100), text, font=ImageFont.load_default(size=44), fill=0)
    return sheet


def saved(pages: list[Image.Image], kind: str) -> bytes:
    """Pages as one file."""
    file = io.BytesIO()
    pages[0].save(file, kind, save_all=True, append_images=pages[1:], dpi=(300, 300))
    return file.getvalue()


@pytest.mark.parametrize(("name", "kind"), [("house.pdf", "PDF"), ("house.tiff", "TIFF")])
def test_each_page_of_a_scan_is_read(name: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(saved([page(text) for text in PAGES], kind))
    [document] = FolderSource(tmp_path).read().documents
    assert all(text in " ".join(document.text.split()) for text in PAGES)


@pytest.mark.parametrize(
    ("name", "raw", "told"),
    [
        ("blank.pdf", saved([Image.new("L", (600, 300), 255)], "PDF"), "no text layer"),
        ("blank.tif", saved([Image.new("L", (600, 300), 255)], "TIFF"), "no text is recognised"),
        ("torn.tif", b"II*\0torn", "no text is recognised"),
    ],
)
def test_a_scan_without_text_is_named(name: str, raw: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(EmptySourceError, match=told):
        FolderSource(tmp_path).read()


def test_a_photograph_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The boiler is serviced every October.")
    page(PAGES[0]).save(tmp_path / "photo.jpg")
    [skipped] = FolderSource(tmp_path).read().skipped
    assert skipped.reason == "a picture, whose text is not recognised"
