"""The slow path: a small model reasons over a few pieces of evidence, and its answer is checked (FD-RAG 4.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedrag_flwr.errors import PromptError
from fedrag_flwr.inference.candidates import (
    NAMES,
    IsCalled,
    candidates,
    choice_grammar,
    chosen,
    unknown,
    without_options,
)
from fedrag_flwr.inference.prompts import ANSWER_GRAMMAR, UNKNOWN, closed_book_prompt, evidence_prompt
from fedrag_flwr.inference.reader import SURE, Reading
from fedrag_flwr.inference.support import bare, coverage, evidence_texts, is_choice, is_supported, is_yes_no
from fedrag_flwr.inference.telling import told
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.records import Cost, Decision, EvidenceUnit, Explained, Fact, MemoryItem, as_line, because
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.base import QuestionAnalysis

_NOT_FOUND = "the model found no answer in the evidence"
_CUT = "the model's answer is longer than it may be"
_SPAN = Decision("evidence", "the likeliest span instead")
_DECLINED = re.compile(rf"(?i:{UNKNOWN})(?!\w| [A-Z])")


@dataclass(frozen=True, slots=True)
class Verdict(Explained):
    """What the model answered and whether the evidence bears it.

    `text` is empty where the device abstains; `score` is the nearness of the evidence, in [0, 1]; `setup` are seconds
    of loading the model, which are no part of any question's, and `replayed` those that replayed generations took once.
    `again` tells that it rests on further evidence.
    """

    text: str
    score: float
    cost: Cost
    setup: float = 0.0
    replayed: float = 0.0
    again: bool = False

    def timed(self, seconds: float) -> Verdict:
        """The same with the seconds of everything since the question came; replayed generations keep their own."""
        return replace(self, cost=replace(self.cost, seconds=seconds - self.setup + self.replayed))

    def then(self, later: Verdict) -> Verdict:
        """A later verdict over further evidence, with what both cost."""
        return replace(
            later,
            decisions=(*self.decisions, because("second-look", f"asked again: {later.explanation}", later.score)),
            cost=self.cost + later.cost,
            setup=self.setup + later.setup,
            replayed=self.replayed + later.replayed,
            again=True,
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model is shown: evidence units, and memories that tell something else."""

    units: Sequence[EvidenceUnit] = ()
    memories: Sequence[MemoryItem] = ()

    @property
    def both(self) -> tuple[Sequence[EvidenceUnit], Sequence[MemoryItem]]:
        """Units and memories."""
        return self.units, self.memories

    def texts(self) -> list[str]:
        """What an answer may be taken from."""
        return evidence_texts(self.units, self.memories)

    def nearness(self, analysis: QuestionAnalysis) -> float:
        """How near it comes to a question."""
        return nearness(analysis, self.units, [*self.texts(), *(item.question for item in self.memories)])


NOTHING = Shown()


