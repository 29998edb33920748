"""A baseline is a way of finding evidence, and one reader that all of them share."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from fedrag_flwr.answering.read import Draft
from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import Answer, Cost, EvidenceUnit, Question
from fedrag_flwr.retrieval.base import within
from simulations.baselines.substrate import Substrate

_MOST_SOURCES = 64


@dataclass(frozen=True, slots=True)
class Construction:
    """What was made before the first question."""

    cost: Cost = field(default_factory=Cost)  # of the model's calls; `seconds` are those of all construction
    counts: tuple[str, ...] = ()  # how many of what, as ``what=count``


class Baseline(Protocol):
    """One way of answering, over one device's documents."""

    @property
    def construction(self) -> Construction:
        """What was made of the documents, and what it cost."""
        ...

    def answer(self, question: Question) -> Answer:
        """Answer a question; the cost holds every call of the model."""
        ...


class Meter:
    """What one question costs while it is answered; asks the model and counts.

    Seconds are those of the clock since the meter was made, without loading the model and evaluating a prompt's fixed
    part, and with those that a replayed generation took when it was measured.

    `substrate`: whose model is asked.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self._start = time.perf_counter()
        self._spent = Cost()
        self._correction = 0.0

    @property
    def cost(self) -> Cost:
        """The cost so far."""
        elapsed = time.perf_counter() - self._start
        return replace(self._spent, seconds=max(elapsed + self._correction, 0.0))

    def complete(self, prompt: Prompt, grammar: Grammar, max_tokens: int) -> str:
        """Ask the model for one text."""
        generator = self._substrate.generator()
        (done,) = generator.complete(prompt, grammar=grammar, max_tokens=max_tokens, seed=self._substrate.seed)
        self._count(Cost(done.seconds, 1, done.tokens_in, done.tokens_out, done.cached), done.setup)
        return done.text

    def read(self, question: str, units: Sequence[EvidenceUnit]) -> Draft:
        """Let the reader answer over evidence."""
        draft = self._substrate.reader.plain(question, units)
        self._count(draft.cost, draft.setup)
        return draft

    def recite(self, question: str) -> Draft:
        """Let the reader answer without evidence."""
        draft = self._substrate.reader.recite(question)
        self._count(draft.cost, draft.setup)
        return draft

    def _count(self, cost: Cost, setup: float) -> None:
        self._spent += cost
        self._correction += cost.seconds if cost.replayed else -setup


class Finder(Protocol):
    """Finds evidence for questions."""

    @property
    def construction(self) -> Construction:
        """What was made of the documents, and what it cost."""
        ...

    def find(self, question: str, meter: Meter) -> Sequence[EvidenceUnit]:
        """Give evidence, best first; the reader reads as much of it as the budget allows."""
        ...


class Reading:
    """A baseline that finds evidence and reads it once.

    `substrate`: the device's documents and models; `finder`: finds the evidence; `below`: evidence that is no unit of
    the documents, and the passages that it was made of.
    """

    def __init__(
        self, substrate: Substrate, finder: Finder, below: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self._substrate = substrate
        self._finder = finder
        self._below = below or {}

    @property
    def construction(self) -> Construction:
        """What the finder made of the documents."""
        return self._finder.construction

    def answer(self, question: Question) -> Answer:
        """Find evidence, keep what the budget allows, and answer from it."""
        meter = Meter(self._substrate)
        units = within(self._finder.find(question.text, meter), self._substrate.limits.words)
        draft = meter.read(question.text, units)
        return answer_of(question, draft, meter.cost, units, self._sources(units))

    def _sources(self, units: Sequence[EvidenceUnit]) -> list[str]:
        """Where evidence stands in the documents; a step's note stands in none."""
        named = dict.fromkeys(name for unit in units for name in self._below.get(unit.id, (unit.id,)))
        return [f"{self._substrate.device}/{name}" for name in named if name in self._substrate.places]


def answer_of(
    question: Question, draft: Draft, cost: Cost, units: Sequence[EvidenceUnit] = (), sources: Sequence[str] = ()
) -> Answer:
    """A draft as an answer."""
    return Answer(
        question_id=question.id,
        text=draft.text,
        path="cognizer" if draft.text else "abstained",
        score=0.0,
        sources=tuple(sources)[:_MOST_SOURCES],
        cost=cost,
        evidence=tuple(units),
    )


def evidence_words(units: Sequence[EvidenceUnit]) -> int:
    """How many words of evidence units hold, titles included."""
    return sum(len(unit.title.split()) + len(unit.text.split()) for unit in units)
