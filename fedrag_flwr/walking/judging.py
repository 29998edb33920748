"""What people's word on an answer teaches: it is noted through whom the answer came, and what was said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fedrag_flwr.records import Lesson, Outcome, TopicWeight
from fedrag_flwr.walking.notes import Json, WalkNotes


@dataclass(frozen=True, slots=True)
class Judgements:
    """The neighbours through which good answers came home, each until somebody says what the answer was worth.

    Parameters
    ----------
    notes
        Where they are kept.
    """

    notes: WalkNotes

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
