"""Names that a small entity recogniser misses: capitalised runs, codes, quoted titles, the document's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fedrag_flwr.text.lexicon import CONNECTORS, HEAD_TYPE, MONTHS, POSSESSED, ROLES, SHORT_STOP

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

NUMERIC_TYPES = frozenset({"DATE", "YEAR", "CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT"})

_OPENING_WORDS = frozenset({"DET", "ADP", "PRON", "SCONJ", "CCONJ", "ADV", "AUX", "VERB", "INTJ", "PART"})
_ROMAN = re.compile(r"[IVXL]+[A-Z]?$")
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])\w[\w./–-]*$")
_YEAR = re.compile(r"(?:1\d|20)\d\d$")
_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
_SCALES = frozenset({"%", "million", "billion", "percent"})
_DESIGNATION = re.compile(r"\b(?:18|19|20)\d\d [A-Z]{2}\d{0,3}\b(?!\w)")
_QUOTED = re.compile(r"[\"“«]\s?([^\"“”«»]{2,80}?)[,.]?\s?[\"”»]")


def name_runs(doc: Doc) -> Iterator[tuple[int, int]]:
    """Find runs of capitalised words as token spans, with numbers and codes that belong to them ("Titan IIIE")."""
    index = 0
    while index < len(doc):
        end = _run_end(doc, index)
        if end > index:
            yield index, end
        index = max(end, index + 1)


def designation_spans(doc: Doc) -> Iterator[tuple[int, int]]:
    """Find provisional designations, which open with a year ("1999 RQ36")."""
    for found in _DESIGNATION.finditer(doc.text):
        span = doc.char_span(found.start(), found.end(), alignment_mode="expand")
        if span is not None:
            yield span.start, span.end


def quoted_spans(doc: Doc) -> Iterator[tuple[int, int]]:
    """Find short quoted titles (the tokens between the quotation marks)."""
    for found in _QUOTED.finditer(doc.text):
        span = doc.char_span(found.start(1), found.end(1), alignment_mode="contract")
        if span is not None and len(span) <= 12 and (span[0].text[:1].isupper() or span[0].text[:1].isdigit()):
            yield span.start, span.end


def title_spans(doc: Doc, title: str) -> Iterator[tuple[int, int]]:
    """Find a document's title, without its qualifier, and its short form as token spans."""
    plain = plain_title(title)
    if len(plain) < 2:
        return
    for found in re.finditer(rf"(?<!\w){re.escape(plain)}(?!\w)", doc.text, re.IGNORECASE):
        if found[0] == plain or " " in plain or found[0] == plain.casefold():
            span = doc.char_span(found.start(), found.end(), alignment_mode="contract")
            if span is not None:
                yield span.start, span.end
    for short in short_forms(title):
        for token in doc:
            if token.text == short and token.pos_ == "PROPN" and not _part_of_name(doc, token.i):
                yield token.i, token.i + 1


def short_forms(title: str) -> tuple[str, ...]:
    """Give the words by which a text goes on to call what its title names ("Hubble" for "Hubble Space Telescope")."""
    words = re.split(r"[,(]", plain_title(title))[0].split()
    if not 2 <= len(words) <= 4 or not all(word[:1].isupper() for word in words):
        return ()
    short = words[0] if words[-1].casefold() in HEAD_TYPE else words[-1]
    common = short.casefold() in SHORT_STOP or short.casefold() in HEAD_TYPE or short.casefold() in ROLES
    return () if common or len(short) < 4 or not short.isalpha() else (short,)


def plain_title(title: str) -> str:
    """Give a title without its qualifier in brackets."""
    return _QUALIFIER.sub("", title).strip() or title


def starts_with_role(doc: Doc, start: int, end: int) -> int:
    """Skip leading roles and honorifics of a person's name; give the first token after them."""
    if doc[end - 1].text.casefold() in ROLES:  # "Director General"
        return start
    while start < end - 1 and doc[start].text.casefold() in ROLES:
        start += 1
    return start


