"""Whether a memory's answer is of the kind that a question asks for: near in wording is not enough."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from fedrag_flwr.inference.support import tokens
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import MemoryItem, Vector
from fedrag_flwr.text.asking import ASKS
from fedrag_flwr.text.base import QuestionAnalysis

LEAST_NOUN_SIMILARITY = 0.45  # "rocket" and "launcher" are as near, "rocket" and "observatory" are not
_MOST_NOUNS = 4_096

# Answer types that can only be answered by their own kind; the others name things, and recognisers mix them up.
_KINDS = {
    "PERSON": "person",
    "DATE": "time",
    "YEAR": "time",
    "TIME": "time",
    "CARDINAL": "number",
    "QUANTITY": "number",
    "PERCENT": "number",
    "MONEY": "money",
    "YESNO": "yesno",
}
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)


@dataclass(slots=True)
class Fitting:
    """Says why a memory does not fit a question; keeps the vectors of nouns that it compared.

    Parameters
    ----------
    encoder
        Tells how near two nouns are.
    """

    encoder: Encoder
    nouns: dict[str, Vector] = field(default_factory=dict)

    def misfit(self, question: str, analysis: QuestionAnalysis, item: MemoryItem) -> str:
        """Why an item cannot answer a question, or "" where it can.

        Parameters
        ----------
        question, analysis
            The question's text and analysis.
        item
            The memory; the noun that its question asks for is among its anchors.
        """
        expected, given = analysis.answer_type, item.answer_type
        if expected == "YESNO":
            return "" if item.answer.casefold() in {"yes", "no"} else "yes or no is asked for"
        if expected in _KINDS and _KINDS.get(given) != _KINDS[expected]:
            return f"{expected} is asked for"
        if expected and expected not in _KINDS and given in _KINDS and given != "PERSON":
            return f"{expected} is asked for"
        held = _within(item.answer, question)
        if _CHOICE.search(question) and expected not in _KINDS:
            return "" if held else "one of the alternatives is asked for"
        if held:
            return "the question holds the answer itself"
        return self._noun_misfit(analysis, item)

    def _noun_misfit(self, analysis: QuestionAnalysis, item: MemoryItem) -> str:
        asked = analysis.asks
        offered = next((anchor.removeprefix(ASKS) for anchor in item.anchors if anchor.startswith(ASKS)), "")
        if not asked or asked == offered or asked in tokens(f"{item.question} {item.answer}"):
            return ""
        if not offered:
            return f"it does not count {asked}" if analysis.answer_type == "CARDINAL" else ""
        near = float(self._vector(asked) @ self._vector(offered))
        return "" if near >= LEAST_NOUN_SIMILARITY else f"it tells a {offered}, a {asked} is asked for"

    def _vector(self, noun: str) -> Vector:
        if noun not in self.nouns:
            if len(self.nouns) >= _MOST_NOUNS:
                self.nouns.clear()
            self.nouns[noun] = self.encoder.encode([noun])[0]
        return self.nouns[noun]


def _within(part: str, whole: str) -> bool:
    return set(tokens(part)) <= set(tokens(whole))


Misfit = Callable[[str, QuestionAnalysis, MemoryItem], str]
