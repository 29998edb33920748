"""Clauses that share their verb: "X was born in 1859 and Y in 1867" says two things with one "was born"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import is_name_token
from fedrag_flwr.memory.synthesis.measures import is_date, singular_unit
from fedrag_flwr.memory.synthesis.parts import Clause, Part

if TYPE_CHECKING:
    from spacy.tokens import Token

_NOUNS = ("NOUN", "PROPN", "PRON")


def left_open(clause: Clause) -> int:
    """Give the place of the word from which on a clause's words belong to another subject or object.

    That is a name joined on, behind which a preposition and what kind of thing follows it come once more.
    """
    nouns = [child for child in clause.verb.rights if child.dep_ == "conj" and child.pos_ in _NOUNS]
    if nouns:
        return nouns[0].left_edge.i
    parts = sorted((part for part in clause.parts if part.prep is not None), key=_start)
    for first, second in combinations(parts, 2):
        if first.prep is None or second.prep is None or first.prep.lower_ != second.prep.lower_:
            continue
        if not any(_both(first, second, of_kind) for of_kind in (_is_dated, _is_named, _is_measured)):
            continue
        joined = [
            token.left_edge.i
            for token in clause.verb.doc[first.prep.i : second.prep.i]
            if token.dep_ in ("conj", "appos") and token.pos_ in _NOUNS
        ]
        if joined:
            return max(joined[0], first.prep.i + 1)
    return len(clause.verb.doc)


def own_part(clause: Clause) -> Clause:
    """Give a clause without the parts, and the names joined on, that belong to another subject or object."""
    end = left_open(clause)
    if end == len(clause.verb.doc):
        return clause
    parts = [replace(part, tokens=_until(part, end)) for part in clause.parts]
    return replace(clause, parts=tuple(part for part in parts if part.tokens))


def _until(part: Part, end: int) -> tuple[Token, ...]:
    kept = [token for token in part.tokens if token.i < end]
    while kept and (kept[-1].is_punct or kept[-1].dep_ in ("cc", "punct")):
        kept.pop()
    return tuple(kept) if part.head is None or part.head in kept else ()


def _both(first: Part, second: Part, holds: Callable[[Part], bool]) -> bool:
    return holds(first) and holds(second)


def _is_dated(part: Part) -> bool:
    return is_date(part.tokens)


def _is_named(part: Part) -> bool:
    return part.head is not None and is_name_token(part.head)


def _is_measured(part: Part) -> bool:
    return any(singular_unit(token) for token in part.tokens)


def _start(part: Part) -> int:
    return part.tokens[0].i
