"""Candidate spans of facts from four finders: number rules, the entity recogniser, name runs, the document's title."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.text.lexicon import APPROXIMATORS, HEAD_ANSWERS, HEAD_TYPE, MONTHS, PERSON_SUFFIX, ROLES
from fedrag_flwr.text.names import (
    NUMERIC_TYPES,
    designation_spans,
    name_runs,
    plain_title,
    quoted_spans,
    starts_with_role,
    title_spans,
)
from fedrag_flwr.text.quantities import is_telling_date, numeric_spans
from fedrag_flwr.text.words import normalise_anchor

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

_RANK = ("MONEY", "PERCENT", "QUANTITY", "DATE", "YEAR", "CARDINAL", "ORDINAL")
_TITLE_TYPES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "EVENT", "PRODUCT", "WORK_OF_ART", "NAME"})
_JOINED = frozenset({"ORG", "PRODUCT", "WORK_OF_ART", "FAC", "LAW", "EVENT", "LOC"})
_DURATION = re.compile(r"(?:year|month|week|day|hour|minute|second|night)s?$", re.IGNORECASE)
_INITIAL = re.compile(r"[^\W\d_]\.$")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible fact as tokens [start, end); of equally long ones the lower rank wins. Its anchor may be given."""

    start: int
    end: int
    type: str
    rank: int
    anchor: str = ""


def number_candidates(doc: Doc) -> Iterator[Candidate]:
    """Find numbers, dates and quantities by rule."""
    for start, end, label in numeric_spans(doc.text):
        span = doc.char_span(start, end, alignment_mode="expand")
        if span is None or len(span.text) > end - start + 2:
            continue
        following = doc[span.end] if span.end < len(doc) else None
        if label == "YEAR" and following is not None and following.tag_ == "NNS" and _first_number(span.text) < 1900:
            label = "CARDINAL"
        yield Candidate(span.start, span.end, label, 1 + _RANK.index(label))


def entity_candidates(doc: Doc, numbers: Sequence[Candidate]) -> Iterator[Candidate]:
    """Take the recogniser's entities, trimmed and relabelled; number rules come before its numeric ones."""
    ruled = {index for one in numbers if one.type != "CARDINAL" for index in range(one.start, one.end)}
    for entity in doc.ents:
        span = _trimmed(entity)
        if span is None:
            continue
        numeric = entity.label_ in NUMERIC_TYPES or entity.label_ == "TIME"
        if numeric and not ruled.isdisjoint(range(span.start, span.end)):
            continue
        label = _numeric_label(span, entity.label_) if numeric else _name_label(span, entity.label_)
        if label:
            yield Candidate(span.start, span.end, label, 8 if numeric else 0)


def _first_number(text: str) -> int:
    found = re.search(r"\d+", text)
    return int(found[0]) if found else 0


def _numeric_label(span: Span, label: str) -> str:
    """Give a numeric entity's type, "" if it tells no number and no time."""
    if label == "CARDINAL" and span.end < len(span.doc) and span.doc[span.end].text == "-":
        return ""  # "three-stage"
    if label not in {"DATE", "TIME"}:
        return label
    if not is_telling_date(span.text):
        return ""
    return "QUANTITY" if _DURATION.search(span.text) and re.search(r"\d|^\w+ \w+s$", span.text) else label


def _name_label(span: Span, label: str) -> str:
    if not any(char.isalpha() for char in span.text):
        return ""
    return (len(span) > 1 and HEAD_TYPE.get(span[-1].text.casefold())) or label


def _trimmed(span: Span) -> Span | None:
    """Cut articles, possessives, honorifics, approximators and punctuation off the ends of an entity."""
    doc, start, end = span.doc, span.start, span.end
    numeric = span.label_ in NUMERIC_TYPES or span.label_ == "TIME"
    while start < end and (doc[start].is_punct or doc[start].is_space or _is_article(doc, start)):
        start += 1
    while numeric and start < end - 1 and doc[start].text.casefold() in APPROXIMATORS:
        start += 1
    while end > start and (doc[end - 1].tag_ == "POS" or doc[end - 1].is_space or _is_loose(doc, end - 1)):
        end -= 1
    while span.label_ == "DATE" and end - start > 1 and _named_after_date(doc, end - 1):
        end -= 1  # "April 1990 Discovery"
    if span.label_ == "PERSON" and end > start:
        start = starts_with_role(doc, start, end)
    return doc[start:end] if end > start else None


def _is_article(doc: Doc, index: int) -> bool:
    return doc[index].pos_ in {"DET", "PRON"} and (doc[index].text.islower() or bool(doc[index].is_sent_start))


