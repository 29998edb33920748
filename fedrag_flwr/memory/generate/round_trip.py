"""The round-trip filter: a question asked over the evidence must return its answer (FD-RAG 4.1).

What speaks against a candidate is a sentence as near to its question as its own support, or the same question with
another answer. So the verdict on one that was filtered before can only differ where such a sentence or such a question
came or went, and asking these alone gives what asking all would.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.generate.candidates import Candidate, Candidates, Kept
from fedrag_flwr.memory.generate.verify import STOP, normalise
from fedrag_flwr.records import Sentence

_AT_ONCE = 1 << 23  # cosines that are held at once
_MARGIN = 0.08  # of cosines: a sentence that is not further from a question than its support by half of it is as near
_MOST = 4_096  # candidates whose vectors are copied at once
_ROUNDED = 1e-5  # cosines that differ by less may be equal


def round_trip(
    candidates: Sequence[Candidate],
    question_vectors: NDArray[np.float32],
    sentences: Sequence[Sentence],
    sentence_vectors: NDArray[np.float32],
    remembered: Iterable[tuple[str, str]] = (),
) -> dict[int, str]:
    """Ask candidates back without a model: the support must be the evidence that the question leads to.

    Gives the reasons of those that do not lead back, by their index. A candidate is rejected as ``elsewhere`` when
    another sentence is nearer to the question by more than `_MARGIN` and covers its words better, as ``ambiguous`` when
    another sentence is as near, covers as many of its words and offers another answer of the same type, and as
    ``conflict`` when the same question was made, or is remembered, with another answer. Which candidates are asked
    together makes no difference, as long as the others are among the remembered.

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
    at_once = max(1, _AT_ONCE // max(len(sentences), 1))
    for start in range(0, len(candidates), at_once):
        similarity = question_vectors[start : start + at_once] @ sentence_vectors.T
        for offset, row in enumerate(similarity):
            index = start + offset
            candidate = candidates[index]
            support = [place[unit] for unit in candidate.support if unit in place]
            if _conflicting(answers[normalise(candidate.question)]):
                reasons[index] = "conflict"
            elif support and (reason := _elsewhere(candidate, support, row, sentences, said, bag)):
                reasons[index] = reason
    return reasons


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


def filtered(
    new: Candidates,
    kept: Kept,
    sentences: Sequence[Sentence],
    vectors: NDArray[np.float32],
    changed: NDArray[np.float32] | None,
) -> tuple[Candidates, tuple[Candidate, ...], Counter[str]]:
    """Ask back what is new, and of what was asked before what a change concerns.

    Parameters
    ----------
    new
        Candidates that were never asked.
    kept
        Those that were, and the questions that went.
    sentences, vectors
        All sentences, and their vectors, shape (sentences, dimension), unit rows.
    changed
        Vectors of the sentences that came or went, shape (n, dimension); None: any may have.

    Returns
    -------
    tuple
        Candidates that are new or kept otherwise than before; of these those that were kept otherwise; and how many of
        them did not come back, by reason.
    """
    stood = kept.candidates
    questions = [normalise(candidate.question) for candidate in stood.items]
    came = (*(candidate.question for candidate in new.items), *kept.gone_questions)
    turned = {normalise(question) for question in came}
    again = np.arange(len(stood))
    if changed is not None:
        near = _near(stood, {sentence.id: row for row, sentence in enumerate(sentences)}, vectors, changed)
        again = np.flatnonzero(near | np.array([question in turned for question in questions], dtype=np.bool_))
    asked = new + stood.at(again)
    others = np.setdiff1d(np.arange(len(stood)), again).tolist()
    alike = {normalise(candidate.question) for candidate in asked.items}
    remembered = [(stood.items[row].question, stood.items[row].answer) for row in others if questions[row] in alike]
    reasons = round_trip(asked.items, asked.vectors, sentences, vectors, remembered)
    now = replace(asked, kept=np.array([row not in reasons for row in range(len(asked))], dtype=np.bool_))
    differs = np.flatnonzero((now.kept != asked.kept) | (np.arange(len(asked)) < len(new))).tolist()
    withdrawn = tuple(asked.items[row] for row in differs if row >= len(new))
    return now.at(differs), withdrawn, Counter(reasons[row] for row in differs if row in reasons)


def _near(
    stood: Candidates, row: Mapping[str, int], vectors: NDArray[np.float32], changed: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Which candidates have a changed sentence as near to their question as their support, shape (candidates,)."""
    found = np.zeros(len(stood), dtype=np.bool_)
    at_once = min(_MOST, max(1, _AT_ONCE // max(len(changed), 1)))
    for start in range(0, len(stood) if len(changed) else 0, at_once):
        some, asked = stood.items[start : start + at_once], stood.vectors[start : start + at_once]
        pairs = [(place, row[unit]) for place, candidate in enumerate(some) for unit in candidate.support]
        places, units = np.array(pairs, dtype=np.intp).T
        cosines = np.einsum("ij,ij->i", asked[places], vectors[units])
        own = np.maximum.reduceat(cosines, np.unique(places, return_index=True)[1])
        found[start : start + at_once] = (asked @ changed.T).max(axis=1) >= own - _MARGIN / 2 - _ROUNDED
    return found
