"""Summaries of groups of texts: by the model as long as its construction budget lasts, then by their central texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.baselines.substrate import Floats, Substrate
from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import Cost

_READ_WORDS = 150  # of a group's most central texts that the model reads
_EXTRACT_WORDS = 45  # of them that stand for the group where the model is not asked
_MOST_TOKENS = 56
_LEAST_TOKENS = 24  # with fewer left no summary is begun
_ONE_LINE = Grammar(r"root ::= [^\n]+")

_SYSTEM = (
    "You sum up notes in one or two short sentences. Keep the names, places, dates and numbers that several notes "
    "share or that join them, and say nothing that the notes do not say."
)
_EXAMPLES = (
    (
        "Notes:\n"
        "- Red Kite. The film was directed by Tomas Hale and shown first in 1988.\n"
        "- Tomas Hale. Hale was born in the port of Sandmouth in 1952.\n"
        "- Sandmouth. The town exports salt and lies on the river Orm.",
        "Tomas Hale, born in 1952 in Sandmouth, a salt port on the river Orm, directed the film Red Kite of 1988.",
    ),
)


class Summarizer:
    """Summarises groups of a device's texts.

    The budget is `tokens_per_kilotoken` of the run's limits, over the passages' tokens as the model counts them. What
    it was not enough for is extracted: the texts nearest to their group's mean.

    Parameters
    ----------
    substrate
        The device's documents and model.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self._left = _budget(substrate)
        self.cost = Cost()
        self.by_model = 0
        self.extracted = 0

    @property
    def counts(self) -> tuple[str, ...]:
        """How many summaries were made how."""
        return (f"summaries-by-model={self.by_model}", f"summaries-extracted={self.extracted}")

    def summarize(self, texts: Sequence[str], vectors: Floats) -> str:
        """Summarise texts, at least one, with their vectors of shape (n, dimension)."""
        if self._left >= _LEAST_TOKENS and len(texts) > 1 and (text := self._written(texts, vectors)):
            self.by_model += 1
            return text
        self.extracted += 1
        return " ".join(central(texts, vectors, _EXTRACT_WORDS))

    def _written(self, texts: Sequence[str], vectors: Floats) -> str:
        prompt = summary_prompt(central(texts, vectors, _READ_WORDS))
        done = self._substrate.complete_kept(prompt, _ONE_LINE, min(_MOST_TOKENS, self._left))
        self._left -= done.tokens_out
        self.cost += Cost(done.seconds, 1, done.tokens_in, done.tokens_out, done.cached)
        return whole_sentences(done.text)


def summary_prompt(notes: Sequence[str]) -> Prompt:
    """Ask for a summary of notes."""
    return Prompt(_SYSTEM, "Notes:\n" + "\n".join(f"- {note}" for note in notes), _EXAMPLES)


def central(texts: Sequence[str], vectors: Floats, words: int) -> list[str]:
    """The texts nearest to the mean of all, in their own order, that hold at most so many words; at least one."""
    nearness = vectors @ vectors.mean(axis=0)
    chosen: list[int] = []
    left = words
    for place in _falling(nearness):
        length = len(texts[place].split())
        if chosen and length > left:
            break
        chosen.append(place)
        left -= length
    return [" ".join(texts[place].split()[:words]) for place in sorted(chosen)]


def whole_sentences(text: str) -> str:
    """A text without a last sentence that was cut short, unless that is all there is."""
    text = text.strip()
    end = max(text.rfind(mark) for mark in (". ", "! ", "? "))
    return text if end < 0 or text.endswith((".", "!", "?")) else text[: end + 1]


def _falling(scores: NDArray[np.float32]) -> list[int]:
    return [int(place) for place in np.argsort(-scores, kind="stable")]


def _budget(substrate: Substrate) -> int:
    share = substrate.limits.tokens_per_kilotoken
    if not share:
        return 0  # and the model is not loaded for counting
    generator = substrate.generator()
    return share * sum(generator.count_tokens(passage.text) for passage in substrate.passages) // 1000
