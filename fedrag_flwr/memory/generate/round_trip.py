"""The round-trip filter: a question asked over the evidence must return its answer (FD-RAG 4.1).

What speaks against a candidate is a sentence as near to its question as its own support, or the same question with
another answer. So the verdict on one that was filtered before can only differ where such a sentence or such a question
came or went, and asking these alone gives what asking all would.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.generate.candidates import Candidate, Candidates
from fedrag_flwr.memory.generate.verify import STOP, normalise
from fedrag_flwr.records import Sentence

_AT_ONCE = 1 << 23  # cosines that are held at once
_MARGIN = 0.08  # of cosines: a sentence that is not further from a question than its support by half of it is as near
_MOST = 4_096  # candidates whose vectors are copied at once
_ROUNDED = 1e-5  # cosines that differ by less may be equal


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Which candidates led back to their support, and why the others did not."""

    kept: tuple[int, ...]
    reasons: Mapping[int, str]  # by the candidate's index


def round_trip(
    candidates: Sequence[Candidate],
    question_vectors: NDArray[np.float32],
    sentences: Sequence[Sentence],
    sentence_vectors: NDArray[np.float32],
    remembered: Iterable[tuple[str, str]] = (),
) -> RoundTrip:
    """Ask candidates back without a model: the support must be the evidence that the question leads to.

    A candidate is rejected as ``elsewhere`` when another sentence is nearer to the question by more than `_MARGIN` and
    covers its words better, as ``ambiguous`` when another sentence is as near, covers as many of its words and offers
    another answer of the same type, and as ``conflict`` when the same question was made, or is remembered, with another
    answer. Which candidates are asked together makes no difference, as long as the others are among the remembered.

    Parameters
    ----------
    candidates
        Candidates with sentences as support.
    question_vectors
        Their questions' vectors, shape (candidates, dimension), unit rows.
    sentences, sentence_vectors
        The sentences of the device, and their vectors, shape (sentences, dimension), unit rows.
    remembered
        Questions and answers of candidates that are not asked now.
    """
    place = {sentence.id: index for index, sentence in enumerate(sentences)}

    @cache
    def said(index: int) -> str:
        return f" {normalise(sentences[index].text)} "

    @cache
    def bag(index: int) -> frozenset[str]:
        return frozenset(said(index).split())

    answers: dict[str, set[str]] = defaultdict(set)
    for question, answer in (*((candidate.question, candidate.answer) for candidate in candidates), *remembered):
        answers[normalise(question)].add(normalise(answer))
    reasons: dict[int, str] = {}
    kept: list[int] = []
    at_once = max(1, _AT_ONCE // max(len(sentences), 1))
    for start in range(0, len(candidates), at_once):
        similarity = question_vectors[start : start + at_once] @ sentence_vectors.T
        for offset, row in enumerate(similarity):
            index = start + offset
            candidate = candidates[index]
            support = [place[unit] for unit in candidate.support if unit in place]
            reason = None
            if _conflicting(answers[normalise(candidate.question)]):
                reason = "conflict"
            elif support:
                reason = _elsewhere(candidate, support, row, sentences, said, bag)
            if reason is None:
                kept.append(index)
            else:
                reasons[index] = reason
    return RoundTrip(tuple(kept), reasons)


def _conflicting(answers: set[str]) -> bool:
    """Whether answers to one question contradict: none of them contains all the others."""
    if len(answers) < 2:
        return False
    return not any(all(f" {other} " in f" {answer} " for other in answers) for answer in answers)


def _elsewhere(
    candidate: Candidate,
    support: Sequence[int],
    row: NDArray[np.float32],
    sentences: Sequence[Sentence],
    said: Callable[[int], str],
    bag: Callable[[int], frozenset[str]],
) -> str | None:
    own = max(float(row[index]) for index in support)
    words = frozenset(normalise(candidate.question).split()) - STOP
    covered = max(len(words & bag(index)) for index in support)
    answer = normalise(candidate.answer)
    for index in np.flatnonzero(row >= own - _MARGIN / 2).tolist():
        others = len(words & bag(index))
        if others < covered or index in support or f" {answer} " in said(index):
            continue
        if row[index] > own + _MARGIN and others > covered:
            return "elsewhere"
        same_type = any(fact.type == candidate.answer_type and fact.anchor != answer for fact in sentences[index].facts)
        if candidate.answer_type and same_type and others >= len(words):
            return "ambiguous"
    return None


@dataclass(frozen=True, slots=True)
class Filtered:
    """Candidates after the filter.

    `changed` are those that are new or kept otherwise than before, `withdrawn` those that were kept otherwise, and
    `rejected` counts what changed and did not come back, by kind and reason.
    """

    changed: Candidates
    withdrawn: tuple[Candidate, ...]
    rejected: Mapping[tuple[str, str], int]


class RoundTripFilter:
    """Filters candidates by the sentences of a device.

    Parameters
    ----------
    sentences, vectors
        All sentences, and their vectors, shape (sentences, dimension), unit rows.
    changed
        Vectors of the sentences that came or went, shape (n, dimension); None: any may have.
    """

    def __init__(
        self, sentences: Sequence[Sentence], vectors: NDArray[np.float32], changed: NDArray[np.float32] | None
    ) -> None:
        self._sentences = sentences
        self._vectors = vectors
        self._changed = changed
        self._row = {sentence.id: row for row, sentence in enumerate(sentences)}

    def filter(self, new: Candidates, stood: Candidates, gone: Iterable[str]) -> Filtered:
        """Ask back what is new, and of what stood what is concerned.

        Parameters
        ----------
        new
            Candidates that were never asked.
        stood
            Those that were.
        gone
            Questions that went.
        """
        questions = [normalise(candidate.question) for candidate in stood.items]
        turned = {normalise(question) for question in (*(candidate.question for candidate in new.items), *gone)}
        again = self._concerned(stood, np.array([question in turned for question in questions], dtype=np.bool_))
        asked = new + stood.at(again)
        others = np.setdiff1d(np.arange(len(stood)), again).tolist()
        alike = {normalise(candidate.question) for candidate in asked.items}
        trip = round_trip(
            asked.items,
            asked.vectors,
            self._sentences,
            self._vectors,
            [(stood.items[row].question, stood.items[row].answer) for row in others if questions[row] in alike],
        )
        kept = np.zeros(len(asked), dtype=np.bool_)
        kept[list(trip.kept)] = True
        differs = np.flatnonzero((kept != asked.kept) | (np.arange(len(asked)) < len(new)))
        now = replace(asked, kept=kept)
        return Filtered(
            now.at(differs),
            tuple(asked.items[row] for row in differs if row >= len(new)),
            Counter((asked.items[row].kind, trip.reasons[row]) for row in differs.tolist() if row in trip.reasons),
        )

    def _concerned(self, stood: Candidates, turned: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The rows that the change may concern; `turned` are those whose question came or went elsewhere."""
        if self._changed is None:
            return np.arange(len(stood))
        found = turned.copy()
        at_once = min(_MOST, max(1, _AT_ONCE // max(len(self._changed), 1)))
        for start in range(0, len(stood) if len(self._changed) else 0, at_once):
            rows = slice(start, start + at_once)
            nearest = (stood.vectors[rows] @ self._changed.T).max(axis=1)
            own = self._own_cosines(stood.items[rows], stood.vectors[rows])
            found[rows] |= nearest >= own - _MARGIN / 2 - _ROUNDED
        return np.flatnonzero(found)

    def _own_cosines(self, candidates: Sequence[Candidate], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """How near each question is to the nearest unit of its support, shape (candidates,)."""
        pairs = [(row, self._row[unit]) for row, candidate in enumerate(candidates) for unit in candidate.support]
        rows, units = np.array(pairs, dtype=np.intp).T
        cosines = np.einsum("ij,ij->i", vectors[rows], self._vectors[units])
        return np.asarray(np.maximum.reduceat(cosines, np.unique(rows, return_index=True)[1]))
