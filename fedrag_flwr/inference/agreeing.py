"""Questions for yes or no about two things: whether the passages about them agree in what is asked.

"Are both lakes?" asks whether each passage says so, "of the same nationality?" whether the typed facts of both agree. A
small model says yes to nearly all of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.inference.reading import Pool
from fedrag_flwr.text.lexicon import FUNCTION_WORDS, words

LEAST_SHARE = 0.6  # of the asked words that each passage must say
LEAST_SHARED = 3  # facts in which both agree, where the question does not ask for a nation
_SAME = re.compile(r"\b(?:same|share|similar|common)\b", re.IGNORECASE)
_OF_NATIONS = re.compile(r"\b(?:nation\w*|countr\w+|citizen\w*)\b", re.IGNORECASE)
_NATIONS = frozenset({"NORP", "GPE"})
_IN_TIME = re.compile(r"\b(?:when|while|before|after|already|yet|still|until|since|by the time)\b", re.IGNORECASE)
_STEM = 4  # letters: "Italy" and "Italian" agree
_LEVEL = FUNCTION_WORDS | words("same both share similar common each different type kind")


def agree(question: str, pool: Pool, scores: NDArray[np.float64]) -> bool | None:
    """Whether what a question asks of two things holds of both, by the passages about them; of one, where it names one.

    None where it asks in which order things came: shared words and facts say nothing of that.

    Parameters
    ----------
    question
        Its text.
    pool
        The question and all sentences near it.
    scores
        Log-odds that each sentence is evidence, shape (len(pool.candidates),).
    """
    if _IN_TIME.search(question):
        return None
    pair = _pair(pool, scores)
    if not pair:
        return False
    if not _SAME.search(question):
        line = f" {' '.join(pool.asked)} "
        for rows in pair:
            line = line.replace(f" {pool.titles[rows[0]]} ", " ")
        asked = [word for word in line.split() if word not in _LEVEL]
        return all(_share(asked, _told(pool, rows)) >= LEAST_SHARE for rows in pair)
    if _OF_NATIONS.search(question):
        return bool(set.intersection(*({anchor[:_STEM] for anchor in _facts(pool, rows, _NATIONS)} for rows in pair)))
    return len(set.intersection(*(_facts(pool, rows) for rows in pair))) >= LEAST_SHARED


def _pair(pool: Pool, scores: NDArray[np.float64]) -> list[list[int]]:
    """The rows of the two passages that a question is about: those whose titles it says, else the likeliest."""
    asked = f" {' '.join(pool.asked)} "
    groups = list(pool.groups().values())
    said = [bool(pool.titles[rows[0]]) and f" {pool.titles[rows[0]]} " in asked for rows in groups]
    best = [max(float(scores[row]) for row in rows) for rows in groups]
    ranked = sorted(range(len(groups)), key=lambda i: (not said[i], -best[i]))[:2]
    return [groups[i] for i in ranked]


def _told(pool: Pool, rows: Sequence[int]) -> set[str]:
    return {word for row in rows for word in (*pool.words[row], *pool.titles[row].split())}


def _facts(pool: Pool, rows: Sequence[int], types: frozenset[str] = frozenset()) -> set[str]:
    """Anchors of a passage's facts, of some types or all."""
    return {fact.anchor for row in rows for fact in pool.candidates[row].facts if not types or fact.type in types}


def _share(asked: Sequence[str], told: set[str]) -> float:
    return sum(word in told for word in asked) / max(len(asked), 1)
