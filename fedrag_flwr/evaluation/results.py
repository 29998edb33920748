"""A run's results on disk: summary.json, answers.jsonl and report.html, written whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from fedrag_flwr.errors import FedragError, NotFoundError, SettingError, StoreCorruptError, StoreError, StoreFullError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.manifest import Manifest
from fedrag_flwr.evaluation.report import render_report
from fedrag_flwr.evaluation.rows import AnswerRow, answer_rows
from fedrag_flwr.evaluation.scoring import SystemResult
from fedrag_flwr.evaluation.summary import Summary, summarise
from fedrag_flwr.files import replace_file, sync
from fedrag_flwr.records import MOST_SECONDS, Answer, BuildReport
from fedrag_flwr.sqlite_errors import FULL

SUMMARY, ANSWERS, REPORT = "summary.json", "answers.jsonl", "report.html"

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_Record = TypeVar("_Record")


def write_results(
    root: Path,
    run_id: str,
    manifest: Manifest,
    systems: Mapping[str, SystemResult],
    answers: Mapping[str, Sequence[Answer]],
    gold: Sequence[GoldQuestion],
    build_reports: Sequence[BuildReport] = (),
    *,
    with_evidence: bool = False,
) -> Path:
    """Write the results of a run to ``root/run_id`` and return that folder.

    Evidence and answer paths are left out unless `with_evidence` says that their text may be written.

    What cannot be written whole leaves older results as they were. Of older results summary.json goes first, and the
    new one comes last: where it is, the others are too, and they are of the same answers.

    Raises SettingError: the run id is not a plain file name, or there is no system. Raises StoreFullError or
    StoreError: the disk is full, or the folder cannot be written.
    """
    check_run_id(run_id)
    if not systems:
        raise SettingError("there is no system to report on", where="results")
    summary = summarise(manifest, systems, answers, gold, build_reports, rng=np.random.default_rng(abs(manifest.seed)))
    rows = list(answer_rows(answers, gold, systems, with_evidence=with_evidence))
    texts = {
        ANSWERS: "".join(f"{_line(row)}\n" for row in rows),
        REPORT: render_report(summary, rows, title=run_id),
        SUMMARY: json.dumps(asdict(summary), ensure_ascii=False, allow_nan=False, indent=1) + "\n",
    }
    folder = root / run_id
    with writing(run_id):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".new-", dir=folder) as fresh:
            for name, text in texts.items():
                _replace(Path(fresh, name), text)
            (folder / SUMMARY).unlink(missing_ok=True)
            sync(folder)
            for name in texts:
                Path(fresh, name).replace(folder / name)
        sync(folder)
    return folder


@contextmanager
def writing(where: str) -> Iterator[None]:
    """Turn the file system's errors about results into our own; `where` says whose.

    Raises StoreFullError or StoreError: the disk is full, or something cannot be written; errors of our own stay what
    they are.
    """
    try:
        yield
    except FedragError:
        raise  # some of ours are also OSErrors
    except OSError as error:
        kind = StoreFullError if error.errno in FULL else StoreError
        raise kind("the results cannot be written", where=where, fix=error.strerror or "look at the disk") from error


def check_run_id(run_id: str, where: str = "run id") -> None:
    """Refuse what `write_results` does not take as a run's id.

    Raises SettingError: the run id is not a plain file name; `where` says what gave it.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise SettingError(
            f"'{run_id}' is not a plain file name",
            where=where,
            fix="begin with one of A-Z, a-z, 0-9 and go on with these, '.', '_' and '-', 100 at most",
        )


def read_summary(path: Path) -> Summary:
    """Read and check a summary.json, or the one in a run's folder.

    Raises NotFoundError: there is no such file. Raises StoreCorruptError: the file is not JSON, or a field is absent,
    of the wrong type or out of range; the message names the field.
    """
    file = path / SUMMARY if path.is_dir() else path
    return _parse(Summary, _read(file), file.name)


def read_answers(path: Path) -> list[AnswerRow]:
    """Read and check an answers.jsonl, or the one in a run's folder; errors as for `read_summary`."""
    file = path / ANSWERS if path.is_dir() else path
    lines = _read(file).splitlines()  # bytes: splits at line ends only
    return [_row(line, f"{file.name} line {number}") for number, line in enumerate(lines, 1)]


def _row(line: bytes, where: str) -> AnswerRow:
    row = _parse(AnswerRow, line, where)
    if not 0.0 <= row.cost.seconds <= MOST_SECONDS:
        raise StoreCorruptError("cost.seconds: it is out of range", where=where, fix="run the evaluation again")
    return row


def _line(row: AnswerRow) -> str:
    fields = asdict(row)
    for name in ("told", "evidence", "answer_paths"):
        if not fields[name]:
            del fields[name]
    return json.dumps(fields, ensure_ascii=False)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError("there are no results here", where=file.name, fix="name a run's folder") from error
    except OSError as error:
        raise StoreError("the results cannot be read", where=file.name) from error


def _parse(record: type[_Record], content: bytes, where: str) -> _Record:
    try:
        return TypeAdapter(record).validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise StoreCorruptError(
            f"{field}: {first['msg']}" if field else first["msg"], where=where, fix="run the evaluation again"
        ) from None


def _replace(target: Path, text: str) -> None:
    """Replace a text that may hold answers; lone surrogates, which UTF-8 cannot carry, become question marks."""
    replace_file(target, text.encode("utf-8", errors="replace"), 0o600)
