"""Text recognition of scans, by Tesseract where it is installed. Photographs are left alone: few of them hold text."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from fedrag_flwr.errors import DocumentError

if TYPE_CHECKING:
    from pypdf import PageObject

SCANS = (".tif", ".tiff")  # beside PDF
_TESSERACT = "tesseract"
_SECONDS = 50  # for one page


def recognises() -> bool:
    """Whether Tesseract is installed."""
    return shutil.which(_TESSERACT) is not None


def read_scan(raw: bytes) -> tuple[str, str]:
    """The text that is recognised in a scan, which has no title; raises DocumentError where there is none, or the scan
    cannot be read.
    """
    if text := _recognised(raw):
        return "", text
    raise DocumentError("no text is recognised in it", fix="scan it with 300 dots an inch")


def scanned_text(page: PageObject) -> str:
    """The text that is recognised in the pictures of a PDF's page; "" where there are none."""
    return "\n\n".join(_recognised(picture.data) for picture in page.images)


def _recognised(picture: bytes) -> str:
    command = [_TESSERACT, "stdin", "stdout", "-l", _languages()]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        run = subprocess.run(
            command, input=picture, capture_output=True, timeout=_SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise DocumentError("its text is not recognised in time", fix="run a text recognition first") from None
    if run.returncode:
        raise DocumentError("the scan cannot be read", fix="scan it again")
    return run.stdout.decode("utf-8", "replace").strip()


@cache
def _languages() -> str:
    """All languages that are installed, as Tesseract takes them."""
    run = subprocess.run([_TESSERACT, "--list-langs"], capture_output=True, text=True, timeout=_SECONDS, check=True)
    return "+".join(name for name in run.stdout.split("\n")[1:] if name and name != "osd")
