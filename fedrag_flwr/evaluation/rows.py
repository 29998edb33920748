"""The rows of a run's answers: each system's answer to each question, beside the gold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.answering.explain import LONG, bearing_first, told_of, why_declined
from fedrag_flwr.evaluation.bootstrap import Finite
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import Verdict, judge_all
from fedrag_flwr.records import Answer, ChosenPath, Cost, EvidenceUnit, Explained

MISSING = "missing"


@dataclass(frozen=True, slots=True)
class AnswerRow(Explained):
    """One system's answer to one question, beside the gold.

    `answer` is None and `path` ``missing`` if none came, or an error in its place: then `decisions` say which. `score`
    is the answer's confidence; None where nobody judged it. `told` says in words where the answer comes from, or why
    there is none. It names a memory's question or a document only where evidence may be written. `evidence` is what the
    generator read, and `answer_paths` say why its passages were chosen: in benchmarks over public text, of answers made
    in this process.
    """

    system: str
    question_id: str
    kind: str
    home: str
    question: str
    gold: str
    aliases: tuple[str, ...]
    answer: str | None
    path: str
    score: Finite | None
    right: bool
    em: Finite
    f1: Finite
    sources: tuple[str, ...]
    cost: Cost
    told: str = ""
    evidence: tuple[str, ...] = ()
    answer_paths: tuple[ChosenPath, ...] = ()


def answer_rows(
    answers: Mapping[str, Sequence[Answer]],
    gold: Sequence[GoldQuestion],
    systems: Sequence[str] | Mapping[str, object],
    *,
    with_evidence: bool = False,
) -> Iterator[AnswerRow]:
    """Yield one row for each system and question, systems in order, questions in the gold's order."""
    for system in systems:
        for verdict in judge_all(gold, answers.get(system, ())):
            row = _row(system, verdict)
            if with_evidence and verdict.answer is not None:
                evidence = tuple(map(_titled, verdict.answer.evidence))
                told = _told(verdict.gold.text, verdict.answer)
                row = replace(row, told=told, evidence=evidence, answer_paths=verdict.answer.paths)
            yield row


def _row(system: str, verdict: Verdict) -> AnswerRow:
    gold, answer = verdict.gold, verdict.answer
    return AnswerRow(
        system=system,
        question_id=gold.question_id,
        kind=gold.kind,
        home=gold.home,
        question=gold.text,
        gold=gold.answer,
        aliases=tuple(gold.aliases),
        answer=answer.text if answer else None,
        path=answer.path if answer else MISSING,
        score=_confidence(answer),
        right=verdict.right,
        em=verdict.em,
        f1=verdict.f1,
        decisions=answer.decisions if answer else verdict.failure,
        sources=answer.sources if answer else (),
        cost=answer.cost if answer else Cost(),
        told=_told("", replace(answer, recalled="", evidence=())) if answer else "",
    )


def _confidence(answer: Answer | None) -> float | None:
    """An answer's confidence; a text with 0.0 was judged by nobody."""
    if answer is None or not math.isfinite(answer.score) or (answer.text and not answer.score):
        return None
    return answer.score


def _told(question: str, answer: Answer) -> str:
    """Where an answer comes from, or why there is none, as people are told."""
    if not answer.text:
        return why_declined(answer.decisions)
    units = answer.evidence
    if len(answer.text.split()) <= LONG:  # of a longer one the first unit bears the first sentence
        units = tuple(bearing_first(question, answer.text, units))
    place = units[0].title if units else ""
    devices = [] if answer.path == "memorizer" else [source.partition("/")[0] for source in answer.sources]
    return str(told_of(answer.path, answer.score, answer.recalled, place, devices))


def _titled(unit: EvidenceUnit) -> str:
    return f"{unit.title}: {unit.text}" if unit.title else unit.text
