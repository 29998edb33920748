"""What a run has answered so far, on disk, so that one that was cut goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from logging import INFO, WARNING
from pathlib import Path
from typing import Literal, NamedTuple, Self

from filelock import FileLock, Timeout
from flwr.common import log
from pydantic import TypeAdapter

from fedrag_flwr import __version__
from fedrag_flwr.errors import FederationError
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sqlite_errors import own_errors
from strategies.outcome import RunOutcome

FILE = "answers.jsonl"
_ANSWER, _OUTCOME = TypeAdapter(Answer), TypeAdapter(RunOutcome)
_IMMATERIAL = ("resume", "results")  # settings that change no answer
_DIGEST = 16


class Entry(NamedTuple):
    """A line of the journal: an answer of a system, or all that its run brought, as JSON."""

    system: str
    what: Literal["answer", "outcome"]
    body: str


class Journal:
    """Answers and outcomes by system in a file of checked lines; the last line on a question counts; raises
    FederationError where another run with the same settings and questions is under way, and StoreError where the file
    cannot be made or read; where a line cannot be written, `note` and `close_system` raise it.

    Only the server's user can read it. Answers stand in it as the server got them, without what they rest on. The
    folder is of this run's settings and questions, and is made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._answers: dict[str, dict[str, Answer]] = {}
        self._outcomes: dict[str, RunOutcome] = {}
        with own_errors(folder, FILE):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = FileLock(folder / "lock", timeout=0, mode=0o600)
            try:
                self._lock.acquire()
            except Timeout:
                raise FederationError(
                    "another run with the same settings and questions is under way",
                    where="resume",
                    fix="wait for it, or set resume = false",
                ) from None
            self._file = os.fdopen(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600), "r+b")
            self._read()

    @classmethod
    def of(cls, settings: Settings, questions: Sequence[Question]) -> Self:
        """The journal of a run: the same settings and questions find it again."""
        material = {key: value for key, value in settings.flat().items() if key not in _IMMATERIAL}
        asked = [(question.id, question.text, question.home) for question in questions]
        digest = _checksum(json.dumps([__version__, material, asked], sort_keys=True))
        return cls(fedrag_home(settings.home) / "runs" / digest)

    def answers(self, system: str) -> dict[str, Answer]:
        """The answers of a system by question."""
        return dict(self._answers.get(system, {}))

    def outcome(self, system: str) -> RunOutcome | None:
        """What the whole run of a system brought; None where it did not end."""
        return self._outcomes.get(system)

    def note(self, system: str, answers: Iterable[Answer]) -> None:
        """Write down those answers that are new or have changed, and wait until the disk has them."""
        known = self._answers.setdefault(system, {})
        plain = [replace(answer, evidence=(), paths=()) for answer in answers]
        fresh = [answer for answer in plain if known.get(answer.question_id) != answer]
        self._write(Entry(system, "answer", _ANSWER.dump_json(answer).decode()) for answer in fresh)
        known.update({answer.question_id: answer for answer in fresh})

    def close_system(self, system: str, outcome: RunOutcome) -> None:
        """Write down what the whole run of a system brought: it is not run again."""
        plain = tuple(replace(answer, evidence=(), paths=()) for answer in outcome.answers)
        kept = replace(outcome, answers=plain, cards=tuple(replace(card, key=b"") for card in outcome.cards))
        self._write([Entry(system, "outcome", _OUTCOME.dump_json(kept).decode())])
        self._outcomes[system] = kept

    def close(self) -> None:
        """Close the file, for another run to go on with."""
        with suppress(OSError):  # what the disk did not take was told when it was written
            self._file.close()
        self._lock.release()

    def discard(self) -> None:
        """Delete the file: the run is complete, and its results are written. One that has begun since keeps it."""
        with suppress(Timeout), self._lock:
            self._path.unlink(missing_ok=True)

    def _write(self, entries: Iterable[Entry]) -> None:
        with own_errors(self._path.parent, FILE):
            self._file.write(b"".join(map(_line, entries)))
            self._file.flush()
            os.fsync(self._file.fileno())

    def _read(self) -> None:
        """Read up to the first line that is torn; what follows is cut off, and asked again."""
        whole = 0
        for line in self._file:
            entry = _entry(line)
            if entry is None:
                log(WARNING, "resume: the journal is torn after %d bytes; what followed is asked again", whole)
                break
            if entry.what == "answer":
                answer = _ANSWER.validate_json(entry.body)
                self._answers.setdefault(entry.system, {})[answer.question_id] = answer
            else:
                self._outcomes[entry.system] = _OUTCOME.validate_json(entry.body)
            whole += len(line)
        self._file.seek(whole)
        self._file.truncate()
        if whole:
            counts = ", ".join(f"{name} {len(found)}" for name, found in self._answers.items())
            log(INFO, "resume: answers that stand: %s", counts)


def _line(entry: Entry) -> bytes:
    body = json.dumps(entry, ensure_ascii=False)
    return f"{_checksum(body)} {body}\n".encode()


def _entry(line: bytes) -> Entry | None:
    """What a line holds; None where it is torn."""
    try:
        check, _, body = line.decode().partition(" ")
    except UnicodeDecodeError:
        return None
    if not body.endswith("\n") or check != _checksum(body[:-1]):
        return None
    return Entry(*json.loads(body))


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
