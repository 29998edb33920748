"""Answers over a knowledge graph's evidence: one, or a batch of candidates that the gate judges (DGRAG 3.3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.inference.candidates import without_options
from fedrag_flwr.inference.cognizer import Cognizer, Shown, Verdict, clean
from fedrag_flwr.inference.gate import Gate, GateDecision
from fedrag_flwr.inference.prompts import ANSWER_GRAMMAR, evidence_prompt
from fedrag_flwr.inference.support import distinct, shortened
from fedrag_flwr.inference.telling import told
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.nearness import rescored
from fedrag_flwr.records import Answer, AnswerPath, Clock, Cost, EvidenceUnit, OpenQuestion, Question, Vector, because
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis

Retrieve = Callable[[Vector, int], list[EvidenceUnit]]
_MOST_SOURCES = 64


@dataclass(frozen=True, slots=True)
class GraphAnswers:
    """Answers questions over what a graph leads to.

    Parameters
    ----------
    device
        The device's name.
    retrieve
        Gives at most so many units for a question's vector.
    lead
        How far home's summaries are nearer to the question than others', from its vector.
    encoder, pipeline
        Read the question.
    cognizer
        Asks the model for one answer.
    gate
        Judges candidates.
    units
        Units of evidence for one question.
    candidates
        Candidates that are drawn over one prompt.
    clock
        Seconds for timing.
    """

    device: str
    retrieve: Retrieve
    lead: Callable[[Vector], float]
    encoder: Encoder
    pipeline: Pipeline
    cognizer: Cognizer
    gate: Gate
    units: int
    candidates: int
    clock: Clock = time.perf_counter

    def local(self, question: Question) -> Answer:
        """One answer over home's evidence, whatever it is worth."""
        start = self.clock()
        vector, analysis = self._read(question)
        return self._reasoned(question, analysis, self._own(vector), start)

    def gated(self, question: Question) -> Answer | OpenQuestion:
        """Home's best candidate where the gate trusts it; else an open question, with that candidate as a draft.

        Where a question asks to be told something, the nearest sentences stand in the candidate's place.
        """
        start = self.clock()
        vector, analysis = self._read(question)
        units = self._own(vector)
        texts, cost, setup = self.draw(question.text, units)
        decision = self.gate.decide(analysis, texts, units, self.lead(vector))
        seconds = self.clock() - start
        cost = replace(cost, seconds=cost.seconds + seconds if cost.replayed else seconds - setup)
        answer = _drafted(question, decision, texts, units, cost)
        if decision.at_home:
            return answer
        return OpenQuestion(question.id, vector, (), drafts=(answer,))

    def finish(self, question: Question, foreign: Sequence[EvidenceUnit]) -> Answer:
        """An answer over home's evidence and others', the nearest first."""
        start = self.clock()
        vector, analysis = self._read(question)
        units = [*self._own(vector), *rescored(foreign, vector, self.encoder)]
        return self._reasoned(question, analysis, nearest(units, self.units, self.device), start)

    def draw(self, question: str, units: Sequence[EvidenceUnit]) -> tuple[list[str], Cost, float]:
        """Candidates over one prompt state with their cost, and the seconds of loading the model.

        Of answers that the question lists itself the likeliest is the only candidate.
        """
        stem, options = without_options(question)
        if options:
            ranked = self.cognizer.rank(stem, Shown(units), options, max((unit.score for unit in units), default=0.0))
            return [ranked.text], ranked.cost, ranked.setup
        drawn = self.cognizer.generator().complete(
            evidence_prompt(question, units),
            grammar=ANSWER_GRAMMAR,
            max_tokens=self.cognizer.max_tokens,
            n=self.candidates,
            seed=self.cognizer.seed,
        )
        replayed = drawn[0].cached
        cost = Cost(
            sum(one.seconds for one in drawn) if replayed else 0.0,
            1,
            drawn[0].tokens_in,
            sum(one.tokens_out for one in drawn),
            replayed,
        )
        return [clean(one.text) for one in drawn], cost, max(one.setup for one in drawn)

    def _read(self, question: Question) -> tuple[Vector, QuestionAnalysis]:
        [vector] = self.encoder.encode([question.text])
        return vector, self.pipeline.question(question.text)

    def _own(self, vector: Vector) -> list[EvidenceUnit]:
        return [shortened(unit) for unit in self.retrieve(vector, self.units)]

    def _reasoned(
        self, question: Question, analysis: QuestionAnalysis, units: Sequence[EvidenceUnit], start: float
    ) -> Answer:
        verdict = self.cognizer.answer(question.text, analysis, units, always=True)
        remote = any(unit.origin != self.device for unit in units)
        return answered(question, verdict.timed(self.clock() - start), units, remote)


def answered(question: Question, verdict: Verdict, units: Sequence[EvidenceUnit], remote: bool) -> Answer:
    """A verdict as an answer that names its evidence."""
    path: AnswerPath = "remote" if remote else "cognizer"
    return Answer(
        question_id=question.id,
        text=verdict.text,
        path=path if verdict.text else "abstained",
        score=verdict.score,
        decisions=verdict.decisions,
        sources=sources_of(units),
        cost=verdict.cost,
        evidence=tuple(units),
    )


def placed(verdict: Verdict, where: str) -> Verdict:
    """A verdict that says where it was made."""
    return verdict.after(because("place", f"at the {where}"))


def nearest(units: Sequence[EvidenceUnit], most: int, home: str = "") -> list[EvidenceUnit]:
    """At most so many units as they are read, the nearest first, each once.

    Of those that say the same the device `home`'s is taken, where it says so.
    """
    best: dict[tuple[str, str], EvidenceUnit] = {}
    for unit in sorted(units, key=lambda one: (-one.score, one.origin, one.id)):
        best.setdefault((unit.origin, unit.id), unit)
    return distinct(map(shortened, best.values()), home)[:most]


def sources_of(units: Sequence[EvidenceUnit]) -> tuple[str, ...]:
    """The references by which evidence is traced."""
    return tuple(f"{unit.origin}/{unit.id}" for unit in units)[:_MOST_SOURCES]


def _drafted(
    question: Question, decision: GateDecision, texts: Sequence[str], units: Sequence[EvidenceUnit], cost: Cost
) -> Answer:
    drafted = texts[decision.chosen] if decision.chosen >= 0 else ""
    text = told(question.text, units) or drafted
    return Answer(
        question_id=question.id,
        text=text,
        path="cognizer" if text else "abstained",
        score=decision.trust,
        decisions=(because("gate", decision.explanation, decision.trust, decision.threshold),),
        sources=sources_of(units),
        cost=cost,
        evidence=tuple(units),
    )