@dataclass(frozen=True, slots=True)
class Cognizer:
    """Answers from evidence with one call of the model, and abstains where the evidence does not carry an answer.

    Parameters
    ----------
    generator
        Gives the local model; called when it is first needed.
    max_tokens
        Longest answer, in tokens.
    abstain_below
        Nearness of the evidence below which the model is not asked at all.
    seed
        Of the model's sampling.
    is_called
        Whether a name is known as a kind of thing; None where that is not known.
    free
        Whether the model writes freely where the evidence has been read, or chooses among typed facts: the first is
        more often right where there is an answer, the second declines more questions that have none.
    least_trust
        Probability of being right below which an answer is not given (`inference.trust`).
    sure
        Log-odds from which a span that was read is the answer, and the model is not asked.
    check
        Whether what the model writes is dropped where the evidence does not hold it; else it is given as written.
    """

    generator: Callable[[], Generator]
    max_tokens: int
    abstain_below: float
    seed: int = 0
    is_called: IsCalled = unknown
    free: bool = False
    least_trust: float = 0.0
    sure: float = SURE
    check: bool = True

    @classmethod
    def of(cls, settings: Settings, generator: Callable[[], Generator], is_called: IsCalled = unknown) -> Cognizer:
        """The slow path as a run's settings ask for it."""
        asked = settings.inference
        return cls(
            generator,
            asked.max_answer_tokens,
            asked.abstain_below,
            settings.seed,
            is_called,
            free=asked.free_answers,
            least_trust=asked.least_trust,
            sure=asked.read_above,
            check=asked.check,
        )

    def answer(
        self,
        question: str,
        analysis: QuestionAnalysis,
        units: Sequence[EvidenceUnit],
        memories: Sequence[MemoryItem] = (),
        facts: Sequence[Fact] | None = None,
        reading: Reading | None = None,
        *,
        further: Shown = NOTHING,
        wording: str = "",
        always: bool = False,
    ) -> Verdict:
        """Answer over evidence units and memories (eq. 15).

        Of the answers that a question lists itself the likeliest is given (`rank`). One that asks to be told something
        gets the nearest sentences themselves (`inference.telling`). Where the evidence's typed `facts` hold none that
        fits the question, the model is not asked; nor where a `reading` of the evidence is sure of an answer that fits.
        With facts the model can only choose among those that fit, unless it is `free` and there is a reading: where
        nothing fits, it finds none, or what it wrote cannot be the answer, it is asked over `further` evidence; and if
        that is in vain, too, the reading's likeliest span that can be the answer takes its place. `wording` is the
        question as it came, where a name stands for one of its descriptions now. With `always` the model is asked over
        any evidence, however far, as plain retrieval-augmented generation does.
        """
        first = Shown(units, memories)
        score = first.nearness(analysis)
        if score < self.abstain_below and not always:
            far = f"evidence too far: {score:.2f} < {self.abstain_below:.2f}"
            return _without_model("", score, far, self.abstain_below)
        stem, options = without_options(question)
        if options:
            return self.rank(stem, first, options, score)
        if text := told(question, units):
            return _without_model(text, score, f"told by the nearest of {len(units)} units, nearness {score:.2f}")
        free, known = reading is not None and self.free, reading.known if reading is not None else ""
        choices: Sequence[str] = ()
        if facts is not None:
            choices = candidates(question, analysis, facts, self.is_called)
            if not choices and not (free and further.units):
                return _without_model("", score, _none_fits(analysis))
            known = known if free or _among(known, choices) else ""
        if known:
            return _without_model(known, score, f"read from {len(units)} units, nearness {score:.2f}")
        if facts is not None and not free:
            return self._choose(question, first, choices, score)
        worded = wording or question
        if facts is None or choices:
            verdict = self._write(question, worded, analysis, first)
        else:
            verdict = _without_model("", score, _none_fits(analysis))
        return self._with_more(verdict, question, worded, analysis, first, further, reading)

    def rank(self, question: str, shown: Shown, options: Sequence[str], score: float) -> Verdict:
        """The likeliest of some answers, by the mean log-probability of their words after the question alone.

        Shown the options, a small model copies one of them; what it would have said tells more.

        Parameters
        ----------
        question
            Without its options.
        shown
            The evidence.
        options
            The answers, at least one, each of at least one word.
        score
            How near the evidence comes to the question.
        """
        found = self.generator().score(evidence_prompt(question, shown.units, shown.memories), options)
        likeliest = int(np.argmax(found.logprobs / [len(option.split()) for option in options]))
        why = because("model", f"the likeliest of {len(options)} options, nearness {score:.2f}", score)
        cost = Cost(found.seconds, 1, found.tokens_in)
        return Verdict(options[likeliest], score, cost, found.setup, decisions=(why,))

    def recite(self, question: str) -> Verdict:
        """Answer from the model's own knowledge, without evidence."""
        verdict = self._complete(closed_book_prompt(question), ANSWER_GRAMMAR)
        return verdict.decided(Decision("model", "the model alone" if verdict.text else "the model does not know"))

    def _with_more(
        self,
        verdict: Verdict,
        question: str,
        worded: str,
        analysis: QuestionAnalysis,
        first: Shown,
        further: Shown,
        reading: Reading | None,
    ) -> Verdict:
        """A verdict without an answer, asked again over further evidence; else with the reading's likeliest span."""
        shown = first
        if not verdict.text and further.units:
            try:
                verdict, shown = verdict.then(self._write(question, worded, analysis, further)), further
            except PromptError as error:  # a prompt that is too long takes nothing from the first one's answer
                verdict = verdict.decided(because("second-look", f"not asked again: {error}"))
        if verdict.text or reading is None:
            return verdict
        span = next((text for text in reading.texts() if not why_not(text, worded, analysis, shown.texts())), "")
        return replace(verdict, text=span).decided(_SPAN) if span else verdict

    def _write(self, question: str, worded: str, analysis: QuestionAnalysis, shown: Shown) -> Verdict:
        """What the model writes over evidence; empty where that is checked and cannot be the answer."""
        verdict = self._complete(evidence_prompt(question, shown.units, shown.memories), ANSWER_GRAMMAR)
        score = shown.nearness(analysis)
        fault = "" if verdict.text else _NOT_FOUND
        if verdict.text and self.check:
            fault = why_not(verdict.text, worded, analysis, shown.texts())
        text, why = ("", fault) if fault else (verdict.text, _answered(shown, score))
        return replace(verdict, text=text, score=score, decisions=(because("model", why, score),))

    def _choose(self, question: str, shown: Shown, choices: Sequence[str], score: float) -> Verdict:
        """Which of some answers the model chooses."""
        verdict = self._complete(evidence_prompt(question, shown.units, shown.memories), choice_grammar(choices))
        text = chosen(verdict.text, choices)
        why = _answered(shown, score) if text else _CUT if verdict.text else _NOT_FOUND
        return replace(verdict, text=text, score=score, decisions=(because("model", why, score),))

    def _complete(self, prompt: Prompt, grammar: Grammar) -> Verdict:
        """What the model says, not judged yet."""
        (said,) = self.generator().complete(prompt, grammar=grammar, max_tokens=self.max_tokens, seed=self.seed)
        cost = Cost(said.seconds, 1, said.tokens_in, said.tokens_out, replayed=said.cached)
        return Verdict(clean(said.text), 0.0, cost, said.setup, said.seconds if said.cached else 0.0)


