"""Questions that home could not answer well and that wait for a federation, encrypted, and the answers that came."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from fedrag_flwr.errors import StoreCorruptError, StoreError
from fedrag_flwr.files import write_private
from fedrag_flwr.memory.store.queries import LISTED, listed
from fedrag_flwr.memory.store.schema import check_row, checksum
from fedrag_flwr.privacy.ledger import DurableFile
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.sqlite_errors import own_errors

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

MOST = 1_000  # questions that may wait
MOST_DELIVERED = 1_000
_MOST_EVIDENCE = 4  # passages that a delivered answer is kept with, the one that bears it first
KEY = "outbox.key"
WAITING, DELIVERED = "outbox.sqlite", "delivered.sqlite"
RETRY_SECONDS = 300.0  # before a question that nobody could help with is offered again
_ANSWER = TypeAdapter(Answer)
_WAITING = """CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY, question TEXT NOT NULL UNIQUE, sealed BLOB NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, due REAL NOT NULL DEFAULT 0)"""
_DELIVERED = """CREATE TABLE IF NOT EXISTS delivered_answers (
    number INTEGER PRIMARY KEY, question TEXT NOT NULL UNIQUE, answer TEXT NOT NULL, checksum INTEGER NOT NULL)"""


@dataclass(frozen=True, slots=True)
class WaitingQuestion:
    """A question in the outbox: when it was asked (seconds since the epoch), and how often a run has taken it up.

    The text is empty where the key that sealed it is gone.
    """

    id: str
    text: str
    asked: float
    tries: int


class Outbox:
    """Waiting questions in a file that outlives the store; their texts are readable with the device's key alone.

    Where the environment names a ``CREDENTIALS_DIRECTORY`` (systemd's) that holds an ``outbox.key``, that is the key;
    else one is made in `folder`, which protects copies of the file, not a disk that was stolen whole.

    The files lie in `folder`, beside the store; the clock gives seconds since the epoch.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._file = DurableFile(folder / WAITING, "outbox", _WAITING)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def put(self, question: Question) -> None:
        """Let a question wait, unless it does already; raises StoreError for too many, or without a key to seal it."""
        fernet = self._fernet(make=True)
        assert fernet is not None
        sealed = fernet.encrypt(json.dumps([question.text, self._clock()]).encode())
        with self._file.writing() as connection:
            (count,) = connection.execute("SELECT count(*) FROM outbox WHERE question != ?", (question.id,)).fetchone()
            if count >= MOST:
                raise StoreError(f"{MOST} questions wait already", where="outbox", fix="withdraw some")
            connection.execute("INSERT OR IGNORE INTO outbox (question, sealed) VALUES (?, ?)", (question.id, sealed))

    def waiting(self) -> list[WaitingQuestion]:
        """All that wait, the newest first; one that was sealed with another key comes without its text."""
        rows = self._rows("SELECT question, sealed, tries FROM outbox ORDER BY number DESC")
        return self._opened(rows)

    def __len__(self) -> int:
        return len(self._rows("SELECT number FROM outbox"))

    def offer(self, most: int, tries: int) -> tuple[list[WaitingQuestion], list[str]]:
        """Take up at most so many questions whose time has come, the oldest first.

        Returns
        -------
        tuple
            Those that a run may now close, and the ids of those that no run could close in `tries` tries, which are
            the caller's to withdraw. What cannot be read waits on.
        """
        now = self._clock()
        query = "SELECT question, sealed, tries FROM outbox WHERE due <= ? OR due > ? ORDER BY number"
        # a clock that was set back makes nobody wait longer
        due = [one for one in self._opened(self._rows(query, (now, now + RETRY_SECONDS))) if one.text]
        spent = [one.id for one in due if one.tries >= tries]
        taken = [replace(one, tries=one.tries + 1) for one in due if one.tries < tries][:most]
        if taken:
            with self._file.writing() as connection:
                connection.executemany(
                    "UPDATE outbox SET tries = tries + 1, due = ? WHERE question = ?",
                    [(now + RETRY_SECONDS, one.id) for one in taken],
                )
        return taken, spent

    def recalled(self, questions: Sequence[Question]) -> list[Question]:
        """The questions with the texts that this device alone knows: those that come without one wait here.

        One that was withdrawn in the meantime is left out.
        """
        if all(question.text for question in questions):
            return list(questions)
        known = {one.id: one.text for one in self.waiting()}
        told = [replace(question, text=question.text or known.get(question.id, "")) for question in questions]
        return [question for question in told if question.text]

    def withdraw(self, question_id: str) -> bool:
        """Forget a question; whether it was here."""
        if not self.holds(question_id):
            return False
        with self._file.writing() as connection:
            return connection.execute("DELETE FROM outbox WHERE question = ?", (question_id,)).rowcount > 0

    def holds(self, question_id: str) -> bool:
        """Whether a question waits here."""
        return bool(self.among([question_id]))

    def among(self, question_ids: Iterable[str]) -> frozenset[str]:
        """Those of questions that wait here."""
        rows = self._rows(
            f"SELECT question, sealed, tries FROM outbox WHERE question {LISTED}", (listed(question_ids),)
        )
        return frozenset(name for name, _, _ in rows)

    def _rows(self, query: str, values: tuple[str | float, ...] = ()) -> list[tuple[str, bytes, int]]:
        with self._file.reading() as connection:
            return connection.execute(query, values).fetchall()

    def _opened(self, rows: Sequence[tuple[str, bytes, int]]) -> list[WaitingQuestion]:
        from cryptography.fernet import InvalidToken

        fernet = self._fernet() if rows else None
        told = []
        for question_id, sealed, tries in rows:
            text, asked = "", 0.0
            with suppress(InvalidToken):
                if fernet is not None:
                    text, asked = json.loads(fernet.decrypt(sealed))
            told.append(WaitingQuestion(question_id, text, asked, tries))
        return told

    def _fernet(self, *, make: bool = False) -> Fernet | None:
        """What seals and opens; None where there is no key and none is to be made."""
        from cryptography.fernet import Fernet

        given = Path(os.environ.get("CREDENTIALS_DIRECTORY") or self._folder) / KEY
        with own_errors(self._folder, KEY):
            path = given if given.is_file() else self._folder / KEY
            if make and not path.is_file():
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                with suppress(FileExistsError):  # made by another in this moment
                    write_private(path, Fernet.generate_key())
            try:
                return Fernet(path.read_bytes().strip())
            except FileNotFoundError:
                return None
            except ValueError as error:
                raise StoreCorruptError("it holds no key", where=path.name, fix="bring the key back") from error


class DeliveredAnswers:
    """Answers by question in a file that outlives the store; beyond `MOST_DELIVERED` the oldest go."""

    def __init__(self, folder: Path) -> None:
        self._file = DurableFile(folder / DELIVERED, "list of delivered answers", _DELIVERED)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def put(self, answers: Iterable[Answer]) -> None:
        """Keep answers in place of those to the same questions."""
        told = [(one.question_id, _packed(one)) for one in answers]
        if not told:
            return
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO delivered_answers (question, answer, checksum) VALUES (?, ?, ?)",
                [(question, packed, checksum(question, packed)) for question, packed in told],
            )
            connection.execute(
                "DELETE FROM delivered_answers WHERE number NOT IN"
                " (SELECT number FROM delivered_answers ORDER BY number DESC LIMIT ?)",
                (MOST_DELIVERED,),
            )

    def get(self, question: str) -> Answer | None:
        """The answer to one question; None where there is none."""
        return self._found(" WHERE question = ?", (question,)).get(question)

    def all(self) -> dict[str, Answer]:
        """The answers by question, the newest first."""
        return self._found()

    def _found(self, condition: str = "", values: tuple[str, ...] = ()) -> dict[str, Answer]:
        with self._file.reading() as connection:
            rows = connection.execute(
                f"SELECT question, answer, checksum FROM delivered_answers{condition} ORDER BY number DESC", values
            ).fetchall()
        return {row[0]: _unpacked(*row) for row in rows}


def _packed(answer: Answer) -> str:
    """An answer as JSON, without the paths to its passages."""
    return _ANSWER.dump_json(replace(answer, evidence=answer.evidence[:_MOST_EVIDENCE], paths=())).decode()


def _unpacked(question: str, packed: str, expected: int) -> Answer:
    check_row(expected, question, packed)
    return _ANSWER.validate_json(packed)
