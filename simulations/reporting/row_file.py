"""Rows of a long benchmark in a file, each with the code and the models that made it, so that a stopped one goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrag_flwr.evaluation.manifest import code_digest
from simulations.reporting.lines import cut_torn


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
        found = [json.loads(line) for line in cut_torn(self.path)]
        own = [row for row in found if row.pop("made_by", None) == self.made_by]
        if others := len(found) - len(own):
            print(f"{self.path.name}: {others} rows of other code, models or settings are set aside", flush=True)
        return own

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Append rows."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps({"made_by": self.made_by, **row}) + "\n" for row in rows)