def _without_model(text: str, score: float, said: str, threshold: float = 0.0) -> Verdict:
    return Verdict(text, score, Cost(), decisions=(because("evidence", said, score, threshold),))


def _none_fits(analysis: QuestionAnalysis) -> str:
    return f"the evidence holds no {analysis.answer_type or 'fitting span'}"


def _answered(shown: Shown, score: float) -> str:
    return f"answered from {len(shown.units)} units, nearness {score:.2f}"


def _among(text: str, choices: Sequence[str]) -> bool:
    """Whether a text is one of the choices, but for case, articles and possessives."""
    return normalise_anchor(text) in {normalise_anchor(choice) for choice in choices}


def why_not(text: str, question: str, analysis: QuestionAnalysis, texts: Sequence[str]) -> str:
    """Why what a model wrote cannot be the answer to a question over these texts, or ""."""
    if is_yes_no(text):
        return (
            "the model said yes or no to another kind of question" if analysis.answer_type not in ("", "YESNO") else ""
        )
    if not is_supported(text, texts):
        return "the evidence does not hold the model's answer"
    if not is_choice(question) and is_supported(text, [question]):
        return "the question holds the model's answer itself"
    return ""


def nearness(analysis: QuestionAnalysis, units: Sequence[EvidenceUnit], texts: Sequence[str]) -> float:
    """How near evidence comes to a question: the mean of its best similarity and the share of anchors it covers.

    A name weighs as much as three other anchors: evidence that lacks the name is about something else.
    """
    best = max((unit.score for unit in units), default=0.0)
    names = [fact.anchor for fact in analysis.facts if fact.type in NAMES]
    return 0.5 * (min(max(best, 0.0), 1.0) + coverage([*analysis.anchors, *names, *names], texts))


def clean(text: str) -> str:
    """A generated answer without quotes and final stop, no longer than a line; empty where the model does not know.

    A name that begins so ("Unknown Pleasures") is an answer.
    """
    line = bare(text.strip().split("\n")[0])
    return "" if _DECLINED.match(line) else as_line(line)
