"""The rows of a run's answers: each system's answer to each question, beside the gold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.evaluation.bootstrap import Finite
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.verdicts import Verdict, judge_all
from fedrag_flwr.records import Answer, ChosenPath, Cost, EvidenceUnit, Explained

MISSING = "missing"


@dataclass(frozen=True, slots=True)
class AnswerRow(Explained):
    """One system's answer to one question, beside the gold.

    `answer` is None and `path` ``missing`` if none came, or an error in its place: then `decisions` say which.
    `evidence` is what the generator read, and `answer_paths` say why its passages were chosen: in benchmarks over
    public text, of answers made in this process.
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
    evidence: tuple[str, ...] = ()
    answer_paths: tuple[ChosenPath, ...] = ()

    @property
    def asked(self) -> tuple[str, str, str, str]:
        """What rows share that answer one question: its id, home, text and gold; ids alone meet between runs."""
        return self.question_id, self.home, self.question, self.gold


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
                told = tuple(map(_told, verdict.answer.evidence))
                row = replace(row, evidence=told, answer_paths=verdict.answer.paths)
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
        score=answer.score if answer and answer.score and math.isfinite(answer.score) else None,
        right=verdict.right,
        em=verdict.em,
        f1=verdict.f1,
        decisions=answer.decisions if answer else verdict.failure,
        sources=answer.sources if answer else (),
        cost=answer.cost if answer else Cost(),
    )


def _told(unit: EvidenceUnit) -> str:
    return f"{unit.title}: {unit.text}" if unit.title else unit.text
