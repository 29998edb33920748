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
from fedrag_flwr.inference.senses import denies
from fedrag_flwr.inference.sides import rows_asked_of, said_by
from fedrag_flwr.inference.support import forms
from fedrag_flwr.text.lexicon import FUNCTION_WORDS, words
from fedrag_flwr.text.nations import nations
from fedrag_flwr.text.segment import subject_of

LEAST_SHARE = 0.6  # of the asked words that each passage must say
LEAST_SHARED = 3  # facts in which both agree, where the question does not ask for a nation
_SAME = re.compile(r"\b(?:same|share|similar|common)\b", re.IGNORECASE)
_OF_NATIONS = re.compile(r"\b(?:nation\w*|countr\w+|citizen\w*)\b", re.IGNORECASE)
_OF_PLACES = re.compile(
    r"\b(?:state|province|region|county|city|town|village|district|borough|municipality|island|area)s?\b", re.IGNORECASE
)
_PLACES = frozenset({"NORP", "GPE", "LOC"})
_ANY: frozenset[str] = frozenset()
_APART = re.compile(r"\bdiffer(?:s|ent|ently|ence|ences)?\b", re.IGNORECASE)
_IN_TIME = re.compile(r"\b(?:when|while|before|after|already|yet|still|until|since|by the time)\b", re.IGNORECASE)
_CONTRAST = re.compile(r";|\b(?:but|while|whereas|although|though|however)\b", re.IGNORECASE)  # a denial ends here
_LEVEL = FUNCTION_WORDS | words("same both share similar common each type kind")


def agree(question: str, pool: Pool, scores: NDArray[np.float64]) -> bool | None:
    """Whether what a question asks of two things holds of both, by the passages about them.

    None where it does not name two that passages are about, as the words of one passage would say yes or no to nearly
    anything; where it asks in which order things came: shared words and facts say nothing of that; where it asks
    whether both do not: words that are said tell nothing of that; where it asks for a difference, as facts that are
    not told alike need not differ; and where it asks nothing of them that a passage could say.

    Parameters
    ----------
    question
        Its text.
    pool
        The question and all sentences near it.
    scores
        Log-odds that each sentence is evidence, shape (len(pool.candidates),).
    """
    if _IN_TIME.search(question) or _APART.search(question):
        return None
    named = said_by(pool, scores)[:2]
    if len(named) < 2:
        return None
    both = [rows_asked_of(question, pool, rows) for rows in named]
    if not _SAME.search(question):
        if denies(question):
            return None
        line = f" {' '.join(pool.asked)} "
        for rows in both:
            line = line.replace(f" {pool.titles[rows[0]]} ", " ")
        asked = [word for word in line.split() if word not in _LEVEL]
        if not asked:
            return None
        return all(_share(asked, _affirmed(pool, rows)) >= LEAST_SHARE for rows in both)
    if _OF_NATIONS.search(question):
        return bool(set.intersection(*(nations(_facts(pool, rows, _PLACES)) for rows in both)))
    shared = set.intersection(*(_facts(pool, rows, _PLACES if _OF_PLACES.search(question) else _ANY) for rows in both))
    if _OF_PLACES.search(question):
        return any(not nations([anchor]) for anchor in shared)
    return len(shared) >= LEAST_SHARED


def _affirmed(pool: Pool, rows: Sequence[int]) -> set[str]:
    """The words of a passage's title and of what its sentences say, without what they deny."""
    told = set(pool.titles[rows[0]].split())
    for row in rows:
        unit = pool.candidates[row].unit
        named = subject_of(unit.title)
        text = unit.text.replace(named, " ") if named else unit.text  # the film "No Way Home" denies nothing
        told.update(word for part in _CONTRAST.split(text) if not denies(part) for word in forms(part))
    return told


def _facts(pool: Pool, rows: Sequence[int], types: frozenset[str]) -> set[str]:
    """Anchors of a passage's facts, of some types or all."""
    return {fact.anchor for row in rows for fact in pool.candidates[row].facts if not types or fact.type in types}


def _share(asked: Sequence[str], told: set[str]) -> float:
    return sum(word in told for word in asked) / len(asked)
