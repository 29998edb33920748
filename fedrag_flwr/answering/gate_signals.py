"""What tells whether home's answers are good enough: each signal in [0, 1], 1 for confidence (DGRAG 3.3 step 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.answering.prompts import UNKNOWN
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit, Fact
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.support import coverage, evidence_texts, forms, is_supported

# How an answer says that it is none.
UNSURE = re.compile(
    rf"^\W*{UNKNOWN}\b|\b(?:insufficient|not enough|no|more) (?:information|details?|data|evidence|context)\b"
    r"|\b(?:do|does|did|is|are|was|were|can|could)(?: not|n.t) "
    r"(?:know|say|tell|state|mention|provide|contain|sure|given)"
    r"|\bcan(?:not|.t) (?:be )?(?:answer|determin|say|tell)|\bnot (?:mentioned|stated|provided|given|specified|known)\b"
    r"|\bunclear\b|\bunsure\b",
    re.IGNORECASE,
)


UNKNOWN_LEAD = 0.5


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of home's candidate answers and of the evidence that they rest on."""

    certain: float  # share of the candidates that say something
    cosine: float  # mean cosine between the candidates' vectors, of all pairs that say something
    jaccard: float  # mean Jaccard index of their words
    # Mean share of a candidate's claims (names, amounts, dates; without any its content words) that another makes.
    claims: float
    supported: float  # share of the candidates whose words stand together in the evidence
    nearness: float  # cosine of the question to the nearest evidence
    coverage: float  # share of the question's anchors that the evidence names
    # 0.5, and more by as much as home's nearest summary is nearer to the question than the nearest of all others'.
    lead: float = UNKNOWN_LEAD

    @property
    def values(self) -> tuple[float, ...]:
        """The signals in the order of `SIGNALS`."""
        return astuple(self)


SIGNALS: tuple[str, ...] = tuple(field.name for field in fields(Signals))
MEANINGS: Mapping[str, str] = {
    "certain": "candidates that say something",
    "cosine": "likeness of their vectors",
    "jaccard": "words that they share",
    "claims": "names and amounts that they share",
    "supported": "candidates whose words stand in the evidence",
    "nearness": "of the evidence",
    "coverage": "of what the question names by the evidence",
    "lead": "of home's summaries over others', from 0.50",
}


@dataclass(frozen=True, slots=True)
class SignalReader:
    """Measures signals."""

    # encoder, pipeline: the device's.
    encoder: Encoder
    pipeline: Pipeline

    def measure(
        self,
        analysis: QuestionAnalysis,
        candidates: Sequence[str],
        units: Sequence[EvidenceUnit],
        lead: float = UNKNOWN_LEAD,
    ) -> tuple[Signals, int]:
        """Measure all signals, and choose the candidate that the others agree with most.

        Parameters
        ----------
        analysis
            Of the question.
        candidates
            Answers drawn over the same evidence, at least one.
        units
            The evidence.
        lead
            As the signal; it is known before.

        Returns
        -------
        signals, place
            The signals, and the place of the chosen candidate; -1 where none says anything.
        """
        saying = [place for place, text in enumerate(candidates) if says_something(text)]
        texts = evidence_texts(units)
        nearest = max((unit.score for unit in units), default=0.0)
        if not saying:
            signals = Signals(0.0, 0.0, 0.0, 0.0, 0.0, _bounded(nearest), coverage(analysis.anchors, texts), lead)
            return signals, -1
        told = [candidates[place] for place in saying]
        likeness = self._likeness(told)
        words = [frozenset(forms(text)) for text in told]
        claims = [self._claims(text, facts) for text, facts in zip(told, self.pipeline.facts(told), strict=True)]
        signals = Signals(
            certain=sum(map(says_something, candidates)) / len(candidates),
            cosine=_bounded(_mean(lambda i, j: likeness[i, j], len(told))),
            jaccard=_mean(lambda i, j: _jaccard(words[i], words[j]), len(told)),
            claims=_mean(lambda i, j: _shared(claims[i], claims[j]), len(told)),
            supported=sum(is_supported(text, texts) for text in told) / len(candidates),
            nearness=_bounded(nearest),
            coverage=coverage(analysis.anchors, texts),
            lead=lead,
        )
        return signals, saying[int(np.argmax(np.round(likeness.sum(axis=1), 4)))]

    def _likeness(self, told: Sequence[str]) -> NDArray[np.float32]:
        distinct = list(dict.fromkeys(told))
        vectors = self.encoder.encode(distinct)[[distinct.index(text) for text in told]]
        return np.asarray(vectors @ vectors.T, dtype=np.float32)

    @staticmethod
    def _claims(text: str, facts: Sequence[Fact]) -> frozenset[str]:
        anchors = {fact.anchor for fact in facts if fact.type != "CONCEPT"}
        return frozenset(anchors or forms(text))


def says_something(text: str) -> bool:
    """Whether an answer says something, and not that it cannot."""
    return any(char.isalnum() for char in text) and UNSURE.search(text) is None


def _mean(of_pair: Callable[[int, int], float], count: int) -> float:
    """The mean over all pairs; one alone agrees with nobody, so that it counts half."""
    pairs = list(combinations(range(count), 2))
    return float(np.mean([of_pair(i, j) for i, j in pairs])) if pairs else 0.5


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    least = min(len(one), len(other))
    return len(one & other) / least if least else float(one == other)


def _bounded(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)
