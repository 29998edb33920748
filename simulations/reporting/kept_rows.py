"""Rows of numbers that a long benchmark has measured, kept by their settings so that a stopped one goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from simulations.reporting.row_file import RowFile

Row = Mapping[str, float | str]


class KeptRows:
    """Rows by key in a file.

    Parameters
    ----------
    file, made_by
        As of a `RowFile`: rows that another code or model made are measured anew.
    """

    def __init__(self, file: Path, made_by: str) -> None:
        self._file = RowFile(file, made_by)
        self._rows: dict[str, Row] = {one["key"]: one["row"] for one in self._file.rows()}

    def row(self, key: str, measure: Callable[[], Row]) -> Row:
        """The row of a key, measured now if it is not known yet."""
        if key not in self._rows:
            self._rows[key] = measure()
            self._file.add({"key": key, "row": self._rows[key]})
        return self._rows[key]
