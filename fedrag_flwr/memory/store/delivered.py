"""The answers that a server made for a device's questions, kept at the device: the newest of them."""

from __future__ import annotations

from collections.abc import Iterable

from fedrag_flwr.memory.store.database import Database
from fedrag_flwr.memory.store.schema import (
    check_row,
    checksum,
    pack_decisions,
    pack_names,
    unpack_decisions,
    unpack_names,
)
from fedrag_flwr.records import Answer, AnswerPath

MOST = 1_000
TABLE = """CREATE TABLE IF NOT EXISTS delivered_answers (
    number INTEGER PRIMARY KEY,
    question TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    decisions TEXT NOT NULL,
    sources TEXT NOT NULL,
    score REAL NOT NULL,
    checksum INTEGER NOT NULL
)"""


class DeliveredAnswers:
    """Answers by question in a store's file; beyond `MOST` the oldest go.

    Parameters
    ----------
    database
        The store's.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, answers: Iterable[Answer]) -> None:
        """Keep answers in place of those to the same questions."""
        told = [
            ((one.question_id, one.text, pack_decisions(one.decisions), pack_names(one.sources)), one.score)
            for one in answers
        ]
        if not told:
            return
        with self._database.writing() as connection:
            connection.execute(TABLE)
            connection.execute("DROP TABLE IF EXISTS delivered")  # of earlier releases, without decisions
            connection.executemany(
                "INSERT OR REPLACE INTO delivered_answers (question, text, decisions, sources, score, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(*texts, score, checksum(*texts)) for texts, score in told],
            )
            connection.execute(
                "DELETE FROM delivered_answers WHERE number NOT IN"
                " (SELECT number FROM delivered_answers ORDER BY number DESC LIMIT ?)",
                (MOST,),
            )

    def get(self, question: str) -> Answer | None:
        """The answer to one question; None where there is none."""
        return self._found(" WHERE question = ?", (question,)).get(question)

    def all(self) -> dict[str, Answer]:
        """The answers by question, the newest first."""
        return self._found()

    def _found(self, condition: str = "", values: tuple[str, ...] = ()) -> dict[str, Answer]:
        with self._database.reading() as connection:
            table = "SELECT count(*) FROM sqlite_master WHERE name = 'delivered_answers'"
            (known,) = connection.execute(table).fetchone()
            if not known:
                return {}
            rows = connection.execute(
                "SELECT question, text, decisions, sources, score, checksum FROM delivered_answers"
                f"{condition} ORDER BY number DESC",
                values,
            ).fetchall()
        return {row[0]: _answer(*row) for row in rows}


def _answer(question: str, text: str, decisions: str, sources: str, score: float, expected: int) -> Answer:
    check_row(expected, question, text, decisions, sources)
    path: AnswerPath = "remote" if text else "abstained"
    told = unpack_decisions(decisions)
    return Answer(question, text, path, score, unpack_names(sources), decisions=told)
