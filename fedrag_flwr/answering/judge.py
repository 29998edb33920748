"""Judging: is an answer borne by what was read, and how likely is it right? One calibrated probability.

A logistic model over what is known of an answer. It is fitted on training questions of all sets
(simulations/fits/confidence.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

from fedrag_flwr.answering.cells import CELL_FEATURES, NUMERIC, Cell
from fedrag_flwr.answering.explain import (
    LONG,
    NO_BEARER,
    NO_PERSON,
    NOTHING_READ,
    UNTOLD,
    bearing_first,
    borne,
    in_words,
    sentences_of,
)
from fedrag_flwr.answering.extract import AGREEMENT_FEATURES, EXTRACT_FEATURES, Extract
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.answering.quote import is_open
from fedrag_flwr.answering.read import Draft, Reader
from fedrag_flwr.answering.recall import Recalled, names_of
from fedrag_flwr.answering.sentences import content_words
from fedrag_flwr.files import read_fitted
from fedrag_flwr.models.base import Heard
from fedrag_flwr.records import Answer, Citation, Cost, Decision, EvidenceUnit, Question, because
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.language import is_english
from fedrag_flwr.text.options import without_options
from fedrag_flwr.text.segment import TITLE_SEPARATOR, under_title
from fedrag_flwr.text.support import forms
from fedrag_flwr.text.words import told_words

SHIPPED = Path(__file__).with_name("confidence.json")
READ_FEATURES = (
    *("log-probability", "least", "unknown", "names told", "asked told", "best told"),
    *("wrong kind", "sentences", "quoted"),
    *EXTRACT_FEATURES,
    *AGREEMENT_FEATURES,
)
SPAN_FEATURES = (*EXTRACT_FEATURES, "names told", "asked told", "best told", "wrong kind")
RECALL_FEATURES = ("score", "similarity", "relation")
JUDGED = {"reading": READ_FEATURES, "spans": SPAN_FEATURES, "cells": CELL_FEATURES, "recall": RECALL_FEATURES}
LEAST_CELL = 0.4  # likelihood from which a table's cell answers
LEAST_TOLD = 0.13  # likelihood of a passage's own words below which the generator is not asked
MOST_SOURCES = 64  # of an answer
_LEAST = -6.0  # of log-probabilities
_NUMBER = re.compile(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|half)\b", re.I)
_ASKS_WHICH = re.compile(r"\bor\b|\bboth\b|\bsame\b", re.I)  # a choice or a comparison: nobody writes its answer down
# How a question begins; and what in the rest describes a thing that it does not name.
_ASKING = re.compile(r"\W*(?:(?:in|on|at|for|of|to|from|by|under|with|into) )?wh(?:at|ich|om?|ose|en|ere)\b", re.I)
_DESCRIBES = re.compile(r"\b(?:that|which|whose|whom?|where|when)\b|\bof the \w+ (?:of|in)\b", re.I)
_LONG_NUMBER = re.compile(r"\d{3,}")
_THOUSANDS = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Judge:
    """Gives answers their confidence."""

    reading: Logistic  # of answers that a model wrote or that are quoted
    spans: Logistic  # of a passage's own words: whether any passage tells an answer
    cells: Logistic  # of a table's cells
    recall: Logistic  # of answers from memory

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Self:
        """Read the models; raises StoreCorruptError where the file holds none over these features."""
        return read_fitted(
            path,
            lambda told: cls(
                **{name: Logistic.model_validate(told[name]).over(features) for name, features in JUDGED.items()}
            ),
        )

    def of_draft(self, features: Sequence[float]) -> float:
        """How likely a draft is right."""
        return self.reading.of(features)

    def of_span(self, features: Sequence[float]) -> float:
        """How likely a passage's own words are right, and so that the passages tell an answer."""
        return self.spans.of(features)

    def of_cell(self, analysis: QuestionAnalysis, cell: Cell) -> float:
        """How likely a table's cell is right."""
        return self.cells.of(cell_features(analysis, cell))

    def of_memory(self, recalled: Recalled) -> float:
        """How likely a memory's answer is right."""
        return self.recall.of(recall_features(recalled))


@cache
def shipped_judge() -> Judge:
    """The judge that comes with the program."""
    return Judge.load()


