"""Typed facts (FD-RAG eq. 9): entities, names, numbers and concepts over one parse, overlaps resolved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.records import Fact
from fedrag_flwr.text.candidates import (
    Candidate,
    entity_candidates,
    name_candidates,
    number_candidates,
    title_candidates,
)
from fedrag_flwr.text.names import NUMERIC_TYPES
from fedrag_flwr.text.words import normalise_anchor

if TYPE_CHECKING:
    from spacy.tokens import Doc

_CONTENT = frozenset({"NOUN", "PROPN", "ADJ", "NUM", "VERB", "X"})


@dataclass(frozen=True, slots=True)
class TypedSpan:
    """A typed fact as tokens [start, end) of a `Doc`, with its anchor."""

    start: int
    end: int
    type: str
    anchor: str


def typed_spans(doc: Doc, title: str = "", title_type: str = "") -> tuple[TypedSpan, ...]:
    """Find the typed facts of a parsed text, in reading order and without overlaps.

    Types are spaCy's entity labels, YEAR (a year alone), QUANTITY (with durations), NAME (a proper name of unknown
    type) and CONCEPT (a noun phrase). The longest of overlapping spans stays; concepts keep what the others leave.

    Parameters
    ----------
    doc
        A text parsed by the pipeline's spaCy model.
    title
        The document's title: where the title or its short form occurs, it is a fact with the title's anchor.
    title_type
        The type of what the title names, where `defined_type` found it.
    """
    numbers = list(number_candidates(doc))
    entities = list(entity_candidates(doc, numbers))
    names = name_candidates(doc, entities)
    titles = title_candidates(doc, title, title_type, entities) if title else ()
    chosen = _longest([*titles, *names, *entities, *numbers])
    chosen += _concepts(doc, chosen)
    spans = [
        TypedSpan(one.start, one.end, one.type, one.anchor or normalise_anchor(doc[one.start : one.end].text))
        for one in sorted(chosen, key=lambda one: one.start)
    ]
    return tuple(span for span in spans if span.anchor)


def facts_between(doc: Doc, spans: Iterable[TypedSpan], start: int, end: int) -> tuple[Fact, ...]:
    """Give the facts that lie in tokens [start, end), each once, in reading order."""
    found: dict[tuple[str, str], Fact] = {}
    for span in spans:
        if start <= span.start and span.end <= end:
            text = doc[span.start : span.end].text
            if span.type in NUMERIC_TYPES:
                text = text.rstrip(".")  # "17 km/s." is one token at a sentence's end
            fact = Fact(text, span.type, span.anchor)
            found.setdefault((fact.anchor, fact.type), fact)
    return tuple(found.values())


def _longest(candidates: Iterable[Candidate]) -> list[Candidate]:
    chosen: list[Candidate] = []
    taken: set[int] = set()
    for one in sorted(candidates, key=lambda one: (one.start - one.end, one.rank, one.start)):
        tokens = range(one.start, one.end)
        if one.end > one.start and taken.isdisjoint(tokens):
            chosen.append(one)
            taken.update(tokens)
    return chosen


def _concepts(doc: Doc, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Give the noun phrases, each the part of a chunk that no typed span takes and that ends in its head."""
    taken = {index for one in chosen for index in range(one.start, one.end)}
    found: list[Candidate] = []
    for chunk in doc.noun_chunks:
        start, end = chunk.start, chunk.end
        while end > start and (end - 1 in taken or not any(char.isalnum() for char in doc[end - 1].text)):
            end -= 1
        first = end
        while first > start and first - 1 not in taken and _belongs(doc, first - 1):
            first -= 1
        while first < end and (doc[first].pos_ not in _CONTENT or doc[first].is_stop or doc[first].is_punct):
            first += 1
        if first < end and any(doc[i].pos_ in {"NOUN", "PROPN"} and len(doc[i].text) > 1 for i in range(first, end)):
            found.append(Candidate(first, end, "CONCEPT", 10))
    return found


def _belongs(doc: Doc, index: int) -> bool:
    token = doc[index]
    if token.text in {"-", "–", "/", "'s", "’s"}:
        return True
    return not token.is_punct and token.pos_ not in {"DET", "PRON", "CCONJ", "SCONJ"}
