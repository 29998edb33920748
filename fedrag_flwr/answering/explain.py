"""Explaining: which passage bears an answer, and what a person is told of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.answering.windows import content_words
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.numbers import told_words
from fedrag_flwr.text.segment import under_title

LONG = 12  # words of an answer from which it is made of sentences, each with a citation
_BORNE = 0.6  # share of a sentence's words that the passage which bears it tells
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”)]*\s+(?=[\"'“(]*[A-Z0-9])")
SURE, LIKELY = 0.75, 0.5  # confidence from which an answer is told as such


@dataclass(frozen=True, slots=True)
class Borne:
    """A sentence of an answer, and the unit that bears it."""

    text: str
    unit: EvidenceUnit


def in_words(confidence: float) -> str:
    """A confidence as people are told it: sure, likely or unsure."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"


def sentences_of(text: str) -> list[str]:
    """The sentences of an answer."""
    return [one.strip() for one in _SENTENCE.split(text) if one.strip()]


def borne(text: str, units: Sequence[EvidenceUnit]) -> list[Borne]:
    """The sentences of an answer that a unit bears, each with the unit that tells most of it; others are left out."""
    found = []
    for sentence in sentences_of(text):
        words = content_words(sentence)
        if not words or not units:
            continue
        unit = max(units, key=lambda one: len(words & _told(one)))
        if len(words & _told(unit)) >= _BORNE * len(words):
            found.append(Borne(sentence, unit))
    return found


def bearing_first(question: str, answer: str, units: Sequence[EvidenceUnit]) -> list[EvidenceUnit]:
    """Units in the order in which they bear a short answer: those that hold its words, and most of the question's."""
    said = f" {' '.join(told_words(answer))} "
    asked = content_words(question)

    def weight(unit: EvidenceUnit) -> tuple[bool, int]:
        words = f" {' '.join(told_words(under_title(unit.title, unit.text)))} "
        return said.strip() != "" and said in words, len(asked & _told(unit))

    return sorted(units, key=weight, reverse=True)


def _told(unit: EvidenceUnit) -> frozenset[str]:
    return content_words(under_title(unit.title, unit.text))