@dataclass(frozen=True, slots=True)
class Judged:
    """A draft with what was read for it, and how likely it is right; `features` are what that rests on."""

    draft: Draft
    units: Sequence[EvidenceUnit]
    confidence: float
    features: tuple[float, ...] = ()

    def costing(self, *calls: Judged) -> Judged:
        """The same at what several calls cost together."""
        cost = sum((one.draft.cost for one in calls), Cost())
        return replace(self, draft=replace(self.draft, cost=cost, setup=sum(one.draft.setup for one in calls)))


def judged_over(
    question: str,
    analysis: QuestionAnalysis,
    units: Sequence[EvidenceUnit],
    reader: Reader,
    judge: Judge | None = None,
    heard: Heard | None = None,
    abstain_below: float = 0.0,
) -> Judged:
    """What the model answers over units, with its confidence; nothing where there are none, or none tells an answer.

    Parameters
    ----------
    question, analysis
        The question's text and analysis.
    units
        What is read.
    reader
        Asks the model.
    judge
        Gives confidence; None: the shipped one.
    heard
        Is told what the model writes, as `Reader.read` tells it.
    abstain_below
        Confidence below which nothing is answered: what would be declined anyway is not read.
    """
    if not units:
        return Judged(Draft(""), (), 0.0)
    judge = judge or shipped_judge()
    stem, options = without_options(question)
    if options:
        draft = reader.choose(stem, units, options)
        return Judged(draft, units, math.exp(draft.logprob) if math.isfinite(draft.logprob) else 1 / len(options))
    extract = reader.extract(question, units)
    features = span_features(question, analysis, extract, units)
    if features and (told := judge.of_span(features)) < min(LEAST_TOLD, abstain_below):
        return Judged(Draft("", by="spans"), units, told)
    draft = reader.read(question, units, heard)
    if not draft.text:
        return Judged(draft, units, 0.0)
    judged = weighed(question, analysis, draft, units, judge, extract)
    none = (
        invents_number(draft.text, question, units) or TITLE_SEPARATOR in draft.text
    )  # a passage's title with heading
    return replace(judged, confidence=0.0) if none else judged


def invents_number(answer: str, question: str, units: Sequence[EvidenceUnit]) -> bool:
    """Whether an answer tells a number of three digits or more that neither the question nor a passage tells.

    Shorter ones number the steps of a list, or write a date in another form.
    """
    told = _long_numbers(" ".join((question, *(f"{unit.title} {unit.text}" for unit in units))))
    return not _long_numbers(answer) <= told


def _long_numbers(text: str) -> frozenset[str]:
    """The numbers of three digits or more, without the marks between thousands."""
    return frozenset(_LONG_NUMBER.findall(_THOUSANDS.sub("", text)))


def weighed(
    question: str,
    analysis: QuestionAnalysis,
    draft: Draft,
    units: Sequence[EvidenceUnit],
    judge: Judge,
    extract: Extract,
) -> Judged:
    """A draft with its confidence."""
    features = read_features(question, analysis, draft, units, extract)
    return Judged(draft, units, judge.of_draft(features), features)


def told(question: Question, judged: Judged, home: str, abstain_below: float, seconds: float) -> Answer:
    """A judged draft as an answer, with the passage that bears it first; declined where it is too unlikely.

    Of an answer in sentences those stay that a passage bears, each with a citation.
    """
    draft, confidence, units = judged.draft, judged.confidence, list(judged.units)
    text = draft.text
    citations: tuple[Citation, ...] = ()
    decisions = [_said(judged)]
    if text and confidence < abstain_below:
        why = f"confidence {confidence:.2f} < {abstain_below:.2f}"
        text, decisions = "", [*decisions, because("confidence", why, confidence, abstain_below)]
    long = len(text.split()) > LONG
    cited = borne(text, units) if long else []
    if cited or (long and len(sentences_of(text)) > 1):
        text = " ".join(one.text for one in cited)
        units = list(dict.fromkeys([*(one.unit for one in cited), *units]))
        citations = tuple(Citation(one.text, f"{one.unit.origin}/{one.unit.id}") for one in cited)
        decisions += [] if text else [because("evidence", NO_BEARER)]
    elif text:
        units = bearing_first(question.text, text, units)
    remote = any(unit.origin != home for unit in units)
    return Answer(
        question_id=question.id,
        text=text,
        path=("remote" if remote else "cognizer") if text else "abstained",
        score=confidence,
        decisions=tuple(decisions),
        sources=tuple(f"{unit.origin}/{unit.id}" for unit in units)[:MOST_SOURCES],
        cost=draft.timed(seconds),
        evidence=tuple(units),
        citations=citations,
    )


