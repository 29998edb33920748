"""Answers over a knowledge graph's evidence: one, or a batch of candidates that the gate judges (DGRAG 3.3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.answering.gate import Gate, GateDecision
from fedrag_flwr.answering.judge import judged_over, told
from fedrag_flwr.answering.read import Reader
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Answer, Clock, Cost, EvidenceUnit, OpenQuestion, Question, Vector, because
from fedrag_flwr.retrieval.base import shortened, within
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.options import without_options
from fedrag_flwr.text.pipeline import Pipeline

Retrieve = Callable[[Vector, int], list[EvidenceUnit]]
_MOST_SOURCES = 64
_UNITS = 12  # of the graph's evidence among which as many are read as the budget allows


@dataclass(frozen=True, slots=True)
class GraphAnswers:
    """Answers questions over what a graph leads to."""

    device: str  # the device's name
    retrieve: Retrieve  # gives at most so many units for a question's vector
    lead: Callable[[Vector], float]  # how far home's summaries are nearer to the question than others', from its vector
    # encoder, pipeline: read the question.
    encoder: Encoder
    pipeline: Pipeline
    reader: Reader  # asks the model
    gate: Gate  # judges candidates
    words: int  # of evidence for one question
    abstain_below: float  # confidence below which no answer is given
    candidates: int  # candidates that are drawn over one prompt
    clock: Clock = time.perf_counter  # seconds for timing

    def local(self, question: Question) -> Answer:
        """One answer over home's evidence, whatever it is worth."""
        start = self.clock()
        vector, analysis = self._read(question)
        judged = judged_over(question.text, analysis, self.evidence(vector), self.reader)
        return told(question, judged, self.device, self.abstain_below, self.clock() - start)

    def gated(self, question: Question) -> Answer | OpenQuestion:
        """Home's best candidate where the gate accepts it; else an open question, with that candidate as a draft."""
        start = self.clock()
        vector, analysis = self._read(question)
        units = self.evidence(vector)
        texts, cost, setup = self.draw(question.text, units)
        decision = self.gate.decide(analysis, texts, units, self.lead(vector))
        seconds = self.clock() - start
        cost = replace(cost, seconds=cost.seconds + seconds if cost.replayed else seconds - setup)
        answer = _drafted(question, decision, texts, units, cost)
        if decision.at_home:
            return answer
        return OpenQuestion(question.id, vector, (), drafts=(answer,))

    def evidence(self, vector: Vector) -> list[EvidenceUnit]:
        """What home reads for a question's vector, shape (dimension,): the graph's units within the budget of words."""
        return within([shortened(unit) for unit in self.retrieve(vector, _UNITS)], self.words)

    def draw(self, question: str, units: Sequence[EvidenceUnit]) -> tuple[list[str], Cost, float]:
        """Candidates over one prompt state with their cost, and the seconds of loading the model.

        Of answers that the question lists itself the likeliest is the only candidate.
        """
        stem, options = without_options(question)
        if options:
            ranked = self.reader.choose(stem, units, options)
            return [ranked.text], ranked.cost, ranked.setup
        drawn = self.reader.draw(question, units, self.candidates)
        replayed = drawn[0].cost.replayed
        cost = Cost(
            sum(one.cost.seconds for one in drawn) if replayed else 0.0,
            1,
            drawn[0].cost.tokens_in,
            sum(one.cost.tokens_out for one in drawn),
            replayed,
        )
        return [one.text for one in drawn], cost, max(one.setup for one in drawn)

    def _read(self, question: Question) -> tuple[Vector, QuestionAnalysis]:
        [vector] = self.encoder.encode([question.text])
        return vector, self.pipeline.question(question.text)


def _drafted(
    question: Question, decision: GateDecision, texts: Sequence[str], units: Sequence[EvidenceUnit], cost: Cost
) -> Answer:
    drafted = texts[decision.chosen] if decision.chosen >= 0 else ""
    return Answer(
        question_id=question.id,
        text=drafted,
        path="cognizer" if drafted else "abstained",
        score=decision.confidence,
        decisions=(because("gate", decision.explanation, decision.confidence, decision.threshold),),
        sources=tuple(f"{unit.origin}/{unit.id}" for unit in units)[:_MOST_SOURCES],
        cost=cost,
        evidence=tuple(units),
    )
