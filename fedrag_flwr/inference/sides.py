"""The things that a question sets side by side, and the people behind them whom it may ask about instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.inference.reading import Pool
from fedrag_flwr.inference.support import forms, is_choice
from fedrag_flwr.text.segment import document_title

_MADE_BY = {  # by whom a thing was made: how the words for that begin in a sentence about the thing
    "director": ("direct",),
    "composer": ("compos", "music"),
    "performer": ("perform", "record", "sing", "sung", "song", "by"),
    "singer": ("sing", "sung", "record", "song", "by"),
    "producer": ("produc",),
    "author": ("author", "writ", "wrot", "novel", "by"),
    "writer": ("writ", "wrot", "novel", "by"),
    "screenwriter": ("screen", "writ", "wrot"),
    "founder": ("found",),
    "creator": ("creat",),
    "editor": ("edit",),
}
_ROLES = "|".join(_MADE_BY)
_MAKER = re.compile(
    rf"\b(?:whose|ha(?:s|ve)(?: the| a)?|'s|’s) (?P<owned>{_ROLES})s?\b|\b(?P<of>{_ROLES})s? (?:of|for)\b",
    re.IGNORECASE,
)


def alternatives(question: str, titles: Sequence[str]) -> list[str]:
    """The titles that a question sets side by side, in the order in which it says them; none where it offers no choice.

    Parameters
    ----------
    question
        Its text.
    titles
        What passages are about, without brackets.
    """
    if not is_choice(question):
        return []
    asked = f" {' '.join(forms(question))} "
    places = {title: asked.find(f" {' '.join(forms(title))} ") for title in dict.fromkeys(titles) if forms(title)}
    found = sorted((place, title) for title, place in places.items() if place >= 0)
    return [title for _, title in found] if len(found) > 1 else []


def said_by(pool: Pool, scores: NDArray[np.float64]) -> list[list[int]]:
    """The rows of the passages whose titles a question says.

    A longer title goes before what it holds ("Verona High School" before "High School"), a title with its bracket
    before one without; of passages under one title the likeliest is meant.

    Parameters
    ----------
    pool
        The question and all sentences near it.
    scores
        Log-odds that each sentence is evidence, shape (len(pool.candidates),).
    """
    asked = f" {' '.join(pool.asked)} "
    groups = sorted(pool.groups().values(), key=lambda rows: -max(float(scores[row]) for row in rows))
    said = sorted(
        ((name, number) for number, rows in enumerate(groups) for name in _names(pool, rows[0]) if name),
        key=lambda one: (-len(one[0]), one[1]),
    )
    chosen: dict[int, None] = {}
    for name, number in said:
        if number not in chosen and f" {name} " in asked:
            chosen[number] = None
            asked = asked.replace(f" {name} ", " | ")
    return [groups[number] for number in chosen]


def _names(pool: Pool, row: int) -> tuple[str, str]:
    """A passage's title in the form in which words compare, with its bracket and without."""
    return " ".join(forms(document_title(pool.candidates[row].unit.title))), pool.titles[row]


def rows_asked_of(question: str, pool: Pool, rows: Sequence[int]) -> list[int]:
    """The rows that tell what is asked of a thing: its own, or those of who made it where the question asks about them.

    "Which film has the director who died earlier?" asks about directors: the passage whose title a film's sentence
    names after "directed by".

    Parameters
    ----------
    question
        Its text.
    pool
        The question and all sentences near it.
    rows
        The sentences of the thing's own passage; at least one.
    """
    asked = _MAKER.search(question)
    if asked is None:
        return list(rows)
    stems = _MADE_BY[(asked["owned"] or asked["of"]).casefold()]
    passages: dict[str, list[int]] = {}
    for row, title in enumerate(pool.titles):
        if title and title != pool.titles[rows[0]]:
            passages.setdefault(title, []).append(row)
    for row in rows:
        words = pool.words[row]
        start = next((i for i, word in enumerate(words) if word.startswith(stems)), len(words))
        line = f" {' '.join(words[start + 1 :])} "
        named = [(line.index(f" {title} "), title) for title in passages if f" {title} " in line]
        if named:
            return sorted(passages[min(named)[1]], key=lambda one: pool.candidates[one].place)
    return list(rows)
