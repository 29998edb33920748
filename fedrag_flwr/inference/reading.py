"""What a question and the sentences near it have in common: the features by which sentences are chosen to be read.

A sentence tells something of a question by its meaning, by the words that both hold, by the title that it stands under,
and by the titles that lead from one sentence to another: a sentence that names a title is the first hop to what stands
under that title.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.inference.support import forms
from fedrag_flwr.records import EvidenceUnit, Fact
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.lexicon import FUNCTION_WORDS
from fedrag_flwr.text.questions import matches_type
from fedrag_flwr.text.segment import subject_of

NEAR_FEATURES = (
    "similarity",
    "behind best",
    "passage similarity",
    "shared words",
    "passage shared words",
    "title said",
    "title wholly said",
    "opens passage",
    "place",
    "holds fitting fact",
    "title not said, one of two names",
)
LINK_FEATURES = (
    "near",
    "best of passage",
    "behind best near",
    "title named by",
    "title named by, opens",
    "names title",
    "rank",
    "new words",
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may be read, its typed facts, and its place in its passage, counted from 0."""

    unit: EvidenceUnit
    facts: tuple[Fact, ...]
    place: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """A question and the sentences among which evidence is chosen.

    `asked`, `words` and `titles` are the words of the question, of each sentence and of its title, in the form in which
    they compare. `weights` holds the question's content words: the rarer among the sentences, the heavier.
    """

    analysis: QuestionAnalysis
    asked: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    words: tuple[tuple[str, ...], ...]
    titles: tuple[str, ...]
    weights: dict[str, float]

    @classmethod
    def of(cls, question: str, analysis: QuestionAnalysis, candidates: Sequence[Candidate]) -> Pool:
        """Read the words of a question and of its candidates once."""
        asked = tuple(forms(question))
        words = tuple(tuple(forms(one.unit.text)) for one in candidates)
        titles = tuple(" ".join(forms(subject_of(one.unit.title))) for one in candidates)
        seen = Counter(word for own, title in zip(words, titles, strict=True) for word in {*own, *title.split()})
        weights = {
            word: math.log((len(candidates) + 1) / (seen[word] + 0.5)) for word in set(asked) - FUNCTION_WORDS if word
        }
        return cls(analysis, asked, tuple(candidates), words, titles, {w: max(v, 0.1) for w, v in weights.items()})

    def share(self, words: set[str]) -> float:
        """Weight of the question's words among these, of all of the question's words."""
        return sum(self.weights[word] for word in words & self.weights.keys()) / (sum(self.weights.values()) or 1.0)

    def groups(self) -> dict[tuple[str, str], list[int]]:
        """Rows of each passage's sentences; of others' evidence, whose ids tell no passage, of each title's."""
        found: dict[tuple[str, str], list[int]] = {}
        for row, one in enumerate(self.candidates):
            passage = one.unit.id.rpartition(".")[0] or self.titles[row] or one.unit.id
            found.setdefault((one.unit.origin, passage), []).append(row)
        return found


def near_features(pool: Pool) -> NDArray[np.float64]:
    """What each candidate tells by itself, shape (n, len(NEAR_FEATURES))."""
    best = max((one.unit.score for one in pool.candidates), default=0.0)
    held = {fact.anchor for fact in pool.analysis.facts}
    wanted = pool.analysis.answer_type
    asked = set(pool.asked)
    rows = np.zeros((len(pool.candidates), len(NEAR_FEATURES)))
    said = {title: len(asked & set(title.split())) / max(len(title.split()), 1) for title in pool.titles}
    wholly = {title for title in said if title and f" {title} " in f" {' '.join(pool.asked)} "}
    for members in pool.groups().values():
        together = {word for row in members for word in pool.words[row]}
        nearest = max(pool.candidates[row].unit.score for row in members)
        for row in members:
            one, title = pool.candidates[row], pool.titles[row]
            fitting = wanted not in ("", "YESNO") and any(
                fact.anchor not in held and matches_type(wanted, fact.type) for fact in one.facts
            )
            rows[row] = (
                one.unit.score,
                best - one.unit.score,
                nearest,
                pool.share({*pool.words[row], *title.split()}),
                pool.share({*together, *title.split()}),
                said[title],
                title in wholly,
                one.place == 0,
                min(one.place, 5) / 5,
                fitting,
                len(wholly) > 1 and title not in wholly,
            )
    return rows


def link_features(pool: Pool, near: NDArray[np.float64]) -> NDArray[np.float64]:
    """What candidates tell through each other, shape (n, len(LINK_FEATURES)).

    Parameters
    ----------
    near
        How likely each candidate is evidence by itself, log-odds of shape (n,).
    """
    count = len(pool.candidates)
    rows = np.zeros((count, len(LINK_FEATURES)))
    if not count:
        return rows
    likely = 1.0 / (1.0 + np.exp(-near))
    lines = [f" {' '.join(words)} " for words in pool.words]
    names = {
        title: [
            title != other and bool(title) and f" {title} " in line
            for other, line in zip(pool.titles, lines, strict=True)
        ]
        for title in set(pool.titles)
    }
    named_by = {
        title: max((likely[row] for row in range(count) if by[row]), default=0.0) for title, by in names.items()
    }
    of_title = {title: max(likely[row] for row in range(count) if pool.titles[row] == title) for title in names}
    names_title = [
        max((of_title[title] for title, by in names.items() if by[row]), default=0.0) for row in range(count)
    ]
    first = int(np.argmax(near))
    told = {*pool.words[first], *pool.titles[first].split()}
    rank = np.argsort(np.argsort(-near, kind="stable"), kind="stable")
    for row, (one, title) in enumerate(zip(pool.candidates, pool.titles, strict=True)):
        rows[row] = (
            near[row],
            of_title[title],
            near[first] - near[row],
            named_by[title],
            named_by[title] * (one.place == 0),
            names_title[row],
            min(int(rank[row]), 10) / 10,
            pool.share({*pool.words[row], *title.split()} - told),
        )
    return rows
