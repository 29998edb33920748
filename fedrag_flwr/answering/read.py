"""Reading: one call of the model over a few passages (FD-RAG 4.2, the Cognizer; eq. 15)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fedrag_flwr.answering.extract import NONE, Extract, extracted, spans_of
from fedrag_flwr.answering.prompts import UNKNOWN, closed_book_prompt, declines, reading_prompt
from fedrag_flwr.models.base import Completion, Generator, Grammar, Heard, Prompt
from fedrag_flwr.models.load import load_span_reader
from fedrag_flwr.models.spans import SpanReader
from fedrag_flwr.records import Cost, EvidenceUnit, as_line

# One line that is not the word for not knowing: how likely that was instead is asked apart, and judged with the rest.
ANSWER = Grammar(
    r"""root ::= [^uU\n] rest | [uU] [^nN\n] rest | [uU] [nN] [^kK\n] rest
rest ::= [^\n]*"""
)


_LEAD = re.compile(
    r"(?:based on|according to|from) (?:the |this )?(?:provided |given )?"
    r"(?:information|passages?|texts?|context|documents?)[^,.]{0,40}, ",
    re.IGNORECASE,
)  # what says only that something was read


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before anybody judges it."""

    text: str  # the answer; empty where there is none
    cost: Cost = field(default_factory=Cost)  # of the call
    setup: float = 0.0  # seconds of loading the model, which are no question's own
    logprob: float = math.nan  # mean log-probability of the tokens that it wrote; nan where the model does not tell
    # The lowest of them: where a sentence says the question again, the doubt lies in a word or two.
    least: float = math.nan
    unknown: float = math.nan  # log-probability of saying that it does not know instead; nan where that was not asked
    # Who gave it: the generator, a quote of sentences, a table's cell, or the reader of spans.
    by: Literal["generator", "quote", "cell", "spans", "names"] = "generator"

    def timed(self, seconds: float) -> Cost:
        """The cost of a question that took so many seconds; a replayed generation keeps its own."""
        spent = seconds - self.setup + (self.cost.seconds if self.cost.replayed else 0.0)
        return replace(self.cost, seconds=max(spent, 0.0))


@dataclass(frozen=True, slots=True)
class Reader:
    """Asks the model."""

    generator: Callable[[], Generator]  # gives the model; called when it is first needed
    max_tokens: int  # longest answer, in tokens
    seed: int = 0  # of sampling
    # Finds an answer's own words in passages; None: answers are the generator's alone.
    spans: SpanReader | None = field(default_factory=load_span_reader)

    def plain(self, question: str, units: Sequence[EvidenceUnit]) -> Draft:
        """Ask over passages in the model's own chat template and under no grammar; nothing over none."""
        return self._complete(reading_prompt(question, units), None) if units else Draft("")

    def recite(self, question: str) -> Draft:
        """Ask the model alone."""
        return self._complete(closed_book_prompt(question), None)

    def read(self, question: str, units: Sequence[EvidenceUnit], heard: Heard | None = None) -> Draft:
        """Ask over passages, and how likely the model would have said that it does not know.

        `heard` is told all of the answer so far, each time that it grows; nothing while it says that it does not know.
        """
        prompt = reading_prompt(question, units)
        draft = self._complete(prompt, ANSWER, _so_far(heard) if heard is not None else None)
        if not draft.text:
            return draft
        return replace(draft, unknown=float(self.generator().score(prompt, [UNKNOWN]).logprobs[0]))

    def extract(self, question: str, units: Sequence[EvidenceUnit]) -> Extract:
        """The passages' own words that answer most likely, without the generator."""
        return NONE if self.spans is None else extracted(question, units, self.spans)

    def told(self, question: str, units: Sequence[EvidenceUnit]) -> list[float]:
        """Log-odds that each passage tells an answer; empty where nothing finds spans."""
        if self.spans is None or not units:
            return []
        return [one.told for one in spans_of(question, units, self.spans)]

    def draw(self, question: str, units: Sequence[EvidenceUnit], count: int) -> list[Draft]:
        """So many drafts over one state of the prompt, drawn at random where there are several."""
        prompt = reading_prompt(question, units)
        drawn = self.generator().complete(prompt, grammar=ANSWER, max_tokens=self.max_tokens, n=count, seed=self.seed)
        return [_draft(one) for one in drawn]

    def choose(self, question: str, units: Sequence[EvidenceUnit], options: Sequence[str]) -> Draft:
        """Choose among the answers that a question lists: the likeliest by the mean log-probability of its words.

        Shown the options, a small model copies one of them; what it would have said tells more. The draft's
        log-probability is that of the option among all.
        """
        found = self.generator().score(reading_prompt(question, units), options)
        means = found.logprobs / [max(len(option.split()), 1) for option in options]
        best = int(np.argmax(means))
        share = -float(np.log(np.exp(means - means[best]).sum()))  # of the best among all
        return Draft(options[best], Cost(found.seconds, 1, found.tokens_in), found.setup, share)

    def _complete(self, prompt: Prompt, grammar: Grammar | None, heard: Heard | None = None) -> Draft:
        [said] = self.generator().complete(
            prompt, grammar=grammar, max_tokens=self.max_tokens, seed=self.seed, heard=heard
        )
        return _draft(said)


def _so_far(heard: Heard) -> Heard:
    """Takes the pieces of an answer, and tells all of it so far where it is one."""
    pieces: list[str] = []

    def add(piece: str) -> None:
        pieces.append(piece)
        text = "".join(pieces)
        if not UNKNOWN.startswith(text.strip().casefold()) and not declines(text):
            heard(text)

    return add


def _draft(said: Completion) -> Draft:
    cost = Cost(said.seconds, 1, said.tokens_in, said.tokens_out, replayed=said.cached)
    text = "" if declines(said.text) else clean(said.text)
    return Draft(text, cost, said.setup, said.logprob, said.least)


def clean(text: str) -> str:
    """A generated answer as one line, without quotes around it and without the stop behind a few words."""
    line = " ".join(text.split()).strip('" ')
    if lead := _LEAD.match(line):
        line = line[lead.end() : lead.end() + 1].upper() + line[lead.end() + 1 :]
    if line.count(". ") == 0 and len(line.split()) <= 8:
        line = line.rstrip(".")
    return as_line(line)
