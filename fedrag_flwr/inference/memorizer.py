"""The fast path: the best-matching memory answers, without a language model (FD-RAG 4.2, eq. 11-13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.inference.agreement import agreed
from fedrag_flwr.inference.fitting import Fitting, is_about
from fedrag_flwr.memory.fusion.fusing import FusionRules, owners, references
from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.records import Match, Vector
from fedrag_flwr.text.asking import question_anchors
from fedrag_flwr.text.base import QuestionAnalysis

EACH = FusionRules().quota  # memories of another device among those that are to be heard: as many as may ask the same
MOST = 4_096  # memories that are looked through for those of others behind one device's


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

    def heard(
        self, question: str, analysis: QuestionAnalysis, vector: Vector, first: Sequence[Match]
    ) -> Sequence[Match]:
        """The matches among which voices are counted, best first, so that no device can take all places.

        `first` and, where memory would answer by it, the next ones: until there are as many as `first` holds with a few
        of each other device at most, or the rest is not near enough. Where even so one device leaves the others no
        room, home alone is heard.

        Parameters
        ----------
        question, analysis, vector
            The question's text, analysis and embedding of shape (dimension,).
        first
            What `recall` gives for it.
        """
        if not self._is_filled(first, len(first)) or not self.fitting(question, analysis, first):
            return first
        found = first
        while self._is_filled(found, len(first)):
            if len(found) >= MOST:
                return [match for match in first if match.item.origin == self.home]
            found = self.recall(vector, analysis, 2 * len(found))
        seen = {match.item.id for match in first}
        return [*first, *(match for match in self._few_of_each(found) if match.item.id not in seen)]

    def _is_filled(self, found: Sequence[Match], places: int) -> bool:
        """Whether others than those that take too many places may be near enough behind them."""
        if not found or found[-1].score < self.delta or len(found) == len(self.matcher):
            return False
        return len(self._few_of_each(found)) < places

    def _few_of_each(self, matches: Sequence[Match]) -> list[Match]:
        """All of home's matches, and the first few of each other device."""
        counts: Counter[str] = Counter()
        few = []
        for match in matches:
            of = owners(match.item) or {owner for owner, _ in references(match.item)}
            if self.home in of or any(counts[name] < EACH for name in of):
                few.append(match)
            counts.update(of)
        return few

    def answer(self, question: str, analysis: QuestionAnalysis, matches: Sequence[Match]) -> Match | None:
        """The best of the matches that answers a question, is near enough and is not contested by others.

        None where memory does not know, where as many devices contradict it, or where too few tell it.
        """
        return agreed(self.fitting(question, analysis, matches), self.home, self.least_voices)
