"""Typed facts (FD-RAG eq. 9): entities, names, numbers and concepts over one parse, overlaps resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.records import Fact
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.lexicon import APPROXIMATORS, HEAD_TYPE
from fedrag_flwr.text.names import (
    NUMERIC_TYPES,
    name_runs,
    plain_title,
    quoted_spans,
    starts_with_role,
    title_spans,
)
from fedrag_flwr.text.quantities import is_telling_date, numeric_spans

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

_RANK = ("MONEY", "PERCENT", "QUANTITY", "DATE", "YEAR", "CARDINAL", "ORDINAL")
_CONTENT = frozenset({"NOUN", "PROPN", "ADJ", "NUM", "VERB", "X"})
_INITIAL = re.compile(r"[^\W\d_]\.$")
_DURATION = re.compile(r"(?:year|month|week|day|hour|minute|second|night)s?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TypedSpan:
    """A typed fact as tokens [start, end) of a `Doc`, with its anchor."""

    start: int
    end: int
    type: str
    anchor: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    start: int
    end: int
    type: str
    rank: int  # lower wins between equally long candidates
    anchor: str = ""


def typed_spans(doc: Doc, title: str = "") -> tuple[TypedSpan, ...]:
    """Find the typed facts of a parsed text, in reading order and without overlaps.

    Types are spaCy's entity labels, YEAR (a year alone), QUANTITY (with durations), NAME (a proper name of unknown
    type) and CONCEPT (a noun phrase). The longest of overlapping spans stays; concepts keep what the others leave.

    Parameters
    ----------
    doc
        A text parsed by the pipeline's spaCy model.
    title
        The document's title: where the title or its short form occurs, it is a fact with the title's anchor.
    """
    numbers = list(_numbers(doc))
    entities = list(_entities(doc))
    names = list(_names(doc, entities))
    titles = list(_titles(doc, title, entities)) if title else []
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
            fact = Fact(doc[span.start : span.end].text, span.type, span.anchor)
            found.setdefault((fact.anchor, fact.type), fact)
    return tuple(found.values())


def _numbers(doc: Doc) -> Iterator[_Candidate]:
    for start, end, label in numeric_spans(doc.text):
        span = doc.char_span(start, end, alignment_mode="expand")
        if span is None or (len(span.text) > end - start + 2):
            continue
        last = doc[span.end] if span.end < len(doc) else None
        if label == "YEAR" and last is not None and last.tag_ == "NNS" and int(_first_number(span.text)) < 1900:
            label = "CARDINAL"
        yield _Candidate(span.start, span.end, label, 1 + _RANK.index(label))


def _first_number(text: str) -> str:
    found = re.search(r"\d+", text)
    return found[0] if found else "0"


def _entities(doc: Doc) -> Iterator[_Candidate]:
    for entity in doc.ents:
        span = _trimmed(entity)
        if span is None:
            continue
        label = entity.label_
        if label in {"DATE", "TIME"}:
            if not is_telling_date(span.text):
                continue
            if (
                _DURATION.search(span.text)
                and re.search(r"\d|^\w+ \w+s$", span.text)
                and not re.search(r"\d{4}", span.text)
            ):
                label = "QUANTITY"
            elif re.fullmatch(r"(?:1\d|20)\d\d", span.text):
                label = "YEAR"
            elif re.fullmatch(
                r"(?:the )?(?:year|summer|spring|winter|autumn|season)s?(?: of)? (?:1\d|20)\d\d", span.text
            ):
                continue  # the rules find the bare year
        elif label not in NUMERIC_TYPES:
            head = HEAD_TYPE.get(span[-1].text.casefold())
            if head and len(span) > 1:
                label = head
            if not any(char.isalpha() for char in span.text):
                continue
        yield _Candidate(span.start, span.end, label, 0 if label not in NUMERIC_TYPES else 8)


def _trimmed(span: Span) -> Span | None:
    """Cut articles, possessives, honorifics and punctuation off the ends of an entity."""
    doc, start, end = span.doc, span.start, span.end
    while start < end and (
        doc[start].is_punct or doc[start].is_space or (doc[start].pos_ in {"DET", "PRON"} and doc[start].text.islower())
    ):
        start += 1
    while start < end - 1 and span.label_ in NUMERIC_TYPES and doc[start].text.casefold() in APPROXIMATORS:
        start += 1
    while end > start and (doc[end - 1].tag_ == "POS" or doc[end - 1].is_space or _loose(doc, end - 1)):
        end -= 1
    if span.label_ == "PERSON":
        start = starts_with_role(doc, start, end)
    return doc[start:end] if end > start else None


def _loose(doc: Doc, index: int) -> bool:
    token = doc[index]
    return (token.is_punct or token.text in "\"'’”") and token.text not in {")", "!", "?", "]"}


def _names(doc: Doc, entities: Sequence[_Candidate]) -> Iterator[_Candidate]:
    proper = [entity for entity in entities if entity.type not in NUMERIC_TYPES]
    for start, end in name_runs(doc):
        inside = [one for one in proper if one.start < end and start < one.end]
        label = HEAD_TYPE.get(doc[end - 1].text.casefold(), "") if end - start > 1 else ""
        if len(inside) > 1 and not (label and all(one.end <= end for one in inside) and "," not in doc[start:end].text):
            continue
        if inside and not label:
            entity = inside[0]
            if entity.start < start or entity.end > end:
                continue  # the recogniser saw more
            if entity.type in {"PERSON", "GPE", "ORG"} and entity.end == end and entity.start > start:
                if _INITIAL.match(doc[start].text) and entity.type == "PERSON":
                    label = "PERSON"
                elif not doc[entity.start - 1].whitespace_ or doc[entity.start - 1].text.casefold() in {"of", "de"}:
                    label = "NAME"
                else:
                    continue  # "Chancellor Angela Merkel": the name is enough
            else:
                covers = (entity.end - entity.start) * 2 >= end - start
                label = entity.type if entity.end == end and covers else "NAME"
        start = starts_with_role(doc, start, end) if not inside else start
        yield _Candidate(start, end, label or "NAME", 9 if not inside else 0)
    for start, end in quoted_spans(doc):
        same = [one.type for one in proper if one.start <= start and end <= one.end]
        yield _Candidate(start, end, same[0] if same else "NAME", 0)


def _titles(doc: Doc, title: str, entities: Sequence[_Candidate]) -> Iterator[_Candidate]:
    anchor = normalise_anchor(plain_title(title))
    spans = list(title_spans(doc, title))
    labels = [
        one.type
        for start, end in spans
        for one in entities
        if one.start < end
        and start < one.end
        and one.end - one.start >= (end - start) / 2
        and one.type not in NUMERIC_TYPES
    ]
    head = HEAD_TYPE.get(plain_title(title).rpartition(" ")[2].casefold(), "") if " " in title else ""
    label = head or (max(labels, key=labels.count) if labels else "")
    for start, end in spans:
        named = any(char.isupper() for char in doc[start:end].text[1:]) or doc[start].pos_ == "PROPN"
        yield _Candidate(start, end, label or ("NAME" if named else "CONCEPT"), -1, anchor)


def _longest(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    taken: set[int] = set()
    for one in sorted(candidates, key=lambda one: (one.start - one.end, one.rank, one.start)):
        tokens = range(one.start, one.end)
        if one.end > one.start and taken.isdisjoint(tokens):
            chosen.append(one)
            taken.update(tokens)
    return chosen


def _concepts(doc: Doc, chosen: Sequence[_Candidate]) -> list[_Candidate]:
    """Give the noun phrases, each the part of a chunk that no typed span takes and that ends in its head."""
    taken = {index for one in chosen for index in range(one.start, one.end)}
    found: list[_Candidate] = []
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
            found.append(_Candidate(first, end, "CONCEPT", 10))
    return found


def _belongs(doc: Doc, index: int) -> bool:
    token = doc[index]
    if token.text in {"-", "–", "/", "'s", "’s"}:
        return True
    return not token.is_punct and token.pos_ not in {"DET", "PRON", "CCONJ", "SCONJ"}
