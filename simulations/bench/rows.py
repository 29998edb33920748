"""A benchmark's rows on disk: one line an answer, appended and synchronised, so that a killed run loses at most one."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import mean

from pydantic import TypeAdapter, ValidationError

from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError
from fedrag_flwr.evaluation.manifest import load_average
from fedrag_flwr.evaluation.results import writing
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.files import replace_file
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import Answer, BuildReport, failed
from simulations.baselines import Construction
from simulations.reporting.lines import cut_torn, whole_lines

Pairs = tuple[tuple[str, str | int | float], ...]

PLAN, ROWS, LOCK = "plan.json", "rows.jsonl", "lock"  # the last is held as long as a process is at work there


@dataclass(frozen=True, slots=True)
class Session:
    """One process that made rows: its code's hash, its generator's id, when it began, and what else it ran with.

    `began` is in seconds since the epoch; the others are what the manifest tells under these names, in pairs.
    """

    code: str
    generator: str
    began: float
    versions: Pairs = ()
    models: Pairs = ()
    machine: Pairs = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One system's answer to one question, or what it did before its first (then `answer` is None).

    `server_seconds` are those of the server's own work for it; `at` is when it was kept, in seconds since the epoch;
    `load` is how many processes wanted a core in the minute before; `peak_rss_mb` is that of its process until then.
    """

    dataset: str
    system: str
    question_id: str = ""
    answer: Answer | None = None
    traffic: Traffic = field(default_factory=Traffic)
    builds: tuple[BuildReport, ...] = ()
    peak_rss_mb: float = 0.0
    constructions: tuple[Construction, ...] = ()
    server_seconds: float = 0.0
    session: Session | None = None
    at: float = 0.0
    load: float = 0.0


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
    session
        Of this process; each row that it adds names it.

    Raises
    ------
    StoreMismatchError
        The folder belongs to another plan.
    StoreFullError, StoreError
        The disk is full, or nothing can be written there.
    """

    def __init__(self, folder: Path, digest: str, told: dict[str, object], session: Session) -> None:
        self._session = session
        self._path = folder / ROWS
        with writing(folder.name):
            folder.mkdir(parents=True, exist_ok=True)
            _keep_plan(folder, digest, told)
            cut_torn(self._path)
            self._rows = {_key(row): row for row in read_rows(folder)}

    def __contains__(self, key: tuple[str, str, str]) -> bool:
        return key in self._rows

    def answered(self, dataset: str, system: str, question_id: str) -> bool:
        """Whether a question has an answer; one that only an error kept from being given is asked again."""
        row = self._rows.get((dataset, system, question_id))
        return row is not None and row.answer is not None and not failed(row.answer)

    def of(self, dataset: str, system: str) -> list[Row]:
        """All rows of a system over a dataset, in the order in which they were made."""
        return [row for row in self._rows.values() if (row.dataset, row.system) == (dataset, system)]

    def sessions(self, systems: Collection[str]) -> dict[Session, float]:
        """The processes that made rows of some systems, in turn, each with the seconds to its last row."""
        made = [row for row in self._rows.values() if row.system in systems and row.session is not None]
        found: dict[Session, float] = {}
        for row in sorted(made, key=lambda row: row.at):
            assert row.session is not None
            found[row.session] = row.at - row.session.began
        return found

    def load(self, systems: Collection[str]) -> float | None:
        """How many processes wanted a core on average while some systems were asked; None where none was."""
        told = [row.load for row in self._rows.values() if row.system in systems and row.question_id]
        return mean(told) if told else None

    def peak_rss_mb(self, systems: Collection[str]) -> float:
        """The largest memory that a process had when it made a row of some systems, in MB."""
        return max((row.peak_rss_mb for row in self._rows.values() if row.system in systems), default=0.0)

    def add(self, row: Row) -> None:
        """Append a row; once this returns it survives a crash.

        Raises
        ------
        StoreFullError, StoreError
            The disk is full, or the row cannot be written; the rows before it are kept.
        """
        peak = max(row.peak_rss_mb, peak_rss_mb())
        row = replace(row, session=self._session, at=time.time(), load=load_average()[0], peak_rss_mb=peak)
        line = json.dumps(asdict(row), ensure_ascii=False)
        with writing(self._path.parent.name), self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[_key(row)] = row


def read_rows(folder: Path) -> list[Row]:
    """The rows of a results folder so far, of a question asked again the last.

    A last line that is not whole, written now or torn by a crash, is left out.

    Raises
    ------
    StoreCorruptError
        Another line is no row.
    """
    rows = [_row(number, line) for number, line in enumerate(whole_lines(folder / ROWS), 1)]
    return list({_key(row): row for row in rows}.values())


def _key(row: Row) -> tuple[str, str, str]:
    return row.dataset, row.system, row.question_id


def _keep_plan(folder: Path, digest: str, told: dict[str, object]) -> None:
    """Write the plan beside the rows, unless it is there, or another is."""
    plan = folder / PLAN
    if plan.is_file() and _digest_in(plan) != digest:
        raise StoreMismatchError(
            "the folder holds results of another plan (data, setting, devices, questions, seed or settings differ)",
            where=folder.name,
            fix="choose another --out",
        )
    body = (json.dumps(told, indent=1, default=str) + "\n").encode()
    if not plan.is_file() or plan.read_bytes() != body:
        replace_file(plan, body, 0o644)


def _digest_in(plan: Path) -> object:
    try:
        return TypeAdapter(dict[str, object]).validate_json(plan.read_bytes()).get("digest")
    except ValidationError:
        raise StoreCorruptError(
            "it is no plan of a benchmark", where=str(plan), fix="choose another --out, or put the file back"
        ) from None


def _row(number: int, line: bytes) -> Row:
    try:
        return _ROW.validate_json(line)
    except ValidationError:
        raise StoreCorruptError(
            "the line is not a row", where=f"{ROWS}:{number}", fix="delete the line, its question is asked again"
        ) from None
