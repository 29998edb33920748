"""What a device notes of walks: who knew an answer, and what people said of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fedrag_flwr.privacy.ledger import DurableFile
from fedrag_flwr.records import Lesson, Outcome, TopicWeight


@dataclass(frozen=True, slots=True)
class Judgements:
    """The neighbours through which good answers came home, each until somebody says what the answer was worth."""

    notes: WalkNotes  # where they are kept

    def note(self, lessons: Iterable[Lesson]) -> None:
        """Note through whom home's good answers came."""
        good = {one.question_id: _noted(one) for one in lessons if one.home and one.outcome == "good"}
        if good:
            self.notes.put("lesson", good)

    def take(self, question_id: str, *, good: bool) -> tuple[Lesson, bool] | None:
        """What somebody's verdict says of the neighbour through which an answer came, and whether it is news.

        One verdict is: the first on an answer, however often that was given, or another than the last. None where the
        answer came through no neighbour.
        """
        given = self.notes.get("given", question_id) or {}
        for name in dict.fromkeys((question_id, str(given.get("as", question_id)))):
            before = self.notes.change("lesson", lambda noted: noted and {**noted, "good": good}, name)
            if before is not None:
                return _lesson(name, before, good), before.get("good") != good
        return None


def _noted(lesson: Lesson) -> Json:
    topics = [(one.topic, one.weight) for one in lesson.topics]
    return {"neighbour": lesson.neighbour, "distance": lesson.distance, "topics": topics}


def _lesson(question_id: str, noted: Mapping[str, Any], good: bool) -> Lesson:
    topics = tuple(TopicWeight(topic, weight) for topic, weight in noted["topics"])
    outcome: Outcome = "good" if good else "junk"
    return Lesson(question_id, noted["neighbour"], topics, noted["distance"], outcome, home=True)


Kind = Literal["expertise", "told", "sketch", "answer", "lesson", "doubt", "states", "given", "topics"]
Json = Mapping[str, object]
_MOST = 1_000  # objects of one kind
_SCHEMA = """CREATE TABLE IF NOT EXISTS notes (
    kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (kind, id)
) WITHOUT ROWID"""


class WalkNotes:
    """JSON objects by kind and id in a durable file; of each kind the latest are kept.

    Raises StoreError where the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = DurableFile(path, "notes of walks", _SCHEMA)

    def get(self, kind: Kind, name: str = "") -> Json | None:
        """One object; None where there is none."""
        return self.all(kind, name).get(name)

    def all(self, kind: Kind, name: str | None = None) -> dict[str, Json]:
        """All objects of a kind by id, the oldest first; or the one that is named."""
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT id, body FROM notes WHERE kind = ? AND (? IS NULL OR id = ?) ORDER BY number",
                (kind, name, name),
            ).fetchall()
        return {row[0]: json.loads(row[1]) for row in rows}

    def put(self, kind: Kind, bodies: Mapping[str, Json]) -> None:
        """Keep objects in place of those with their ids, and drop the oldest of the kind beyond what is kept."""
        with self._file.writing() as connection:
            (last,) = connection.execute(
                "SELECT COALESCE(MAX(number), 0) FROM notes WHERE kind = ?", (kind,)
            ).fetchone()
            connection.executemany(
                "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)",
                [(kind, name, json.dumps(body), last + place) for place, (name, body) in enumerate(bodies.items(), 1)],
            )
            connection.execute(
                "DELETE FROM notes WHERE kind = ? AND number <="
                " (SELECT number FROM notes WHERE kind = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (kind, kind, _MOST),
            )

    def change(self, kind: Kind, make: Callable[[Json | None], Json | None], name: str = "") -> Json | None:
        """Make an object from what is there now, and give that back; whoever else would change it waits.

        It counts as old as it was; where `make` gives None, all stays as it is.
        """
        with self._file.writing() as connection:
            row = connection.execute("SELECT body FROM notes WHERE kind = ? AND id = ?", (kind, name)).fetchone()
            before = json.loads(row[0]) if row else None
            if (made := make(before)) is not None:
                connection.execute(
                    "INSERT INTO notes VALUES (?, ?, ?, 1) ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body",
                    (kind, name, json.dumps(made)),
                )
        return before

    def drop(self, kind: Kind, *names: str) -> None:
        """Forget objects where they are there, and leave nothing of them, or of any forgotten before, in the log."""
        with self._file.writing() as connection:
            connection.executemany("DELETE FROM notes WHERE kind = ? AND id = ?", [(kind, name) for name in names])
        self._file.forget_log()

    def clear(self, *kinds: Kind) -> None:
        """Forget all objects of some kinds."""
        with self._file.writing() as connection:
            connection.executemany("DELETE FROM notes WHERE kind = ?", [(kind,) for kind in kinds])

    def close(self) -> None:
        """Close the file."""
        self._file.close()
