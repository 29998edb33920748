"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def replace_file(path: Path, body: bytes) -> None:
    """Put a file in place of an older one, if any, in one step that lasts; where it fails the older one stays."""
    fresh = _fresh(path)
    try:
        with fresh.open("wb") as handle:
            handle.write(body)
            handle.flush()
            os.fsync(handle.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_private(path: Path, body: bytes) -> None:
    """Write a new file that its owner alone can read.

    Raises
    ------
    FileExistsError
        There is one already.
    """
    fresh = _fresh(path)
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as handle:
            handle.write(body)
            handle.flush()
            os.fsync(handle.fileno())
        os.link(fresh, path)  # whole or not at all, and never over another
    finally:
        fresh.unlink(missing_ok=True)


def _fresh(path: Path) -> Path:
    """A name beside a file that no other process or thread writes to."""
    return path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
