"""Which sentences are read for a question, and which spans of them may answer it: learned, without a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.inference.agreeing import agree
from fedrag_flwr.inference.reading import LINK_FEATURES, NEAR_FEATURES, Candidate, Pool, link_features, near_features
from fedrag_flwr.inference.spans import SPAN_FEATURES, Span, span_features, spans_of
from fedrag_flwr.inference.support import distinct, is_choice
from fedrag_flwr.inference.trees import load_trees
from fedrag_flwr.records import EvidenceUnit, Fact, MemoryItem
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.segment import subject_of

READ = 6  # sentences whose spans may answer
FEWEST = 2  # sentences that are read however unlikely they are
LEAST_EVIDENCE = -1.1  # log-odds (one in four) from which a further sentence is worth its tokens
CERTAIN = 0.9  # log-odds from which a span is right whatever else is known elsewhere (simulations/home_certainty.py)
SURE = -0.9  # log-odds from which a span is more often right than what the small model says


@dataclass(frozen=True, slots=True)
class Reading:
    """A question's sentences with the log-odds that each is evidence, and the answers that they offer.

    Parameters
    ----------
    pool
        The question and its sentences.
    scores
        Log-odds that each sentence is evidence, shape (len(pool.candidates),).
    spans, likely
        The spans of the likeliest sentences, and the log-odds that each answers, shape (len(spans),).
    agrees
        Whether the answer is yes; None where the question does not ask for yes or no.
    sure
        Log-odds from which the likeliest span is the answer.
    """

    pool: Pool
    scores: NDArray[np.float64]
    spans: tuple[Span, ...]
    likely: NDArray[np.float64]
    agrees: bool | None = None
    sure: float = SURE

    def units(self, most: int, fewest: int = FEWEST, home: str = "") -> list[EvidenceUnit]:
        """The sentences that are worth reading, likeliest first: at least and at most so many.

        Of those that say the same one: that of the device `home`, else the likeliest.
        """
        order = [self.pool.candidates[row].unit for row in np.argsort(-self.scores, kind="stable")]
        worth = len(distinct(order[: int((self.scores >= LEAST_EVIDENCE).sum())]))
        return distinct(order, home)[: min(max(worth, fewest), most)]

    def likelihood(self) -> list[tuple[EvidenceUnit, float]]:
        """Every sentence with the log-odds that it is evidence."""
        return [(one.unit, float(score)) for one, score in zip(self.pool.candidates, self.scores, strict=True)]

    @property
    def best(self) -> str:
        """The likeliest span; empty where there is none."""
        return next(self.texts(), "")

    def texts(self) -> Iterator[str]:
        """The spans' texts, likeliest first."""
        return (self.spans[int(row)].text for row in np.argsort(-self.likely, kind="stable"))

    def told_by(self) -> EvidenceUnit | None:
        """The likeliest sentence that holds the likeliest span."""
        if not self.spans:
            return None
        return self.pool.candidates[self.spans[int(np.argmax(self.likely))].rows[0]].unit

    @property
    def known(self) -> str:
        """The answer where the language model need not be asked for it, or ""."""
        if self.agrees is not None:
            return "yes" if self.agrees else "no"
        return self.best if self.spans and float(self.likely.max()) >= self.sure else ""

    @property
    def certain(self) -> bool:
        """Whether a span answers so surely that evidence from elsewhere is not needed."""
        return bool(self.spans) and float(self.likely.max()) >= CERTAIN


def read(question: str, analysis: QuestionAnalysis, candidates: Sequence[Candidate], sure: float = SURE) -> Reading:
    """Rank sentences, and the spans of the likeliest ones.

    Parameters
    ----------
    question, analysis
        The question's text and analysis.
    candidates
        The sentences near it.
    sure
        Log-odds from which the likeliest span is the answer. A choice between things that the question names is read
        from `SURE` at the latest: what is told of them decides it, and no small model compares better.
    """
    pool = Pool.of(question, analysis, candidates)
    scores = rank(pool)
    if analysis.answer_type == "YESNO":
        return Reading(pool, scores, (), np.zeros(0), agree(question, pool, scores))
    rows = [int(row) for row in np.argsort(-scores, kind="stable")[:READ]]
    spans = spans_of(question, pool, rows)
    likely = load_trees("span", SPAN_FEATURES).score(span_features(question, pool, rows, scores, spans))
    return Reading(pool, scores, tuple(spans), likely, sure=min(sure, SURE) if is_choice(question) else sure)


def shown_facts(reading: Reading, units: Sequence[EvidenceUnit], memories: Sequence[MemoryItem] = ()) -> list[Fact]:
    """The typed facts of evidence (eq. 15): of its units, their titles, and the answers of memories."""
    shown = {(unit.origin, unit.id) for unit in units}
    titles = list(dict.fromkeys(unit.title for unit in units))
    told = [one for one in reading.pool.candidates if (one.unit.origin, one.unit.id) in shown]
    found = [fact for one in told for fact in one.facts]
    found += [Fact(title, "NAME", normalise_anchor(title)) for title in map(subject_of, titles) if title]
    return found + [Fact(m.answer, m.answer_type, normalise_anchor(m.answer)) for m in memories if m.answer_type]


def rank(pool: Pool) -> NDArray[np.float64]:
    """Log-odds that each sentence of a pool is evidence, shape (n,): first by itself, then through the others."""
    near = near_features(pool)
    alone = load_trees("near", NEAR_FEATURES).score(near)
    linked = np.concatenate([near, link_features(pool, alone)], axis=1)
    return load_trees("link", NEAR_FEATURES + LINK_FEATURES).score(linked)
