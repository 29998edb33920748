"""The fast path: the best-matching memory answers, without a language model (FD-RAG 4.2, eq. 11-13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.inference.agreement import agreed
from fedrag_flwr.inference.fitting import Fitting, is_about
from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.records import Match, Vector
from fedrag_flwr.text.asking import question_anchors
from fedrag_flwr.text.base import QuestionAnalysis


@dataclass(frozen=True, slots=True)
class Memorizer:
    """Answers from memory where the best match that fits is near enough.

    Parameters
    ----------
    matcher
        Exact matching over the memory bank.
    delta
        The least score at which memory answers (eq. 13).
    judge
        Says why a memory cannot answer a question, and whether another device made up its embedding.
    home
        The device where questions are asked.
    least_voices
        How many devices must tell what home's own documents do not; 0: none.
    """

    matcher: Matcher
    delta: float
    judge: Fitting
    home: str
    least_voices: int = 0

    def recall(self, vector: Vector, analysis: QuestionAnalysis, k: int) -> list[Match]:
        """The k best memories for a question with an embedding of shape (dimension,), best first (eq. 14)."""
        return self.matcher.top(vector, question_anchors(analysis), k)

    def fitting(self, question: str, analysis: QuestionAnalysis, matches: Sequence[Match]) -> list[Match]:
        """The matches that are near enough and of which each answers a question by itself, best first."""
        near = (match for match in matches if match.score >= self.delta and is_about(question, analysis, match.item))
        fit = (match for match in near if not self.judge.misfit(question, analysis, match.item))
        return [match for match in fit if match.item.origin == self.home or self.judge.is_true(match.item)]

    def answer(self, question: str, analysis: QuestionAnalysis, matches: Sequence[Match]) -> Match | None:
        """The best of the matches that answers a question, is near enough and is not contested by others.

        None where memory does not know, where as many devices contradict it, or where too few tell it.
        """
        return agreed(self.fitting(question, analysis, matches), self.home, self.least_voices)
