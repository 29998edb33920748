"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, body: bytes) -> None:
    """Put a file in place of an older one, if any, in one step."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    with fresh.open("wb") as handle:
        handle.write(body)
        handle.flush()
        os.fsync(handle.fileno())
    fresh.replace(path)
