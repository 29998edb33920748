"""Answers that a device gives again: to questions like one before, and never beyond the life of their evidence."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from fedrag_flwr.caching.report import RULES
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.schema import pack_vector, unpack_vectors
from fedrag_flwr.overlay.walk_records import Json, Kind, WalkNotes
from fedrag_flwr.records import Answer, Clock, Cost, EvidenceUnit, Question, Vector, because
from fedrag_flwr.settings import Settings

MOST_STATES = 100_000  # devices whose documents' states are known, as many as one message tells
_OF_QUESTIONS: tuple[Kind, ...] = ("given", "answer")
_IMMATERIAL = frozenset(  # settings, and groups of them, that change no answer of a device; a baseline may be the walk
    {"mode", "results", "home", "resume", "caching", "serving", "data"} | {"models.threads", "models.generation-cache"}
)


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A device's own answers with the vectors of their questions.

    An answer is void as soon as one of its own sentences or passages is gone or says something else, or one of the
    memories that it rests on is gone. One that rests on others' evidence or memories is void as soon as their documents
    are heard to have changed, and after `hours`, as they may be silent.
    """

    device: str  # whose sentences are its own
    # store, notes: the sentences, and where answers are kept.
    store: MemoryStore
    notes: WalkNotes
    similarity: float  # cosine from which questions are alike; above 1 nothing is given again
    hours: float  # longest life of an answer over others' evidence
    by: str = ""  # what answers are made with (settings, models, rules): those of others are not given
    clock: Clock = time.time  # seconds since the epoch
    verbatim: bool = False  # whether a question is like another only in the same words, but for case and space

    def of(self, own: bool) -> AnswerCache:
        """The answers to questions of the people here, or to those of a run: neither tells of the other."""
        return replace(self, by=f"{self.by} own") if own else self

    def hear(self, states: Mapping[str, str]) -> None:
        """Note the states of others' documents, by device, as a run tells them; those told last where they are many."""
        known = self._states()
        every = [*((name, state) for name, state in known.items() if name not in states), *states.items()]
        if (now := dict(every[-MOST_STATES:])) != known:
            self.notes.put("states", {"": now})
            self.sweep()

    def find(self, question: Question, vector: Vector) -> Answer | None:
        """The answer to the most similar question that still holds; None without one."""
        known = {name: body for name, body in self.notes.all("answer").items() if body.get("by", "") == self.by}
        if self.verbatim:
            asked = _asked(question)
            known = {name: body for name, body in known.items() if body.get("asked") == asked}
        states = self._states()
        for name in nearest_first(known, vector, self.similarity):
            if self._holds(known[name], states):
                self.notes.put("given", {question.id: {"as": name, "vector": packed(vector)}})
                return _answer(question, name, known[name])
            self.notes.drop("answer", name)
        return None

    def sweep(self) -> None:
        """Drop every answer that does not hold any more, whoever asked for it: its text leaves the disk."""
        kept, states = self.notes.all("answer"), self._states()
        self.notes.drop("answer", *(name for name, body in kept.items() if not self._holds(body, states)))

    def keep(self, question: Question, answer: Answer, vector: Vector, units: Iterable[EvidenceUnit]) -> None:
        """Keep an answer with the sentences and passages that it rests on, and the memories among its sources.

        Not one whose own evidence does not stand there any more as it was read.
        """
        if self.similarity > 1 or not answer.text:
            return
        read = list(units)
        texts = self._own({*answer.sources, *(f"{unit.origin}/{unit.id}" for unit in read)})
        if not all(_stands(unit.text, texts.get(unit.id, ())) for unit in read if unit.origin == self.device):
            return
        own = {name: _digest(" ".join(told)) for name, told in texts.items()}
        known = self._states()
        memories = self._memories(answer.sources)
        origins = {*(unit.origin for unit in read), *memories.values()} - {self.device}
        others = {name: known.get(name) for name in sorted(origins)}
        body = {
            "by": self.by,
            "asked": _asked(question),
            "text": answer.text,
            "score": answer.score,
            "sources": list(answer.sources),
            "vector": packed(vector),
            "own": own,
            "others": others,
            "memories": memories,
            "until": self.clock() + 3600 * self.hours if others else None,
        }
        self.notes.put("answer", {answer.question_id: body})

    def knows(self, question_id: str) -> bool:
        """Whether an answer to a question is kept, or was given again."""
        return any(self.notes.get(kind, question_id) is not None for kind in _OF_QUESTIONS)

    def condemn(self, question_id: str) -> bool:
        """Drop the answer that was given to a question, and those to questions like it; whether there was one.

        That somebody doubts it is noted, with the question's vector.
        """
        known = next((note for kind in _OF_QUESTIONS if (note := self.notes.get(kind, question_id))), None)
        if known is None:
            return False
        self.notes.put("doubt", {question_id: {"vector": known["vector"]}})
        vector = unpack_vectors([base64.b64decode(str(known["vector"]))], self.store.dimension)[0]
        alike = nearest_first(self.notes.all("answer"), vector, self.similarity)
        self.notes.drop("answer", *alike, question_id, str(known.get("as", question_id)))
        return True

    def _holds(self, body: Json, states: Json) -> bool:
        until, own, others = body["until"], body["own"], body.get("others")
        if isinstance(until, float) and not until - 3600 * self.hours - 1 <= self.clock() < until:
            return False  # over, or kept by a clock that was ahead of this one
        assert isinstance(own, dict)
        if not isinstance(others, dict) or others != {name: states.get(name) for name in others}:
            return False
        memories = body.get("memories")
        if not isinstance(memories, dict) or self.store.origins(list(memories)) != memories:
            return False
        now = self._own(f"{self.device}/{name}" for name in own)
        return {name: _digest(" ".join(told)) for name, told in now.items()} == own

    def _own(self, sources: Iterable[str]) -> dict[str, list[str]]:
        """The own sentences and passages among sources, each with what its sentences say."""
        named = [name for origin, _, name in (source.partition("/") for source in sources) if origin == self.device]
        found = {}
        for name in dict.fromkeys(named):  # others are memories and hyperedges, or are gone already
            with suppress(NotFoundError):
                found[name] = [sentence.text for sentence in self.store.sentences([name])]
            with suppress(NotFoundError):
                found[name] = [sentence.text for one in self.store.passages([name]) for sentence in one.sentences]
        return found

    def _memories(self, sources: Iterable[str]) -> dict[str, str]:
        """The memories among an answer's sources, as ids with their origins."""
        parts = [source.partition("/") for source in sources]
        held = self.store.origins([name for _, _, name in parts])
        return {name: origin for origin, _, name in parts if held.get(name) == origin}

    def _states(self) -> Json:
        return self.notes.get("states") or {}


