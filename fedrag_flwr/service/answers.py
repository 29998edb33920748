"""What a service answered lately, as the people at the device see it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from fedrag_flwr.answering.explain import Told, bearing_first, told_of, why_declined
from fedrag_flwr.device.views import TraceLine
from fedrag_flwr.errors import WireError
from fedrag_flwr.records import Answer, AnswerPath, ChosenPath, Citation, Explained

_MOST = 500  # answers that are kept


@dataclass(frozen=True, slots=True)
class Shown:
    """A unit of evidence with the document that it stands in; `document` is empty where another device has it."""

    origin: str
    document: str
    title: str
    passage: str
    text: str
    item: str
    hyperedges: tuple[str, ...]

    @property
    def place(self) -> str:
        """The document by its title, with the heading; by its name where it has none."""
        return self.title or self.document or f"a passage of {self.origin}"


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence of a long answer, the number of the passage that bears it, from 1, and where that stands."""

    sentence: str
    number: int
    place: str


@dataclass(frozen=True, slots=True)
class GivenAnswer(Explained):
    """An answer with what it rests on.

    `told` says in words where it comes from, or `why` there is none; `score` is its confidence, in [0, 1]. The first of
    `evidence` bears it; `near` is what came near where there is none; `citations` are the sentences of a long one.
    `recalled` is the question of the memory that answered. `waiting` says that the question waits for the federation's
    help; once that came, `answer` is the federation's and `first` what home had answered. `asked` is in seconds since
    the epoch; 0.0, and no question, where this process was not yet there.
    """

    id: str
    question: str
    answer: str
    path: AnswerPath
    score: float
    seconds: float
    llm_calls: int
    sources: tuple[str, ...]
    evidence: tuple[Shown, ...]
    paths: tuple[ChosenPath, ...]
    waiting: bool
    asked: float
    told: Told
    near: tuple[Shown, ...] = ()
    why: str = ""
    recalled: str = ""
    citations: tuple[Cited, ...] = ()
    first: str = ""
    verdict: str = ""


def given(
    id: str, question: str, answer: Answer, trace: list[TraceLine], asked: float, *, waiting: bool = False
) -> GivenAnswer:
    """An answer as it is shown; each text that it rests on once, and of a declined one what came near."""
    near = _shown(answer, trace)
    if answer.path in ("memorizer", "remote", "cache"):
        near = bearing_first(answer.recalled or question, answer.text, near)
    cited = [one.source for one in answer.citations] or ([] if near else answer.sources)
    devices = [source.partition("/")[0] for source in cited] or [one.origin for one in near[:1]]
    if answer.path == "memorizer":
        devices = [one.origin for one in near if not one.document]  # a memory of its own stands in a document here
    place = near[0].place if near else ""
    return GivenAnswer(
        id=id,
        question=question,
        answer=answer.text,
        path=answer.path,
        score=answer.score,
        seconds=answer.cost.seconds,
        llm_calls=answer.cost.llm_calls,
        decisions=answer.decisions,
        sources=answer.sources,
        evidence=tuple(near) if answer.text else (),
        near=() if answer.text else tuple(near),
        paths=answer.paths,
        waiting=waiting,
        asked=asked,
        told=told_of(answer.path, answer.score, answer.recalled, place, devices) if answer.text else Told(""),
        why="" if answer.text else why_declined(answer.decisions),
        recalled=answer.recalled,
        citations=_cited(answer.citations, near),
    )


def _shown(answer: Answer, trace: Sequence[TraceLine]) -> list[Shown]:
    """The texts here that an answer rests on, and those that other devices gave for it."""
    texts = [
        Shown(line.origin, line.document, line.title, line.passage, line.text, line.item, line.hyperedges)
        for line in trace
        if line.document
    ]
    here = {one.origin for one in texts}
    texts += [
        Shown(unit.origin, "", unit.title, unit.id, unit.text, "", ())
        for unit in answer.evidence
        if unit.origin not in here and f"{unit.origin}/{unit.id}" in answer.sources
    ]
    distinct = {(one.origin, one.document, one.passage, one.text): one for one in reversed(texts)}
    return list(reversed(distinct.values()))


def _cited(citations: Sequence[Citation], evidence: Sequence[Shown]) -> tuple[Cited, ...]:
    """Citations with numbers in the order in which their passages come."""
    places = {f"{one.origin}/{one.passage}": one.place for one in evidence}
    numbers = {source: number for number, source in enumerate(dict.fromkeys(one.source for one in citations), 1)}
    return tuple(
        Cited(
            one.sentence, numbers[one.source], places.get(one.source) or f"a passage of {one.source.partition('/')[0]}"
        )
        for one in citations
    )


def read_answer(told: Mapping[str, object]) -> GivenAnswer:
    """An answer as it came from a service; raises WireError where it is none."""
    try:
        return TypeAdapter(GivenAnswer).validate_python(told)
    except ValidationError:
        raise WireError(
            "this is no answer of a service", where="answer", fix="run the same version everywhere"
        ) from None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecentAnswers:
    """The latest answers by id, in this process's memory alone: no question is written to a disk."""

    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _kept: OrderedDict[str, GivenAnswer] = field(init=False, default_factory=OrderedDict)

    def put(self, answer: GivenAnswer) -> None:
        """Keep an answer in place of one with its id."""
        with self._lock:
            self._kept[answer.id] = answer
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def judge(self, id: str, verdict: str) -> bool:
        """Note what somebody thinks of an answer; False: there is none with that id."""
        with self._lock:
            if id not in self._kept:
                return False
            self._kept[id] = replace(self._kept[id], verdict=verdict)
            return True

    def all(self) -> list[GivenAnswer]:
        """All, the newest first."""
        with self._lock:
            return list(reversed(self._kept.values()))
