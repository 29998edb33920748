"""Postal addresses: streets with numbers, units, boxes and postcodes, and the places that follow them."""

from __future__ import annotations

import re

from fedrag_flwr.privacy.rules import MONTH, Span, rule, scan

ADDRESS = "ADDRESS"

_WORD = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž])[^\W\d_]*"
_CAP = rf"(?:{_WORD}(?:['’.-][^\W\d_]+)*\.?)"
_SMALL = r"(?:de|del|della|di|da|das|do|dos|du|des|la|le|van|von|der|den|el|al|of|the|u|sur|am|im|zu)"
_NAME = rf"{_CAP}(?: (?:{_SMALL} ){{0,2}}{_CAP}){{0,3}}"
_NUMBER = r"\d{1,6}[a-z]?(?:[-/]\d{1,4}[a-z]?)?"
_SUFFIX = (
    r"(?:street|st|road|rd|avenue|ave|av|boulevard|blvd|lane|ln|drive|dr|court|ct|place|pl|square|sq|terrace|way|"
    r"parkway|pkwy|highway|hwy|circle|cir|crescent|cres|close|row|mews|alley|trail|trl|turnpike|crossroad|coves?|"
    r"crossing|grove|gardens|hill|heights|loop|path|plaza|quay|rise|walk|causeway|esplanade|parade)"
)
_COMPOUND = (
    r"(?:stra(?:ss|ß)e|str|gasse|allee|platz|weg|straat|laan|plein|gracht|kade|gat[ae]n?|v[äa]gen?|vegen?|veien?|vej|"
    r"gade|katu|tie|kuja|polku|utca|vegur|braut|stigur|ulica|sk[aá]|ova)"
)
_BEFORE = (
    r"(?:rua|rue|r|via|viale|corso|piazza|calle|c/|avda|avenida|avenue|av|plaza|pla[cç]a|place|carrer|camino|"
    r"paseo|travessa|estrada|boulevard|chemin|all[ée]e|quai|ul|ulica|aleja|strada|contrada|localit[aà])\.?"
)
_UNIT = rf"(?:suite|ste|apt|apartment|unit|flat|floor|room|p\.? ?o\.? box|box)\.? #?{_NUMBER}"


def _no_date(match: re.Match[str]) -> bool:
    return re.search(rf"\b{MONTH}\b", match["it"], re.IGNORECASE) is None


_RULES = (
    rule(
        ADDRESS,
        "military-post",
        r"\b(?P<it>(?:(?:psc|unit|cmr) \d+,? box \d+|uss?n[vs] \w+)[,\s]+[a-z]po a[aep] \d{5})",
    ),
    rule(
        ADDRESS,
        "street-suffix",
        rf"(?<![\w.,])(?P<it>(?:{_NUMBER},? ){{1,2}}{_NAME} {_SUFFIX}\b\.?)(?=\W|$)",
        _no_date,
    ),
    rule(ADDRESS, "street", rf"(?<!\w)(?P<it>{_NAME} (?:street|avenue|lane|boulevard))\b"),
    rule(
        ADDRESS,
        "compound-street",
        rf"(?<![\w.,])(?P<it>(?:{_NUMBER} )?(?:{_CAP} ){{0,2}}{_WORD}{_COMPOUND}\.? {_NUMBER})(?!\w)",
        _no_date,
    ),
    rule(
        ADDRESS,
        "street-before",
        rf"(?<![\w.,])(?P<it>(?:{_NUMBER},? ){{0,2}}{_BEFORE} (?:{_SMALL} )?{_NAME}(?:,? {_NUMBER})?)(?!\w)",
        lambda match: any(char.isdigit() for char in match["it"]),
    ),
    rule(
        ADDRESS,
        "name-between-numbers",
        rf"(?<![\w.,$])(?P<it>{_NUMBER} {_NAME} {_NUMBER})(?![\w%]|[.,:]\d)",
        _no_date,
    ),
    rule(ADDRESS, "two-numbers", rf"(?<![\w.,$])(?P<it>\d{{1,6}} \d{{1,5}} {_NAME})(?!\w)", _no_date),
    rule(ADDRESS, "unit", rf"\b(?P<it>{_UNIT})(?!\w)"),
    rule(
        ADDRESS,
        "postcode-cue",
        r"\b(?:zip(?: ?code)?|post ?code|postal code)\b[\s:]*(?:is\b\s*)?"
        r"(?P<it>[\da-z]{2,5}(?:[ -][\da-z]{2,4})?)(?!\w)",
        lambda match: any(char.isdigit() for char in match["it"]),
    ),
    rule(ADDRESS, "postcode-british", r"\b(?P<it>[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})\b", case=True),
    rule(ADDRESS, "postcode-state", r"\b(?P<it>[A-Z]{2},? \d{5}(?:-\d{4})?)\b", case=True),
    rule(
        ADDRESS,
        "address-cue",
        r"\b(?:address(?: is)?|lives? (?:at|on)|resid(?:es|ing) at|located at|office is at|home is at)[\s:]+(?:it is )?"
        rf"(?P<it>(?:{_NUMBER}[ ,]+){{1,2}}{_NAME}|{_NAME} {_NUMBER})(?!\w)",
        _no_date,
    ),
)
_FOLLOWING = re.compile(
    rf"(?:[,.]? |,?\s*\n[\s?,]*|, )(?P<it>{_UNIT}|(?:nan\b|{_NAME}|[A-Z]{{2}})(?:,? \d{{4,6}})?|\d{{4,6}})(?![\w'’])",
    re.IGNORECASE,
)
_LEADING = re.compile(r"(?<![\w.,$])(?:the corner of )?\d{1,6}\s$|(?<!\w)the corner of $", re.IGNORECASE)
_AND_STREET = re.compile(rf" and (?:{_NUMBER} )?{_NAME}(?: {_SUFFIX})?\b\.?", re.IGNORECASE)
_MOST_PARTS = 5


def find_addresses(text: str) -> list[Span]:
    """Find addresses in a probed text: streets, boxes, units and postcodes, with the town and country after them.

    What follows is taken where it is written as an address goes on: on a new line, after a comma, or after a unit.
    """
    merged: list[Span] = []
    for span in scan(text, frozenset({ADDRESS}), _RULES):
        grown = _grown(text, span)
        if merged and grown.start <= merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, grown.end), ADDRESS, last.rule)
        else:
            merged.append(grown)
    return merged


def _grown(text: str, span: Span) -> Span:
    start, end = span.start, span.end
    if (leading := _LEADING.search(text, max(0, start - 24), start)) is not None:
        start = leading.start()
    if text[start:].lower().startswith("the corner of") and (other := _AND_STREET.match(text, end)) is not None:
        end = other.end()
    if span.rule.startswith("postcode"):
        return Span(start, end, ADDRESS, span.rule)
    for _ in range(_MOST_PARTS):
        following = _FOLLOWING.match(text, end)
        if following is None or not _goes_on(text[end : following.start("it")], text[start:end], following["it"]):
            break
        end = following.end()
    return Span(start, start + len(text[start:end].rstrip(" .,")), ADDRESS, span.rule)


def _goes_on(between: str, so_far: str, following: str) -> bool:
    """Tell whether a part belongs to the address before it: after a mere space only beside a unit, or as a number."""
    if "." in between:
        return False
    unit = re.compile(rf"{_UNIT}", re.IGNORECASE)
    return between != " " or following.isdigit() or unit.match(following) is not None or bool(unit.search(so_far))