def _part_of_name(doc: Doc, index: int) -> bool:
    beside = [doc[i] for i in (index - 1, index + 1) if 0 <= i < len(doc)]
    return any(token.pos_ == "PROPN" and token.text[:1].isupper() for token in beside)


def _is_capital(token: Token) -> bool:
    text = token.text
    if not text[:1].isalnum() or text.casefold() in MONTHS:
        return False
    if text[:1].isdigit():
        return bool(_CODE.match(text)) and any(char.isupper() for char in text) and not _unit_like(text)
    if not text[:1].isupper() or text == "I":
        return False
    if len(text) == 1 and token.i + 1 < len(token.doc) and token.nbor(1).text == "-":
        return False  # "an X-ray telescope"
    if token.is_sent_start:
        opening = token.pos_ in _OPENING_WORDS or token.is_stop
        alone = text.casefold() in HEAD_TYPE  # "Spacecraft are ..."
        return (token.pos_ == "PROPN" and not alone) or (not opening and _continues(token))
    return token.pos_ not in {"PRON", "AUX"} and not (token.is_stop and token.pos_ != "PROPN")


def _continues(token: Token) -> bool:
    if token.i + 1 >= len(token.doc):
        return False
    after = token.nbor(1)
    return after.text[:1].isupper() or _is_number_part(after)


def _unit_like(text: str) -> bool:
    return bool(re.match(r"[\d.,]+(?:[a-zµ]{1,3}|[KMGT]?(?:B|W|V|Hz))$", text))


def _is_number_part(token: Token) -> bool:
    text = token.text
    if text.isdigit():
        after = token.nbor(1) if token.i + 1 < len(token.doc) else None
        counts = after is not None and (after.lower_ in _SCALES or (len(text) > 2 and after.tag_ == "NNS"))
        return len(text) <= 4 and not _YEAR.match(text) and not counts  # "circled Saturn 294 times"
    return bool(_ROMAN.match(text)) or (bool(_CODE.match(text)) and any(char.isupper() for char in text))


def _run_end(doc: Doc, start: int) -> int:
    if not _is_capital(doc[start]):
        return start
    end = start + 1
    while end < len(doc):
        token, before = doc[end], doc[end - 1]
        if before.whitespace_ and (_is_capital(token) or _is_number_part(token)) and not token.is_sent_start:
            end += 1
        elif _glues(doc, end) or _possesses(doc, end):
            end += 2
        elif token.text.casefold() in CONNECTORS and (after := _after_connector(doc, end)):
            end = after
        else:
            break
    return end


def _glues(doc: Doc, index: int) -> bool:
    """Say whether an ampersand, a dash or a slash joins two halves of one name."""
    if index + 1 >= len(doc):
        return False
    mark, after = doc[index], doc[index + 1]
    if mark.text == "&":
        return _is_capital(after)
    if mark.text not in {"-", "–", "/"} or mark.whitespace_ or doc[index - 1].whitespace_:
        return False
    text = after.text
    return text[:1].isupper() or (text.isdigit() and not _YEAR.match(text)) or bool(_CODE.match(text))


def _possesses(doc: Doc, index: int) -> bool:
    """Say whether a possessive goes on as one name ("Halley's Comet")."""
    after = doc[index + 1].text if index + 1 < len(doc) else ""
    return doc[index].tag_ == "POS" and after[:1].isupper() and after.casefold() in POSSESSED


def _after_connector(doc: Doc, index: int) -> int:
    """Give the end of a run that goes on after the connector at `index`, or 0."""
    after = index + 1
    word = doc[index].text.casefold()
    article = {"of": {"the"}, "de": {"la", "los", "las"}}.get(word, set())
    if after < len(doc) and doc[after].text in article:
        after += 1
    return after + 1 if after < len(doc) and _is_capital(doc[after]) else 0
