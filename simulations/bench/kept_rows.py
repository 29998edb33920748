"""Rows of a long benchmark in a file, each with the code and models that made it, so that a stopped one goes on."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fedrag_flwr.evaluation.manifest import code_digest

Row = Mapping[str, Any]
T = TypeVar("T")


def this_code(*used: str) -> str:
    """Name what makes rows now: this code, with the models and settings that it uses."""
    return " ".join((code_digest(), *used))


class KeptRows(dict[str, Any]):
    """Rows by key, which are in a JSON-lines file, too.

    `path`: made if need be; remove it to measure anew; `made_by`: what makes rows now (`this_code`): those of another
    stay in the file, and are measured anew.
    """

    def __init__(self, path: Path, made_by: str) -> None:
        super().__init__()
        self.path, self._made_by, others = path, made_by, 0
        for line in map(json.loads, _cut_torn(path)):
            if line.get("made_by") == made_by and "key" in line:  # older rows have none
                self[line["key"]] = line["row"]
            else:
                others += 1
        if others:
            print(f"{path.name}: {others} rows of other code, models or settings are set aside", flush=True)

    def keep(self, key: str, row: Any) -> None:
        """Append a row."""
        self[key] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"made_by": self._made_by, "key": key, "row": row}) + "\n")

    def row(self, key: str, measure: Callable[..., T], *given: Any, **named: Any) -> T:
        """The row of a key, measured now, of what is given, if it is not known yet."""
        if key not in self:
            self.keep(key, measure(*given, **named))
        return self[key]  # type: ignore[no-any-return]


def _cut_torn(path: Path) -> list[bytes]:
    """The lines of a file; one that a killed process left half written, and would run into the next, is cut off."""
    if not path.is_file():
        return []
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    os.truncate(path, sum(map(len, lines)))
    return lines
