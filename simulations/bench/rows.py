"""What systems answered, a line each as it comes: a killed run goes on after the last whole one."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer, BuildReport, failed
from simulations.bench.kept_rows import KeptRows


@dataclass(frozen=True, slots=True)
class Row:
    """One system's answer to one question, or what it did before its first (then `question_id` is empty).

    `answer` is None where none came; `server_seconds` are those of the server's own work.
    """

    system: str
    question_id: str = ""
    answer: Answer | None = None
    traffic: Traffic = field(default_factory=Traffic)
    builds: tuple[BuildReport, ...] = ()
    server_seconds: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether there is nothing to ask again: an answer, and not only an error in its place."""
        return not self.question_id or (self.answer is not None and not failed(self.answer))


_ROW = TypeAdapter(Row)


class Rows(dict[tuple[str, str], Row]):
    """The rows of one run, by system and question.

    `path`: the file, made if need be; `made_by`: the code, models and plan of rows that count (`this_code`); others are
    set aside, and asked anew.
    """

    def __init__(self, path: Path, made_by: str) -> None:
        self._kept = KeptRows(path, made_by)
        read = (_ROW.validate_json(json.dumps(row)) for row in self._kept.values())
        super().__init__({(row.system, row.question_id): row for row in read if row.answered})

    def of(self, system: str) -> list[Row]:
        """All rows of a system, in the order in which they were made."""
        return [row for row in self.values() if row.system == system]

    def add(self, row: Row) -> None:
        """Append a row."""
        self._kept.keep(f"{row.system} {row.question_id}", asdict(row))
        self[row.system, row.question_id] = row
