"""The slow path: a small model reasons over a few pieces of evidence, and its answer is checked (FD-RAG 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.inference.candidates import NAMES, IsCalled, candidates, choice_grammar, unknown
from fedrag_flwr.inference.prompts import ANSWER_GRAMMAR, UNKNOWN, closed_book_prompt, evidence_prompt
from fedrag_flwr.inference.reader import Reading
from fedrag_flwr.inference.support import coverage, evidence_texts, is_choice, is_supported, is_yes_no
from fedrag_flwr.inference.telling import told
from fedrag_flwr.models.base import Completion, Generator, Grammar, Prompt
from fedrag_flwr.records import Cost, EvidenceUnit, Fact, MemoryItem
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.base import QuestionAnalysis

_NOT_FOUND = "the model found no answer in the evidence"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the model answered and whether the evidence bears it.

    `text` is empty where the device abstains; `score` is the nearness of the evidence, in [0, 1]; `setup` are seconds
    of loading the model, which are no part of any question's. `again` tells that further evidence was read.
    """

    text: str
    score: float
    explanation: str
    cost: Cost
    setup: float = 0.0
    again: bool = False

    def timed(self, seconds: float) -> Verdict:
        """The same with the seconds of everything since the question came; a replayed generation keeps its own."""
        total = self.cost.seconds + seconds if self.cost.replayed else seconds - self.setup
        return replace(self, cost=replace(self.cost, seconds=total))

    def then(self, later: Verdict) -> Verdict:
        """A later verdict over further evidence, with what both cost."""
        return replace(later, cost=self.cost + later.cost, setup=self.setup + later.setup, again=True)


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
    """

    generator: Callable[[], Generator]
    max_tokens: int
    abstain_below: float
    seed: int = 0
    is_called: IsCalled = unknown
    free: bool = False
    least_trust: float = 0.0

    @classmethod
    def of(cls, settings: Settings, generator: Callable[[], Generator], is_called: IsCalled = unknown) -> Cognizer:
        """The slow path as a run's settings ask for it."""
        asked = settings.inference
        most, floor = asked.max_answer_tokens, asked.abstain_below
        return cls(generator, most, floor, settings.seed, is_called, asked.free_answers, asked.least_trust)

    def answer(
        self,
        question: str,
        analysis: QuestionAnalysis,
        units: Sequence[EvidenceUnit],
        memories: Sequence[MemoryItem] = (),
        facts: Sequence[Fact] | None = None,
        reading: Reading | None = None,
        *,
        further: Sequence[EvidenceUnit] = (),
        wording: str = "",
        always: bool = False,
    ) -> Verdict:
        """Answer over evidence units and memories (eq. 15).

        A question that asks to be told something gets the nearest sentences themselves (`inference.telling`). Where the
        evidence's typed `facts` hold none that fits the question, the model is not asked; nor where a `reading` of the
        evidence is sure of an answer that fits. With facts the model can only choose among those that fit, unless it is
        `free` and there is a reading: where it finds none then, or what it wrote cannot be the answer, it is asked once
        more over `further` evidence; and if that is in vain, too, the reading's likeliest span that can be the answer
        takes its place. `wording` is the question as it came, where a name stands for one of its descriptions now. With
        `always` the model is asked over any evidence, however far, as plain retrieval-augmented generation does.
        """
        texts = evidence_texts(units, memories)
        score = nearness(analysis, units, [*texts, *(item.question for item in memories)])
        if score < self.abstain_below and not always:
            return Verdict("", score, f"evidence too far: {score:.2f} < {self.abstain_below:.2f}", Cost())
        if text := told(question, units):
            return Verdict(text, score, f"told by the nearest of {len(units)} units, nearness {score:.2f}", Cost())
        grammar = ANSWER_GRAMMAR
        known = reading.known if reading is not None else ""
        if facts is not None:
            choices = candidates(question, analysis, facts, self.is_called)
            if not choices:
                wanted = analysis.answer_type or "fitting span"
                return Verdict("", score, f"the evidence holds no {wanted}", Cost())
            if reading is None or not self.free:
                grammar = choice_grammar(choices)
                known = known if _among(known, choices) else ""
        if known:
            return Verdict(known, score, f"read from {len(units)} units, nearness {score:.2f}", Cost())
        asked = wording or question
        if grammar != ANSWER_GRAMMAR:
            return self._choose(evidence_prompt(question, units, memories), grammar, units, score)
        verdict = self._write(question, asked, analysis, units, memories, score)
        if not verdict.text and further:
            texts = evidence_texts(further, memories)
            verdict = verdict.then(self._write(question, asked, analysis, further, memories, score))
        if not verdict.text and reading is not None:
            span = next((text for text in reading.texts() if not why_not(text, asked, analysis, texts)), "")
            why = f"{verdict.explanation}; the likeliest span instead" if span else verdict.explanation
            return replace(verdict, text=span, explanation=why)
        return verdict

    def recite(self, question: str) -> Verdict:
        """Answer from the model's own knowledge, without evidence."""
        completion, cost = self._complete(closed_book_prompt(question), ANSWER_GRAMMAR)
        text = clean(completion.text)
        return Verdict(text, 0.0, "the model alone" if text else "the model does not know", cost, completion.setup)

    def _write(
        self,
        question: str,
        asked: str,
        analysis: QuestionAnalysis,
        units: Sequence[EvidenceUnit],
        memories: Sequence[MemoryItem],
        score: float,
    ) -> Verdict:
        """What the model writes over evidence, where that can be the answer."""
        completion, cost = self._complete(evidence_prompt(question, units, memories), ANSWER_GRAMMAR)
        text = clean(completion.text)
        fault = why_not(text, asked, analysis, evidence_texts(units, memories)) if text else _NOT_FOUND
        told = fault or f"answered from {len(units)} units, nearness {score:.2f}"
        return Verdict("" if fault else text, score, told, cost, completion.setup)

    def _choose(self, prompt: Prompt, grammar: Grammar, units: Sequence[EvidenceUnit], score: float) -> Verdict:
        """What the model chooses among the answers that a grammar allows."""
        completion, cost = self._complete(prompt, grammar)
        text = clean(completion.text)
        told = f"answered from {len(units)} units, nearness {score:.2f}" if text else _NOT_FOUND
        return Verdict(text, score, told, cost, completion.setup)

    def _complete(self, prompt: Prompt, grammar: Grammar) -> tuple[Completion, Cost]:
        (completion,) = self.generator().complete(prompt, grammar=grammar, max_tokens=self.max_tokens, seed=self.seed)
        return completion, Cost(
            completion.seconds, 1, completion.tokens_in, completion.tokens_out, replayed=completion.cached
        )


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
    """A generated answer without quotes and final stop; empty where the model said that it does not know."""
    line = text.strip().split("\n")[0].strip('" ').rstrip('." ')
    return "" if line.lower().startswith(UNKNOWN) else line