def made_with(settings: Settings, generator_id: str) -> str:
    """Names what a process makes answers with: settings, model, and the rules by which answers are written."""
    flat = settings.flat()
    made = {key: flat[key] for key in flat if not {key, key.partition(".")[0]} & _IMMATERIAL}
    return hashlib.sha256(json.dumps([RULES, generator_id, made], sort_keys=True).encode()).hexdigest()[:16]


def nearest_first(bodies: dict[str, Json], vector: Vector, least: float) -> list[str]:
    """The ids of notes whose vectors come at least so near to one of shape (dimension,), the nearest first."""
    if not bodies or least > 1:
        return []
    names = list(bodies)
    kept = [base64.b64decode(str(bodies[name]["vector"])) for name in names]
    scores = unpack_vectors(kept, len(vector)) @ vector
    return [names[row] for row in np.argsort(-scores, kind="stable") if scores[row] >= least]


def packed(vector: Vector) -> str:
    """A vector as a text that a note can hold."""
    return base64.b64encode(pack_vector(vector)).decode()


def _answer(question: Question, known_as: str, body: Json) -> Answer:
    score, sources = body["score"], body["sources"]
    assert isinstance(score, float)
    assert isinstance(sources, list)
    as_before = because("cache", f"as {known_as} was answered")
    return Answer(question.id, str(body["text"]), "cache", score, tuple(sources), Cost(), decisions=(as_before,))


def _asked(question: Question) -> str:
    return _digest(" ".join(question.text.casefold().split()))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _stands(read: str, told: Iterable[str]) -> bool:
    """Whether a text that was read is made of sentences, in their order."""
    left = f"{' '.join(read.split())} "
    for sentence in told:
        left = left.removeprefix(f"{' '.join(sentence.split())} ")
    return not left.strip()
