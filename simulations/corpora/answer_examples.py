"""Training questions over notes as a device reads them, with the answer that the notes bear: to fit answering on.

A question comes with several sets of notes: the sentences that a reader fitted on other questions would hand over, and
the gold ones among some that are not. Where its notes do not hold the answer, `unknown` is right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedrag_flwr.inference.prompts import UNKNOWN, evidence_prompt
from fedrag_flwr.inference.reader import FEWEST, LEAST_EVIDENCE, rank
from fedrag_flwr.inference.reading import Pool
from fedrag_flwr.inference.support import is_yes_no
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.base import Pipeline
from simulations.corpora.reader_corpus import Row, candidates_of, rows_of

KEPT = 14  # sentences of a question that its notes are drawn from
WIDER = (-1.8, 3, 6)  # log-odds, fewest and most of a second, longer reading
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Noted:
    """A training question with its likeliest sentences, the log-odds of each, and which are gold.

    `steps` are the single questions that a question of several hops was made of, each with its answer and the title of
    the paragraph that holds it.
    """

    source: str
    question: str
    answers: tuple[str, ...]
    sentences: tuple[EvidenceUnit, ...]
    scores: tuple[float, ...]
    gold: tuple[bool, ...]
    steps: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, row: Row, scores: Sequence[float]) -> Noted:
        """Of a question whose sentences are marked, with scores by a reader that was not fitted on it."""
        order = [int(i) for i in np.argsort(-np.asarray(scores), kind="stable")[:KEPT]]
        order += [int(i) for i in np.flatnonzero(row.gold) if int(i) not in order]
        units = tuple(row.pool.candidates[i].unit for i in order)
        likely, gold = tuple(float(scores[i]) for i in order), tuple(bool(row.gold[i]) for i in order)
        return cls(row.source, row.question, row.answers, units, likely, gold)

    @classmethod
    def restored(cls, fields: Mapping[str, Any]) -> Noted:
        """Of what `dataclasses.asdict` made of one, read from JSON."""
        return cls(
            fields["source"],
            fields["question"],
            tuple(fields["answers"]),
            tuple(EvidenceUnit(**unit) for unit in fields["sentences"]),
            tuple(fields["scores"]),
            tuple(fields["gold"]),
            tuple((question, answer, title) for question, answer, title in fields["steps"]),
        )

    def read(self, least: float, fewest: int, most: int) -> list[EvidenceUnit]:
        """The sentences that a device would read."""
        worth = sum(score >= least for score in self.scores)
        return list(self.sentences[: min(max(worth, fewest), most)])


@dataclass(frozen=True, slots=True)
class Example:
    """What the model is shown and what it should say."""

    source: str
    question: str
    user: str
    answer: str


def composed(path: Path, limit: int, encoder: Encoder, pipeline: Pipeline) -> Iterator[Noted]:
    """Training rows of MuSiQue, which marks paragraphs and tells the steps; the shipped reader was not fitted on it."""
    for fields in rows_of(path, "train", limit):
        question = fields["question"].strip()
        found = candidates_of(fields, encoder, pipeline)
        held = [p["is_supporting"] for p, own in zip(fields["paragraphs"], found, strict=True) for _ in own]
        pool = Pool.of(question, pipeline.question(question), [one for candidates in found for one in candidates])
        scores = rank(pool)
        order = [int(i) for i in np.argsort(-scores, kind="stable")[: KEPT + 6]]
        yield Noted(
            path.name.partition(".")[0],
            question,
            (fields["answer"], *fields["aliases"]),
            tuple(pool.candidates[i].unit for i in order),
            tuple(float(scores[i]) for i in order),
            tuple(bool(held[i]) for i in order),
            tuple(_steps(fields)),
        )


def examples(noted: Noted, draw: random.Random, most: int) -> Iterator[Example]:
    """A question over several sets of notes, at most `most` sentences as a device reads them."""
    yield _example(noted, noted.read(LEAST_EVIDENCE, FEWEST, most))
    yield _example(noted, noted.read(*WIDER))
    gold = [unit for unit, right in zip(noted.sentences, noted.gold, strict=True) if right][:5]
    others = [unit for unit, right in zip(noted.sentences, noted.gold, strict=True) if not right][:8]
    yield _example(noted, _mixed(gold, others, draw.randrange(4), draw))
    for question, answer, title in noted.steps:
        own = [unit for unit in noted.sentences if unit.title == title and answer in unit.text][:2]
        if own:
            yield _example(noted, _mixed(own, others, 2, draw), question, (answer,))


def _mixed(
    gold: Sequence[EvidenceUnit], others: Sequence[EvidenceUnit], count: int, draw: random.Random
) -> list[EvidenceUnit]:
    mixed = [*gold, *draw.sample(others, min(count, len(others)))]
    draw.shuffle(mixed)
    return mixed


def _example(noted: Noted, units: Sequence[EvidenceUnit], question: str = "", answers: tuple[str, ...] = ()) -> Example:
    question, answers = question or noted.question, answers or noted.answers
    told = _words(" ".join(f"{unit.title} {unit.text}" for unit in units))
    held = [answer for answer in answers if is_yes_no(answer) or f" {_words(answer)} " in f" {told} "]
    answer = held[0] if held else UNKNOWN
    return Example(noted.source, noted.question, evidence_prompt(question, units).user, answer)


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _steps(fields: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The single questions of a row in words, each with the answers of those before it in place."""
    titles = {p["idx"]: p["title"] or "" for p in fields["paragraphs"]}
    answers: list[str] = []
    for step in fields["question_decomposition"]:
        question = str(step["question"])
        for number, answer in enumerate(answers, 1):
            question = question.replace(f"#{number}", answer)
        answers.append(str(step["answer"]))
        if ">>" not in question:  # "NAME >> relation" is no question
            yield question, answers[-1], titles.get(step["paragraph_support_idx"], "")
