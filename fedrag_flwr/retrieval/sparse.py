"""BM25, and how texts fall into words for it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.base import Ranking, ranked, searchable_text
from fedrag_flwr.text.words import unaccented

Words = Callable[[str], list[str]]
_WORD = re.compile(r"\w+")
_RUN = re.compile(r"\w+(?:[-/.]\w+)*")


def words(text: str) -> list[str]:
    """The runs of letters, digits and ``_`` of a text in any script, case-folded and without accents."""
    return _WORD.findall(unaccented(text.casefold()))


def content_words(text: str) -> list[str]:
    """The words of a text without English function words; what hyphens, slashes or dots join stands there whole, too.

    A date like 2020-11-05 so is more than a year, a month and a day.
    """
    from spacy.lang.en.stop_words import STOP_WORDS

    runs = _RUN.findall(unaccented(text.casefold()))
    return [word for run in runs for word in dict.fromkeys((*words(run), run)) if word not in STOP_WORDS]


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """Which BM25 (Kamphuis et al. 2020 compare them); the default never gives a word a negative weight."""

    k1: float = 1.5  # how soon repetition of a word counts no more
    b: float = 0.75  # how much long passages are held back, in [0, 1]
    # The term-frequency part: ``lucene`` is ``atire`` divided by ``k1 + 1``.
    frequency: Literal["lucene", "robertson", "atire", "bm25l", "bm25+"] = "atire"
    # The part for a word's rarity.
    inverse_frequency: Literal["lucene", "robertson", "atire", "bm25l", "bm25+"] = "lucene"
    delta: float = 0.5  # lower bound of the term-frequency part in ``bm25l`` and ``bm25+``


class Bm25Retriever:
    """Scores passages by the words that they share with a question; a passage that shares none is not ranked."""

    def __init__(self, passages: Sequence[Passage], settings: Bm25Settings | None = None, split: Words = words) -> None:
        import bm25s  # type: ignore[import-untyped, unused-ignore]

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to tell each index that it builds
        chosen = settings or Bm25Settings()
        self._split = split
        self._ids = [passage.id for passage in passages]
        self._index = bm25s.BM25(
            k1=chosen.k1,
            b=chosen.b,
            delta=chosen.delta,
            method=chosen.frequency,
            idf_method=chosen.inverse_frequency,
            dtype="float64",
        )
        corpus = [split(searchable_text(passage)) for passage in passages]
        self._empty = not any(corpus)
        if not self._empty:
            self._index.index(corpus, show_progress=False)

    def scores(self, question: str) -> NDArray[np.float64]:
        """Score every passage, shape (n,)."""
        known = [] if self._empty else self._index.get_tokens_ids(self._split(question))
        if not known:
            return np.zeros(len(self._ids))
        return np.asarray(self._index.get_scores_from_ids(known), dtype=np.float64)

    def rank(self, question: str, k: int) -> Ranking:
        """Give at most k passages, best first; equal scores in the order of their ids."""
        return ranked(self._ids, self.scores(question), k, above=0.0)
