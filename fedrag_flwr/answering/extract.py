"""Extracting: an answer's own words in the passages, found in a tenth of a second without the generator.

A small network reads each passage beside the question (`fedrag_flwr.models.spans`). What it finds is no answer: it
tells the judge whether any passage answers the question, and whether the generator says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.models.spans import Span, SpanReader
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.language import is_english
from fedrag_flwr.text.segment import under_title
from fedrag_flwr.text.words import told_words

EXTRACT_FEATURES = ("span", "span told", "told", "lead", "in first", "words")
AGREEMENT_FEATURES = ("share of span", "asked again")
_LEAST, _MOST = -15.0, 15.0  # of log-odds
_LONGEST = 15  # words of a span that count
_SHARED = 0.4  # of a span by an answer, where there is no span; this and `UNREAD` are means of training questions


@dataclass(frozen=True, slots=True)
class Extract:
    """The likeliest words of all passages."""

    text: str  # the words, as they stand in the passage; empty where nothing was read
    place: int  # the passage's place among those read
    features: tuple[float, ...]  # what is known of them, in the order of `EXTRACT_FEATURES`

    def beside(self, question: str, answer: str) -> tuple[float, ...]:
        """How an answer of the generator stands to these words, in the order of `AGREEMENT_FEATURES`."""
        own, said = set(told_words(self.text)), set(told_words(answer))
        shared = len(own & said) / max(len(own), 1) if own else _SHARED
        return shared, float(not said - set(told_words(question)))


NONE = Extract("", 0, (_LEAST, _LEAST, _LEAST, 0.0, 0.0, 0.0))
UNREAD = Extract("", 0, (-1.0, 0.9, 1.0, 6.4, 0.6, 2.7))  # the network knows English alone: it says neither yes nor no


def extracted(question: str, units: Sequence[EvidenceUnit], reader: SpanReader) -> Extract:
    """The likeliest words of passages.

    Parameters
    ----------
    question
        Without the answers that it lists.
    units
        The passages, the best first.
    reader
        Finds spans.
    """
    if not units:
        return NONE
    if not is_english(question):
        return UNREAD
    spans = spans_of(question, units, reader)
    place = max(range(len(spans)), key=lambda at: spans[at].score)
    best = spans[place]
    others = (one.score for one in spans if not _share(one, best))
    told = max(one.told for one in spans)
    odds = (best.score, best.told, told, best.score - max(others, default=_LEAST))
    words = min(len(best.text.split()), _LONGEST)
    bounded = (min(max(one, _LEAST), _MOST) for one in odds)
    return Extract(best.text.strip(" ,.;:"), place, (*bounded, float(place == 0), float(words)))


def spans_of(question: str, units: Sequence[EvidenceUnit], reader: SpanReader) -> list[Span]:
    """The likeliest span of each passage, read under its title."""
    return reader.read(question, [under_title(one.title, one.text) for one in units])


def _share(one: Span, other: Span) -> bool:
    """Whether two spans share a word."""
    return not set(told_words(one.text)).isdisjoint(told_words(other.text))
