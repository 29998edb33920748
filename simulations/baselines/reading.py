"""A baseline is a way of finding evidence, and one reader that all of them share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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


class Meter:
    """What one question costs while it is answered; asks the substrate's model and counts.

    Seconds are those of the clock since the meter was made, without loading the model and evaluating a prompt's fixed
    part, and with those that a replayed generation took when it was measured.
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

    def read(self, question: str, units: Sequence[EvidenceUnit] | None) -> Draft:
        """Let the reader answer over evidence; by itself where that is None."""
        reader = self._substrate.reader
        draft = reader.recite(question) if units is None else reader.plain(question, units)
        self._count(draft.cost, draft.setup)
        return draft

    def _count(self, cost: Cost, setup: float) -> None:
        self._spent += cost
        self._correction += cost.seconds if cost.replayed else -setup


class Finder(ABC):
    """Finds evidence for questions.

    `construction` says what was made of the documents, and what it cost; `below` of which passages evidence was made
    that is no unit of the documents.
    """

    construction = Construction()
    below: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate

    @abstractmethod
    def find(self, question: str, meter: Meter) -> Sequence[EvidenceUnit] | None:
        """Give evidence, best first; the reader reads as much of it as the budget allows. None: the model knows."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One way of answering, over one device's documents: find evidence, and read it once."""

    substrate: Substrate
    finder: Finder

    def answer(self, question: Question) -> Answer:
        """Find evidence, keep what the budget allows, and answer from it; the cost holds every call of the model."""
        meter = Meter(self.substrate)
        found = self.finder.find(question.text, meter)
        units = None if found is None else within(found, self.substrate.limits.words)
        draft = meter.read(question.text, units)
        named = dict.fromkeys(name for unit in units or () for name in self.finder.below.get(unit.id, (unit.id,)))
        sources = [f"{self.substrate.device}/{name}" for name in named if name in self.substrate.places]
        return Answer(
            question_id=question.id,
            text=draft.text,
            path="cognizer" if draft.text else "abstained",
            score=0.0,
            sources=tuple(sources[:_MOST_SOURCES]),
            cost=meter.cost,
            evidence=tuple(units or ()),
        )


def evidence_words(units: Sequence[EvidenceUnit]) -> int:
    """How many words of evidence units hold, titles included."""
    return sum(len(unit.title.split()) + len(unit.text.split()) for unit in units)
