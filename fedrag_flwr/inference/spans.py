"""The spans that may answer a question and what speaks for each: the features by which an answer is chosen.

Candidates are the typed facts of the sentences that are read (FD-RAG eq. 9 and 15), the titles that these stand under,
and, where a question sets two things side by side, those two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.inference.candidates import NAMES
from fedrag_flwr.inference.comparing import decided
from fedrag_flwr.inference.reading import Pool
from fedrag_flwr.inference.sides import alternatives, rows_asked_of
from fedrag_flwr.inference.support import forms
from fedrag_flwr.text.questions import matches_type
from fedrag_flwr.text.segment import subject_of

_PLACES = frozenset({"GPE", "LOC", "FAC"})
_TIMES = frozenset({"DATE", "YEAR", "TIME"})
_AMOUNTS = frozenset({"CARDINAL", "QUANTITY", "PERCENT", "MONEY", "ORDINAL"})
_KINDS = ("PERSON", "place", "ORG", "name", "NORP", "time", "amount", "CONCEPT")
_WANTED = ("", "PERSON", "place", "ORG", "name", "time", "amount")
_WINDOW = 6
SPAN_FEATURES = (
    "sentence",
    "best of its sentences together",
    "mentions",
    "type agrees",
    "words said",
    "wholly said",
    "own title",
    "title of another",
    "best under that title",
    "place in sentence",
    "question words near",
    "words to nearest question word",
    "asked noun near",
    "asked noun is its last word",
    "words",
    "sentence rank",
    "sentence opens passage",
    "sentence's title said",
    "similarity",
    "alternative",
    "decided for",
    "decided against",
    "sentences of the pool that hold it",
    "question has alternatives",
    "asked noun within",
    *(f"is {kind}" for kind in _KINDS),
    *(f"wanted {kind or 'open'}" for kind in _WANTED),
)


@dataclass(frozen=True, slots=True)
class Span:
    """A possible answer as its text stands in evidence, its type, and the rows of the sentences that hold it."""

    text: str
    type: str
    key: str
    rows: tuple[int, ...]


def spans_of(question: str, pool: Pool, rows: Sequence[int]) -> list[Span]:
    """The spans of the sentences at these rows of a pool, likeliest sentences first; each anchor once."""
    found: dict[str, tuple[str, str, list[int]]] = {}

    def offer(text: str, kind: str, row: int) -> None:
        key = " ".join(forms(text))
        if key:
            found.setdefault(key, (text, kind, []))[2].append(row)

    titles = list(dict.fromkeys(subject_of(pool.candidates[row].unit.title) for row in rows))
    for title in alternatives(question, titles):
        offer(title, "NAME", next(row for row in rows if subject_of(pool.candidates[row].unit.title) == title))
    for row in rows:
        one = pool.candidates[row]
        for fact in one.facts:
            offer(fact.text, fact.type, row)
        if one.unit.title:
            offer(subject_of(one.unit.title), "NAME", row)
    return [Span(text, kind, key, tuple(dict.fromkeys(held))) for key, (text, kind, held) in found.items()]


def span_features(
    question: str, pool: Pool, rows: Sequence[int], scores: NDArray[np.float64], spans: Sequence[Span]
) -> NDArray[np.float64]:
    """What speaks for each span, shape (n, len(SPAN_FEATURES)).

    Parameters
    ----------
    question
        Its text.
    pool
        The question and all sentences near it.
    rows
        The sentences that are read, likeliest first.
    scores
        Log-odds that each sentence of the pool is evidence, shape (len(pool.candidates),).
    spans
        The candidates.
    """
    likely = 1.0 / (1.0 + np.exp(-scores))
    rank = {row: place for place, row in enumerate(rows)}
    asked, asks = set(pool.asked), " ".join(forms(pool.analysis.asks))
    lines = [f" {' '.join(words)} " for words in pool.words]
    under: dict[str, float] = {}
    for row, title in enumerate(pool.titles):
        under[title] = max(under.get(title, 0.0), float(likely[row]))
    sides = alternatives(question, _titles(pool, rows))
    choice = [" ".join(forms(title)) for title in sides]
    won = _decided(question, pool, rows, sides)
    wanted = _group(pool.analysis.answer_type)
    matrix = np.zeros((len(spans), len(SPAN_FEATURES)))
    for i, span in enumerate(spans):
        words = span.key.split()
        best = span.rows[0]
        place, near, distance, beside = max(_surroundings(pool, row, words, asks) for row in span.rows[:2])
        one = pool.candidates[best]
        matrix[i] = (
            scores[best],
            1.0 - float(np.prod([1.0 - likely[row] for row in span.rows])),
            min(len(span.rows), 5),
            _agreement(pool.analysis.answer_type, span.type),
            len(asked.intersection(words)) / len(words),
            f" {span.key} " in f" {' '.join(pool.asked)} ",
            span.key == pool.titles[best],
            span.key in under and span.key != pool.titles[best],
            under.get(span.key, 0.0),
            -place,
            near,
            -distance,
            beside,
            bool(asks) and words[-1] == asks,
            len(words),
            rank[best],
            one.place == 0,
            len(asked.intersection(pool.titles[best].split())) / max(len(pool.titles[best].split()), 1),
            one.unit.score,
            span.key in choice,
            won is not None and span.key == choice[won],
            won is not None and span.key == choice[1 - won],
            sum(f" {span.key} " in line for line in lines),
            bool(choice),
            bool(asks) and asks in words,
            *(_group(span.type) == kind for kind in _KINDS),
            *(wanted == kind for kind in _WANTED),
        )
    return matrix


def _titles(pool: Pool, rows: Sequence[int]) -> list[str]:
    return [subject_of(pool.candidates[row].unit.title) for row in rows]


def _decided(question: str, pool: Pool, rows: Sequence[int], sides: Sequence[str]) -> int | None:
    if len(sides) != 2:
        return None
    own = [[row for row in rows if pool.titles[row] == " ".join(forms(title))] for title in sides]
    asked = [rows_asked_of(question, pool, one) for one in own]
    for title in sides:  # "More" in a film's title compares nothing
        question = re.sub(re.escape(title), "", question, flags=re.IGNORECASE)
    return decided(question, [[pool.candidates[row].unit.text for row in one] for one in asked])


def _agreement(wanted: str, given: str) -> float:
    if not wanted:
        return 0.0
    if wanted == given:
        return 1.0
    return 0.5 if matches_type(wanted, given) else -1.0


def _group(kind: str) -> str:
    if kind in _PLACES:
        return "place"
    if kind in _TIMES:
        return "time"
    if kind in _AMOUNTS:
        return "amount"
    if kind in NAMES and kind not in {"PERSON", "ORG", "NORP"}:
        return "name"
    return kind


def _surroundings(pool: Pool, row: int, words: Sequence[str], asks: str) -> tuple[float, float, float, float]:
    """Place in the sentence, question words near, distance to the nearest, and whether the asked noun is near.

    Places and distances are negative: the nearer, the more.
    """
    line = pool.words[row]
    start = next(_occurrences(line, words), None)
    if start is None:
        return -1.0, 0.0, -20.0, 0.0
    end = start + len(words)
    window = {*line[max(start - _WINDOW, 0) : start], *line[end : end + _WINDOW]}
    outside = [i for i, word in enumerate(line) if word in pool.weights and not start <= i < end]
    distance = min((start - i if i < start else i - end + 1 for i in outside), default=20)
    beside = bool(asks) and asks in {*line[max(start - 3, 0) : start], *line[end : end + 3]}
    return -start / max(len(line), 1), pool.share(window), -float(min(distance, 20)), float(beside)


def _occurrences(line: Sequence[str], words: Sequence[str]) -> Iterator[int]:
    width = len(words)
    return (i for i in range(len(line) - width + 1) if list(line[i : i + width]) == list(words))
