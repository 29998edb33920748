"""Lines of a file that a killed process may have left half written."""

from __future__ import annotations

import os
from pathlib import Path


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file that end; none where there is no file."""
    lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
    return [line for line in lines if line.endswith(b"\n")]


def cut_torn(path: Path) -> list[bytes]:
    """Cut off a last line that does not end, which would run into the next, and give the others."""
    lines = whole_lines(path)
    if path.is_file():
        os.truncate(path, sum(map(len, lines)))
    return lines
