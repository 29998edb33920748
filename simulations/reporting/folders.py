"""Folders that results go to."""

from __future__ import annotations

from pathlib import Path


def out_folder(text: str) -> Path:
    """An argument's folder, made as soon as it is read: work of hours must not end at one that is missing."""
    folder = Path(text)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
