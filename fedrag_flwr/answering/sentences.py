"""How likely each sentence of the ranked passages bears the answer.

A linear model scores a sentence by its cosine, its passage's place and log-odds, the rare words of the question that it
tells, and the titles by which one passage leads to another (a second hop). It is fitted on the training questions of
three sets (simulations/fits/sentences.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from fedrag_flwr.answering.logistic import Floats, Logistic
from fedrag_flwr.files import read_fitted
from fedrag_flwr.text.lexicon import FUNCTION_WORDS
from fedrag_flwr.text.segment import subject_of
from fedrag_flwr.text.support import forms
from fedrag_flwr.text.words import told_words

SHIPPED = Path(__file__).with_name("sentences.json")
FEATURES = (
    *("cosine", "log-odds", "place", "told with title", "told", "told by passage", "title in question"),
    *("first", "position", "length", "led to", "leads on", "number", "person", "short"),
)
_LEADS = 8  # sentences whose titles lead on
_COUNTS = re.compile(r"\W*(?:when|how (?:many|much|long|far|old|tall)\b)|.*\b(?:year|date|number)\b", re.IGNORECASE)
_PERSON = re.compile(r"\s[A-Z][a-z]+ [A-Z]")
_DIGIT = re.compile(r"\d")


_LEAST_ODDS, _MOST_ODDS = -6.0, 5.0


@dataclass(frozen=True, slots=True)
class RankedText:
    """A passage as the ranking gives it."""

    # id, title: the passage's.
    id: str
    title: str
    sentences: Sequence[str]  # in reading order
    cosines: Sequence[float]  # of each sentence with the question
    log_odds: float  # of the passage, by the learned reranker
    origin: str = ""  # the device that holds it

    @property
    def bounded_odds(self) -> float:
        """The log-odds, cut where more of them tells no more."""
        return min(max(self.log_odds, _LEAST_ODDS), _MOST_ODDS)


@cache
def shipped_scorer() -> Logistic:
    """The model that comes with the program."""
    return read_scorer(SHIPPED)


def read_scorer(path: Path) -> Logistic:
    """Read a model; raises StoreCorruptError where the file holds none over these features."""
    return read_fitted(path, lambda told: Logistic.model_validate(told).over(FEATURES))


@dataclass(slots=True)
class Described:
    """Sentences of some passages: each one's place, and its features, shape (n, features)."""

    places: list[tuple[int, int]] = field(default_factory=list)
    values: Floats = field(default_factory=lambda: np.zeros((0, len(FEATURES))))


def describe(question: str, passages: Sequence[RankedText]) -> Described:
    """The features of all sentences of some passages."""
    asked = content_words(question)
    titles = [content_words(subject_of(one.title)) for one in passages]
    whole = [titles[place] | content_words(" ".join(one.sentences)) for place, one in enumerate(passages)]
    rarity = {word: math.log1p(len(passages) / (1 + sum(word in one for one in whole))) + 0.1 for word in asked}

    def told(words: frozenset[str]) -> float:
        return sum(rarity[word] for word in words & asked) / (sum(rarity.values()) or 1.0)

    counts, person = bool(_COUNTS.match(question)), question.lower().startswith("who")
    places = [(place, number) for place, one in enumerate(passages) for number in range(len(one.sentences))]
    said = [content_words(passages[place].sentences[number]) for place, number in places]
    odds = [max(min(one.log_odds, 5.0), -6.0) for one in passages]
    rows = []
    for (place, number), words in zip(places, said, strict=True):
        text = passages[place].sentences[number]
        rows.append(
            [
                *(passages[place].cosines[number], odds[place] / 5, 1 / (1 + place)),
                *(told(words | titles[place]), told(words), told(whole[place])),
                len(titles[place] & asked) / max(len(titles[place]), 1),
                *(float(number == 0), min(number, 8) / 8, math.log1p(len(text.split())), 0.0, 0.0),
                float(counts and _DIGIT.search(text) is not None),
                float(person and _PERSON.search(text) is not None),
                float(len(text.split()) < 5),
            ]
        )
    values = np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES))
    if rows:
        _add_leads(values, places, said, titles, asked)
    return Described(places, values)


def _add_leads(
    values: Floats,
    places: Sequence[tuple[int, int]],
    said: Sequence[frozenset[str]],
    titles: Sequence[frozenset[str]],
    asked: frozenset[str],
) -> None:
    """Fill in how far other passages' likely sentences name a sentence's title, and how far it names theirs."""
    rough = 3 * values[:, 0] + 2 * values[:, 3] + 0.4 * np.clip(5 * values[:, 1], -6, 4)
    best = np.argsort(-rough, kind="stable")[:_LEADS]
    likely = [(int(row), 2 / (1 + math.exp(rough[best[0]] - rough[row]))) for row in best]
    led_to, new = [0.0] * len(titles), [title - asked for title in titles]
    for place, words in enumerate(new):
        for row, weight in likely if words else ():
            if titles[places[row][0]] != titles[place]:
                led_to[place] = max(led_to[place], weight * len(words & said[row]) / len(words))
    for row, (place, _) in enumerate(places):
        values[row, FEATURES.index("led to")] = led_to[place]
        on = (1 / (1 + 0.3 * p) for p, w in enumerate(new) if w and titles[p] != titles[place] and w <= said[row])
        values[row, FEATURES.index("leads on")] = max(on, default=0.0)


@lru_cache(maxsize=2**14)
def content_words(text: str) -> frozenset[str]:
    """The words of a text that tell something, in the form in which they compare: a plural is its singular."""
    return frozenset(form for word in told_words(text) if word not in FUNCTION_WORDS for form in forms(word))
