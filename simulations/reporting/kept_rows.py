"""Rows of a long benchmark in a file, each with the code and models that made it, so that a stopped one goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrag_flwr.evaluation.manifest import code_digest

Row = Mapping[str, float | str]


def this_code(*used: str) -> str:
    """Name what makes rows now: this code, with the models and settings that it uses."""
    return " ".join((code_digest(), *used))


@dataclass(frozen=True, slots=True)
class RowFile:
    """Rows in a JSON-lines file.

    Parameters
    ----------
    path
        Made if need be; remove it to measure anew.
    made_by
        What makes rows now (`this_code`): those of another stay in the file, and are measured anew.
    """

    path: Path
    made_by: str

    def rows(self) -> list[dict[str, Any]]:
        """The rows of this code and these models; a torn last line is cut off, and how many are others' is told."""
        found = [json.loads(line) for line in _cut_torn(self.path)]
        own = [row for row in found if row.pop("made_by", None) == self.made_by]
        if others := len(found) - len(own):
            print(f"{self.path.name}: {others} rows of other code, models or settings are set aside", flush=True)
        return own

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Append rows."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps({"made_by": self.made_by, **row}) + "\n" for row in rows)


class KeptRows:
    """Rows by key in a file; `file` and `made_by` are those of a `RowFile`."""

    def __init__(self, file: Path, made_by: str) -> None:
        self._file = RowFile(file, made_by)
        self._rows: dict[str, Row] = {one["key"]: one["row"] for one in self._file.rows()}

    def row(self, key: str, measure: Callable[[], Row]) -> Row:
        """The row of a key, measured now if it is not known yet."""
        if key not in self._rows:
            self._rows[key] = measure()
            self._file.add({"key": key, "row": self._rows[key]})
        return self._rows[key]


def _cut_torn(path: Path) -> list[bytes]:
    """The lines of a file; one that a killed process left half written, and would run into the next, is cut off."""
    if not path.is_file():
        return []
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    os.truncate(path, sum(map(len, lines)))
    return lines
