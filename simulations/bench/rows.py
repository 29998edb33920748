"""A benchmark's rows on disk: one line an answer, appended and synchronised, so that a killed run loses at most one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from fedrag_flwr.baselines import Construction
from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer, BuildReport

PLAN, ROWS = "plan.json", "rows.jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """One system's answer to one question, or what it did before its first (then `answer` is None)."""

    dataset: str
    system: str
    question_id: str = ""
    answer: Answer | None = None
    traffic: Traffic = field(default_factory=Traffic)
    builds: tuple[BuildReport, ...] = ()
    peak_rss_mb: float = 0.0
    constructions: tuple[Construction, ...] = ()


_ROW = TypeAdapter(Row)


class Rows:
    """The rows of one results folder.

    Parameters
    ----------
    folder
        Made if need be.
    digest
        Of the plan; a folder that holds rows of another plan is refused.
    told
        The plan as JSON values, written beside the rows.

    Raises
    ------
    StoreMismatchError
        The folder belongs to another plan.
    """

    def __init__(self, folder: Path, digest: str, told: dict[str, object]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        plan = folder / PLAN
        if plan.is_file() and json.loads(plan.read_text(encoding="utf-8")).get("digest") != digest:
            raise StoreMismatchError(
                "the folder holds results of another plan (data, setting, devices, questions, seed or settings differ)",
                where=folder.name,
                fix="choose another --out",
            )
        plan.write_text(json.dumps(told, indent=1, default=str) + "\n", encoding="utf-8")
        self._path = folder / ROWS
        self._rows = {(row.dataset, row.system, row.question_id): row for row in self._read()}

    def __contains__(self, key: tuple[str, str, str]) -> bool:
        return key in self._rows

    def of(self, dataset: str, system: str) -> list[Row]:
        """All rows of a system over a dataset, in the order in which they were made."""
        return [row for row in self._rows.values() if (row.dataset, row.system) == (dataset, system)]

    def add(self, row: Row) -> None:
        """Append a row; once this returns it survives a crash."""
        line = json.dumps(asdict(row), ensure_ascii=False)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[row.dataset, row.system, row.question_id] = row

    def _read(self) -> Iterator[Row]:
        """The rows so far; a last line that a crash tore is cut off.

        Raises
        ------
        StoreCorruptError
            Another line is no row.
        """
        lines = self._path.read_bytes().splitlines(keepends=True) if self._path.is_file() else []
        if lines and not lines[-1].endswith(b"\n"):
            os.truncate(self._path, sum(map(len, lines[:-1])))
            lines.pop()
        for number, line in enumerate(lines, 1):
            try:
                yield _ROW.validate_json(line)
            except ValidationError:
                raise StoreCorruptError(
                    "the line is not a row",
                    where=f"{ROWS}:{number}",
                    fix="delete the line, its question is asked again",
                ) from None
