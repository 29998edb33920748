"""The slow path: a small model reasons over a few selected pieces of evidence, and its answer is checked (FD-RAG 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fedrag_flwr.inference.prompts import ANSWER_GRAMMAR, UNKNOWN, closed_book_prompt, evidence_prompt
from fedrag_flwr.inference.support import coverage, evidence_texts, is_supported
from fedrag_flwr.models.base import Completion, Generator, Prompt
from fedrag_flwr.records import Cost, EvidenceUnit, MemoryItem
from fedrag_flwr.text.base import QuestionAnalysis


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the model answered and whether the evidence bears it.

    `text` is empty where the device abstains; `score` is the nearness of the evidence, in [0, 1].
    """

    text: str
    score: float
    explanation: str
    cost: Cost


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
    """

    generator: Callable[[], Generator]
    max_tokens: int
    abstain_below: float
    seed: int = 0

    def answer(
        self,
        question: str,
        analysis: QuestionAnalysis,
        units: Sequence[EvidenceUnit],
        memories: Sequence[MemoryItem] = (),
    ) -> Verdict:
        """Answer over evidence units and memories (eq. 15)."""
        texts = evidence_texts(units, memories)
        score = nearness(analysis, units, [*texts, *(item.question for item in memories)])
        if score < self.abstain_below:
            return Verdict("", score, f"evidence too far: {score:.2f} < {self.abstain_below:.2f}", Cost())
        completion, cost = self._complete(evidence_prompt(question, units, memories))
        text = clean(completion.text)
        if not text:
            return Verdict("", score, "the model found no answer in the evidence", cost)
        if not is_supported(text, texts):
            return Verdict("", score, "the evidence does not hold the model's answer", cost)
        return Verdict(text, score, f"answered from {len(units)} units, nearness {score:.2f}", cost)

    def recite(self, question: str) -> Verdict:
        """Answer from the model's own knowledge, without evidence."""
        completion, cost = self._complete(closed_book_prompt(question))
        text = clean(completion.text)
        return Verdict(text, 0.0, "the model alone" if text else "the model does not know", cost)

    def _complete(self, prompt: Prompt) -> tuple[Completion, Cost]:
        (completion,) = self.generator().complete(
            prompt, grammar=ANSWER_GRAMMAR, max_tokens=self.max_tokens, seed=self.seed
        )
        return completion, Cost(
            completion.seconds, 1, completion.tokens_in, completion.tokens_out, replayed=completion.cached
        )


def nearness(analysis: QuestionAnalysis, units: Sequence[EvidenceUnit], texts: Sequence[str]) -> float:
    """How near evidence comes to a question: the mean of its best similarity and the share of anchors it covers."""
    best = max((unit.score for unit in units), default=0.0)
    return 0.5 * (max(best, 0.0) + coverage(analysis.anchors, texts))


def clean(text: str) -> str:
    """A generated answer without quotes and final stop; empty where the model said that it does not know."""
    line = text.strip().split("\n")[0].strip().strip('"').rstrip(".").strip()
    return "" if line.lower().startswith(UNKNOWN) else line
