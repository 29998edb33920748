"""The server's answer and short report from devices' summaries: each statement with its origin, conflicts named."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fedrag_flwr.inference.cognizer import Cognizer
from fedrag_flwr.inference.graph_answers import answered, nearest, rescored
from fedrag_flwr.inference.support import coverage, forms
from fedrag_flwr.models.base import Encoder, Generator, Grammar, Prompt
from fedrag_flwr.privacy.model_summary import brings_nothing
from fedrag_flwr.records import Answer, Clock, Cost, EvidenceUnit, Question
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis
from fedrag_flwr.text.lexicon import FUNCTION_WORDS
from fedrag_flwr.text.questions import matches_type

Writer = Literal["model", "extractive", "none"]

_MOST_NOTES, _MOST_STATEMENTS, _MOST_CONFLICTS = 6, 3, 4
_MOST_TOKENS, _MOST_REPORT = 110, 2_000
_LEAST_BORNE = 0.8  # of a statement's words in its note, title and question
_LEAST_COVER = 0.6  # of the question's anchors in a sentence that is said to contradict another
_STATEMENT = re.compile(r"([^()]+?)\s*\((\d)\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_SYSTEM = (
    "You write a report of at most three short sentences that answers the question from numbered notes. End each "
    "sentence with the number of the note that says so, in round brackets. Copy names, numbers and words in square "
    "brackets exactly. Say nothing that the notes do not say."
)
_EXAMPLES = (
    (
        "Notes:\n1. (Harbour Bridge) The bridge at Linwick was drawn by Ada Morrow and opened in May 1931.\n"
        "2. (Linwick tram) Two tram lines cross the Linwick bridge since 1933.\n"
        "Question: Who designed the Linwick bridge?",
        "The bridge at Linwick was drawn by Ada Morrow (1). It opened in May 1931 (1).",
    ),
)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Answers a question over what devices told, and reports on it.

    Parameters
    ----------
    cognizer
        Asks the model for the answer.
    encoder, pipeline
        Read the question and what was told.
    generator
        Gives the model that writes the report.
    units
        Pieces of what was told that the model reads.
    writer
        Who writes the report: the model, checked against what was told; rules that quote; or nobody.
    seed
        Of the model's sampling.
    clock
        Seconds for timing.
    """

    cognizer: Cognizer
    encoder: Encoder
    pipeline: Pipeline
    generator: Callable[[], Generator]
    units: int
    writer: Writer = "model"
    seed: int = 0
    clock: Clock = time.perf_counter

    def input(self, question: str, units: Sequence[EvidenceUnit]) -> tuple[EvidenceUnit, ...]:
        """What the model reads for a question: the sentences of what was told that come nearest, each with its origin.

        Owners' scores are claims, and of different scales: nearness is measured anew.
        """
        [asked] = self.encoder.encode([question])
        sentences = [
            replace(unit, id=f"{unit.id}.{number}", text=text.strip("# "))
            for unit in units
            for number, text in enumerate(_SENTENCE_END.split(unit.text))
            if any(char.isalnum() for char in text)
        ]
        return tuple(nearest(rescored(sentences, asked, self.encoder), max(self.units, _MOST_NOTES)))

    def answer(self, question: Question, units: Sequence[EvidenceUnit]) -> Answer:
        """An answer with its report; what the report says of each origin stands in the units."""
        start = self.clock()
        analysis = self.pipeline.question(question.text)
        read = list(units[: self.units])
        verdict = self.cognizer.answer(question.text, analysis, read, always=True)
        report, cost, setup = self._report(question.text, units)
        named = [*report, *self._conflicts(analysis, verdict.text, units)]
        seconds = self.clock() - start - verdict.setup - setup
        total = replace(verdict.cost + cost, seconds=seconds)
        told = replace(verdict, explanation=f"at the server: {verdict.explanation}", cost=total)
        answer = answered(question, told, read, remote=True)
        sources = tuple(dict.fromkeys(map(_reference, read)))
        return replace(answer, sources=sources, report=" ".join(named)[:_MOST_REPORT])

    # --- the report -----------------------------------------------------------------------------------

    def _report(self, question: str, units: Sequence[EvidenceUnit]) -> tuple[list[str], Cost, float]:
        notes = list(units[:_MOST_NOTES])
        if self.writer == "none" or not notes:
            return [], Cost(), 0.0
        if self.writer == "extractive":
            return [_quoted(note) for note in notes[:_MOST_STATEMENTS]], Cost(), 0.0
        told = "\n".join(f"{number}. ({note.title}) {note.text}" for number, note in enumerate(notes, 1))
        prompt = Prompt(_SYSTEM, f"Notes:\n{told}\nQuestion: {question}", _EXAMPLES)
        grammar = Grammar("root ::= s s? s?\n" + rf's ::= [^()\n]+ " (" [1-{len(notes)}] "). "?')
        [written] = self.generator().complete(prompt, grammar=grammar, max_tokens=_MOST_TOKENS, seed=self.seed)
        cost = Cost(written.seconds, 1, written.tokens_in, written.tokens_out, written.cached)
        statements = []
        for text, number in _STATEMENT.findall(written.text)[:_MOST_STATEMENTS]:
            note = notes[int(number) - 1]
            if _bears(note, text.strip(" ."), question):
                statements.append(f"{text.strip(' .')} ({_reference(note)}).")
        return statements or [_quoted(notes[0])], cost, written.setup

    def _conflicts(self, analysis: QuestionAnalysis, answer: str, units: Sequence[EvidenceUnit]) -> list[str]:
        """Name the sentences that speak of the same and hold another fact of the kind that was asked for."""
        if not answer or not analysis.answer_type or analysis.answer_type == "YESNO":
            return []
        facts = self.pipeline.facts([unit.text for unit in units])
        asked = set(analysis.anchors)
        found = []
        for unit, own in zip(units, facts, strict=True):
            fitting = {fact.anchor: fact.text for fact in own if matches_type(analysis.answer_type, fact.type)}
            other = {anchor: text for anchor, text in fitting.items() if anchor not in asked}
            same = normalise_anchor(answer)
            if len(other) != 1 or coverage(analysis.anchors, [f"{unit.title} {unit.text}"]) < _LEAST_COVER:
                continue
            [(anchor, text)] = other.items()
            if anchor not in same and same not in anchor and same not in normalise_anchor(unit.text):
                found.append(f"In conflict: {text} ({_reference(unit)}).")
        return found[:_MOST_CONFLICTS]


def _quoted(note: EvidenceUnit) -> str:
    return f"{note.title}: {note.text.rstrip('.')} ({_reference(note)})."


def _bears(note: EvidenceUnit, statement: str, question: str) -> bool:
    """Tell whether a note bears a statement: its names and numbers are the note's, and so are most of its words."""
    sources = (note.title, note.text, question)
    said = set(forms(statement)) - FUNCTION_WORDS
    known = {word for source in sources for word in forms(source)}
    return bool(said) and brings_nothing(statement, sources) and len(said & known) >= _LEAST_BORNE * len(said)


def _reference(unit: EvidenceUnit) -> str:
    """Where a sentence comes from: its device, and the record's opaque id."""
    return f"{unit.origin}/{unit.id.rpartition('.')[0]}"