def _is_loose(doc: Doc, index: int) -> bool:
    token = doc[index]
    return (token.is_punct or token.text in "\"'’”") and token.text not in {")", "!", "?", "]"}


def _named_after_date(doc: Doc, index: int) -> bool:
    token = doc[index]
    return token.pos_ == "PROPN" and token.text.casefold() not in MONTHS and doc[index - 1].text[-1:].isdigit()


def name_candidates(doc: Doc, entities: Sequence[Candidate]) -> Iterator[Candidate]:
    """Find names that the recogniser missed or saw only a part of; its label stays where it saw the head."""
    proper = [entity for entity in entities if entity.type not in NUMERIC_TYPES]
    for start, end in name_runs(doc):
        inside = [one for one in proper if one.start < end and start < one.end]
        candidate = _run_candidate(doc, start, end, inside)
        if candidate:
            yield candidate
    for start, end in designation_spans(doc):
        yield Candidate(start, end, "NAME", 0)
    for start, end in quoted_spans(doc):
        same = [one.type for one in proper if one.start <= start and end <= one.end]
        yield Candidate(start, end, same[0] if same else "NAME", 0)


def _run_candidate(doc: Doc, start: int, end: int, inside: Sequence[Candidate]) -> Candidate | None:
    """Judge a run of capitalised words by the entities inside it; None where they are better than the run."""
    head = HEAD_TYPE.get(doc[end - 1].text.casefold(), "") if end - start > 1 else ""
    if not inside:
        return Candidate(starts_with_role(doc, start, end), end, head or "NAME", 9)
    if any(one.start < start or one.end > end for one in inside):
        return None  # the recogniser saw more
    if len(inside) > 1:
        joined = all(one.type in _JOINED for one in inside) and end - start <= 6
        return Candidate(start, end, head or "NAME", 0) if head or joined else None
    if head:
        return Candidate(start, end, head, 0)
    entity = inside[0]
    if entity.end < end or entity.start == start or entity.type not in {"PERSON", "GPE", "ORG"}:
        whole = entity.end == end and (entity.end - entity.start) * 2 >= end - start
        return Candidate(start, end, entity.type if whole else "NAME", 0)
    before = doc[entity.start - 1]
    if entity.type == "PERSON" and before.whitespace_ and before.text.casefold() not in {"of", "de"}:
        first = starts_with_role(doc, start, end)  # "Chancellor Angela Merkel", "Maarten" + "Schmidt"
        named = all(doc[i].pos_ == "PROPN" or _INITIAL.match(doc[i].text) for i in range(first, entity.start))
        return Candidate(first, end, "PERSON", 0) if named and entity.start - first <= 2 else None
    if not before.whitespace_ or before.text.casefold() in {"of", "de"}:
        return Candidate(start, end, "NAME", 0)
    return None


def title_candidates(doc: Doc, title: str, title_type: str, entities: Sequence[Candidate]) -> Iterator[Candidate]:
    """Find the document's title and its short form, all with the title's anchor and one type."""
    anchor = normalise_anchor(plain_title(title))
    spans = list(title_spans(doc, title))
    labels = [
        one.type
        for start, end in spans
        for one in entities
        if one.type in _TITLE_TYPES and one.start < end and start < one.end and (one.end - one.start) * 2 >= end - start
    ]
    head = HEAD_TYPE.get(plain_title(title).rpartition(" ")[2].casefold(), "") if " " in title else ""
    label = title_type or head or (max(labels, key=labels.count) if labels else "")
    named = any(_is_named(doc, start, end) for start, end in spans)
    for start, end in spans:
        yield Candidate(start, end, label or ("NAME" if named else "CONCEPT"), -1, anchor)


def _is_named(doc: Doc, start: int, end: int) -> bool:
    text = doc[start:end].text
    if doc[start].pos_ == "PROPN" or any(char.isupper() or char.isdigit() for char in text[1:]):
        return True
    return text[:1].isupper() and not doc[start].is_sent_start


def defined_type(doc: Doc, title: str) -> str:
    """Give the type that a text's definition of its title tells ("Triton is the biggest moon of ..."), or ""."""
    for start, end in title_spans(doc, title):
        verb = doc[end - 1].head if doc[end - 1].dep_ == "nsubj" else doc[start].head
        if verb.lemma_ != "be":
            continue
        for child in verb.children:
            if child.dep_ == "attr" and child.i >= end:
                return _noun_type(child.lemma_.casefold())
    return ""


def _noun_type(noun: str) -> str:
    if PERSON_SUFFIX.match(noun) or noun in ROLES:
        return "PERSON"
    label = HEAD_ANSWERS.get(noun, "")
    return label if label in _TITLE_TYPES else ""
