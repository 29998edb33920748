"""Rows of numbers that a long benchmark has measured, kept by their settings so that a stopped one goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from simulations.reporting.lines import cut_torn

Row = Mapping[str, float | str]


class KeptRows:
    """Rows in a JSON-lines file.

    Parameters
    ----------
    file
        Made if need be; remove it to measure anew.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = cut_torn(file)
        self._rows: dict[str, Row] = {one["key"]: one["row"] for one in map(json.loads, lines)}

    def row(self, key: str, measure: Callable[[], Row]) -> Row:
        """The row of a key, measured now if it is not known yet."""
        if key not in self._rows:
            self._rows[key] = measure()
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"key": key, "row": self._rows[key]}) + "\n")
            print(key, self._rows[key], flush=True)
        return self._rows[key]
