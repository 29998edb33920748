"""The server's answer and short report from devices' summaries: each statement with its origin, conflicts named."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fedrag_flwr.answering.judge import judged_over, told
from fedrag_flwr.answering.passages import WHOLE_WORDS
from fedrag_flwr.answering.read import Reader
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.models.base import Encoder, Grammar, Prompt
from fedrag_flwr.privacy.model_summary import brings_nothing
from fedrag_flwr.privacy.vectors import rescored
from fedrag_flwr.records import Answer, Cost, EvidenceUnit, Question, because
from fedrag_flwr.retrieval.base import nearest, within
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.lexicon import FUNCTION_WORDS
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.questions import matches_type
from fedrag_flwr.text.support import coverage, forms
from fedrag_flwr.text.words import normalise_anchor

Writer = Literal["model", "extractive", "none"]
RULES = 4  # grows when answers or reports come to be written otherwise: what was cached is then void

_POOL, _MOST_NOTES, _MOST_STATEMENTS, _MOST_CONFLICTS = 32, 6, 3, 4
_MOST_TOKENS, _MOST_REPORT = 110, 2_000
_LEAST_BORNE = 0.8  # of a statement's words in its note, title and question
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
    """Answers a question over what devices told, and reports on it."""

    reader: Reader  # asks the model for the answer
    # encoder, pipeline: read the question and what was told.
    encoder: Encoder
    pipeline: Pipeline
    words: int  # of what was told that the model reads
    abstain_below: float  # confidence below which no answer is given
    # Who writes the report: the model, checked against what was told; rules that quote; or nobody.
    writer: Writer = "model"

    @classmethod
    def of(cls, settings: Settings, tools: Models, writer: Writer) -> Reporter:
        """What writes answers and reports under a run's settings."""
        asked = settings.inference
        reader = Reader(tools.generator, asked.max_answer_tokens, settings.seed)
        return cls(reader, tools.encoder, tools.pipeline, WHOLE_WORDS, asked.abstain_below, writer)

    def input(self, question: str, units: Sequence[EvidenceUnit]) -> tuple[EvidenceUnit, ...]:
        """The sentences among which evidence is chosen: those of what was told that come nearest, each with its origin.

        Owners' scores are claims, and of different scales: nearness is measured anew.
        """
        [asked] = self.encoder.encode([question])
        sentences = [
            replace(unit, id=f"{unit.id}.{number}", text=text.strip("# "))
            for unit in units
            for number, text in enumerate(_SENTENCE_END.split(unit.text))
            if any(char.isalnum() for char in text)
        ]
        return tuple(nearest(rescored(sentences, asked, self.encoder))[:_POOL])

    def answer(self, question: Question, units: Sequence[EvidenceUnit]) -> Answer:
        """An answer with its report over what `input` gave; each statement and each source names its origin."""
        start = time.perf_counter()
        analysis = self.pipeline.question(question.text)
        read = within(_under_titles(units), self.words)
        judged = judged_over(question.text, analysis, read, self.reader)
        report, cost, spared = self._report(question.text, units[:_MOST_NOTES])
        seconds = time.perf_counter() - start - spared
        answer = told(question, judged, "", self.abstain_below, seconds).after(because("place", "at the server"))
        named = [*report, *_conflicts(analysis, answer.text, units, self.pipeline)]
        sources = tuple(dict.fromkeys(map(_reference, answer.evidence)))
        cost = replace(answer.cost + cost, seconds=answer.cost.seconds)  # the clock has run for the report, too
        return replace(answer, sources=sources, cost=cost, report=" ".join(named)[:_MOST_REPORT])

    # --- the report -----------------------------------------------------------------------------------

    def _report(self, question: str, notes: Sequence[EvidenceUnit]) -> tuple[list[str], Cost, float]:
        """Statements, what they cost, and the seconds by which the clock ran longer than that: those of loading, less
        those that a replayed generation took once.
        """
        if self.writer == "none" or not notes:
            return [], Cost(), 0.0
        if self.writer == "extractive":
            return [_quoted(note) for note in notes[:_MOST_STATEMENTS]], Cost(), 0.0
        told = "\n".join(f"{number}. ({note.title}) {note.text}" for number, note in enumerate(notes, 1))
        prompt = Prompt(_SYSTEM, f"Notes:\n{told}\nQuestion: {question}", _EXAMPLES)
        grammar = Grammar("root ::= s s? s?\n" + rf's ::= [^()\n]+ " (" [1-{len(notes)}] "). "?')
        [written] = self.reader.generator().complete(
            prompt, grammar=grammar, max_tokens=_MOST_TOKENS, seed=self.reader.seed
        )
        cost = Cost(written.seconds, 1, written.tokens_in, written.tokens_out, written.cached)
        statements = []
        for text, number in _STATEMENT.findall(written.text)[:_MOST_STATEMENTS]:
            if not 1 <= int(number) <= len(notes):  # an endpoint may know nothing of grammars
                continue
            note = notes[int(number) - 1]
            if _bears(note, text.strip(" ."), question):
                statements.append(f"{text.strip(' .')} ({_reference(note)}).")
        spared = written.setup - (written.seconds if written.cached else 0.0)
        return statements or [_quoted(notes[0])], cost, spared


def _under_titles(units: Sequence[EvidenceUnit]) -> list[EvidenceUnit]:
    """What one device said under one title as one unit; the nearest stands first."""
    together: dict[tuple[str, str], list[EvidenceUnit]] = {}
    for unit in units:
        together.setdefault((unit.origin, unit.title or unit.id), []).append(unit)
    by_nearness = sorted(together.items(), key=lambda item: (-max(one.score for one in item[1]), item[0]))
    return [replace(own[0], text=" ".join(one.text for one in own)) for _, own in by_nearness]


def _conflicts(analysis: QuestionAnalysis, answer: str, units: Sequence[EvidenceUnit], pipeline: Pipeline) -> list[str]:
    """Name the sentences that speak of all that the question names and hold another fact of the kind it asks for."""
    if not answer or not analysis.anchors or analysis.answer_type in ("", "YESNO"):
        return []
    same, found = normalise_anchor(answer), []
    for unit, facts in zip(units, pipeline.facts([unit.text for unit in units]), strict=True):
        matching = {fact.anchor: fact.text for fact in facts if matches_type(analysis.answer_type, fact.type)}
        other = {anchor: text for anchor, text in matching.items() if anchor not in analysis.anchors}
        if len(other) != 1 or coverage(analysis.anchors, [f"{unit.title} {unit.text}"]) < 1.0:
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