def _said(judged: Judged) -> Decision:
    if not judged.units:
        return because("evidence", NOTHING_READ)
    if judged.draft.by == "quote":
        return because("evidence", f"quoted: {in_words(judged.confidence)}", judged.confidence)
    if judged.draft.by == "cell":
        return because("evidence", f"a table's cell: {in_words(judged.confidence)}", judged.confidence)
    if judged.draft.by == "names":
        return because("evidence", NO_PERSON)
    if judged.draft.by == "spans":
        return because("evidence", UNTOLD, judged.confidence, LEAST_TOLD)
    read = f"{len(judged.units)} passages"
    if not judged.draft.text:
        return because("model", f"the model found no answer in {read}")
    return because("model", f"read in {read}: {in_words(judged.confidence)}", judged.confidence)


def cell_features(analysis: QuestionAnalysis, cell: Cell) -> tuple[float, ...]:
    """What is known of a table's cell, in the order of `CELL_FEATURES`."""
    return *cell.features, float(_wrong_kind(analysis, cell.text))


def recall_features(recalled: Recalled) -> tuple[float, ...]:
    """What is known of a memory that answers, in the order of `RECALL_FEATURES`."""
    return recalled.match.score, recalled.match.similarity, recalled.relation


def read_features(
    question: str,
    analysis: QuestionAnalysis,
    draft: Draft,
    units: Sequence[EvidenceUnit],
    extract: Extract,
) -> tuple[float, ...]:
    """What is known of an answer over units, in the order of `READ_FEATURES`."""
    return (
        _bounded(draft.logprob, _LEAST, -1.0),
        _bounded(draft.least, _LEAST, -2.0),
        _bounded(draft.unknown, 2 * _LEAST, -4.0) / 2,
        *_told_of(question, units),
        float(_wrong_kind(analysis, draft.text)),
        float(len(draft.text.split()) > LONG),
        float(draft.by == "quote"),
        *extract.features,
        *extract.beside(question, draft.text),
    )


def span_features(
    question: str, analysis: QuestionAnalysis, extract: Extract, units: Sequence[EvidenceUnit]
) -> tuple[float, ...]:
    """What is known of a passage's own words, in the order of `SPAN_FEATURES`.

    Nothing where there are none, and of a question that no few words answer: what asks for yes or no, for a choice, for
    a comparison, how or why; nor of one that describes a thing instead of naming it, which takes several passages.
    """
    if not extract.text or analysis.answer_type == "YESNO" or _ASKS_WHICH.search(question) or is_open(question):
        return ()
    if _DESCRIBES.search(_ASKING.sub("", question, count=1)):
        return ()
    return *extract.features, *_told_of(question, units), float(_wrong_kind(analysis, extract.text))


def _told_of(question: str, units: Sequence[EvidenceUnit]) -> tuple[float, float, float]:
    """Shares of a question that units tell: of its names, of its words, and of its words in the best unit.

    Capitals tell names in English alone; of a question in another language all are taken as told.
    """
    texts = [under_title(unit.title, unit.text) for unit in units]
    told = set(told_words(" ".join(texts)))
    asked = content_words(question)
    names = names_of(question) if is_english(question) else frozenset()
    return (
        len(names & {form for text in texts for form in forms(text)}) / len(names) if names else 1.0,
        len(asked & told) / max(len(asked), 1),
        max((len(asked & content_words(text)) / max(len(asked), 1) for text in texts), default=0.0),
    )


def _bounded(logprob: float, least: float, untold: float) -> float:
    """A log-probability no lower than the least; what stands for one that the model does not tell."""
    return max(min(logprob, 0.0), least) if math.isfinite(logprob) else untold


def _wrong_kind(analysis: QuestionAnalysis, text: str) -> bool:
    """Whether a number is asked for and none is told, or yes or no."""
    if analysis.answer_type == "YESNO":
        return text.split(maxsplit=1)[:1] != [] and text.split()[0].strip(",.;").casefold() not in {"yes", "no"}
    return analysis.answer_type in NUMERIC and _NUMBER.search(text) is None
