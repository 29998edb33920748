"""Postal addresses: streets with numbers, units, boxes and postcodes, and the places that follow them."""

from __future__ import annotations

import re
from functools import lru_cache

from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.persons import is_ordinary
from fedrag_flwr.privacy.rules import OF_WHOM, Span, is_count, rule, scan
from fedrag_flwr.privacy.word_lists import STOP_WORDS, TITLES
from fedrag_flwr.text.words import normalise_anchor

_REMEMBERED = 8_192  # names recur from item to item, and compiling is slow
_SHORT = 2  # letters of a name that is as often something else in small letters, or in large ones alone: "ng", "NG"
_LONG = 7  # letters and digits of an identifier that is one whatever letter follows
_TITLES = "|".join(sorted(TITLES))
_TITLE = rf"(?:(?i:\b(?:{_TITLES})\b)\.?\s+)?"
_BEGIN, _END = r"(?<![^\W_])", r"(?![^\W_])"  # of a word, also within "MARIA_LOPEZ"
_INITIALS = rf"{_BEGIN}(?:(?-i:[A-Z])\.\s?){{0,3}}"


@lru_cache(maxsize=_REMEMBERED)
def surface_pattern(surface: str) -> re.Pattern[str]:
    """Match a surface form as whole words in any case, with any title before and any white space between its words.

    A single everyday word that is also a name is matched with a capital only; `lower_pattern` is for texts without any.
    """
    words = probe(surface).split()
    if len(words) == 1:
        return part_pattern(words[0])
    spaced = r"[\s,._-]{1,3}".join(map(_word, words))
    return re.compile(rf"{_TITLE}{_BEGIN}{spaced}{_END}", re.IGNORECASE)


@lru_cache(maxsize=_REMEMBERED)
def part_pattern(part: str) -> re.Pattern[str]:
    """Match one word of a name, with any title and initials before it; of two letters as written, or with a capital."""
    word = probe(part).rstrip(".,")
    ordinary = is_ordinary(word)
    as_written = ordinary or is_short(word)
    forms = {word.title(), word.upper() if ordinary else word} if as_written else {word}
    either = "|".join(sorted(map(re.escape, forms)))
    return re.compile(rf"{_TITLE}{_INITIALS}{_BEGIN}(?:{either}){_END}", 0 if as_written else re.IGNORECASE)


@lru_cache(maxsize=_REMEMBERED)
def lower_pattern(name: str) -> re.Pattern[str] | None:
    """Match a name that is short or an everyday word in a text in lower case, with any title before; None for others.

    A function word only where it was found in lower case, too: "US" in one text says nothing of "us" in another.
    """
    word = probe(name).rstrip(".,")
    if not (is_ordinary(word) or is_short(word)) or (word.casefold() in STOP_WORDS and not word.islower()):
        return None
    return re.compile(rf"{_TITLE}{_BEGIN}{re.escape(word.lower())}{_END}")


@lru_cache(maxsize=_REMEMBERED)
def upper_pattern(name: str) -> re.Pattern[str] | None:
    """Match a short name in a text in upper case, with any title before it; None for other names."""
    word = probe(name).rstrip(".,")
    return re.compile(rf"{_TITLE}{_BEGIN}{re.escape(word.upper())}{_END}") if is_short(word) else None


def is_short(word: str) -> bool:
    """Tell whether a name has so few letters that it is one only as it is written."""
    return len(word) <= _SHORT


@lru_cache(maxsize=_REMEMBERED)
def anchor_pattern(surface: str) -> re.Pattern[str]:
    """Match a surface form in anchors: as a whole anchor, where the last word lost its plural ending, or inside one."""
    ending = normalise_anchor(surface)
    inside = normalise_anchor(f"{surface} 0").removesuffix(" 0")
    either = "|".join(re.escape(form) for form in sorted({ending, inside}) if form)
    return re.compile(rf"(?<!\w)(?:{either})(?!\w)" if either else r"(?!)", re.IGNORECASE)


def identifier_pattern(surface: str) -> re.Pattern[str]:
    """Match an identifier with the same letters and digits, however they are separated."""
    as_it_is = re.compile(re.escape(surface), re.IGNORECASE)
    if "@" in surface or ("/" in surface and any(map(str.isalpha, surface))):
        return as_it_is  # an address may begin inside a long word
    spread = re.compile(rf"(?:{_lead(surface)})?{_spread(surface)}", re.IGNORECASE)
    return spread if spread.fullmatch(surface) else as_it_is  # "a__b (at) x.org": more stands between than elsewhere


def identifier_anchor(surface: str) -> re.Pattern[str]:
    """Match an identifier in anchors, which keep little of its punctuation."""
    return re.compile(_spread(surface), re.IGNORECASE)


def _lead(surface: str) -> str:
    return re.escape(surface[: len(surface) - len(surface.lstrip("+("))])


def _spread(surface: str) -> str:
    told = [char for char in surface if char.isalnum()]
    beyond = r"\d" if len(told) >= _LONG and told[-1].isdigit() else r"\w"  # "5551234567office"
    spread = r"[^\w\n]{0,3}_?".join(map(re.escape, told))
    return rf"(?<!\w){spread}(?!{beyond})"


def _word(word: str) -> str:
    bare = re.escape(word.rstrip(".,"))
    return rf"{bare}[.,]?" if word[-1] in ".," else bare


RECORD_TYPES = ("MEDICAL_RECORD", "INSURANCE", "DEVICE_ID")

_FILLER = rf"[\s:#(,]*(?:(?:number|no\.?|nr|num|id|code|identifier|is|was|of)\b[\s:#.(,]*|[#:=(,]\s*){{0,4}}{OF_WHOM}"
_RECORD_NUMBER = r"(?P<it>(?:[a-z]{1,6}[-/ ]?)?\d[\da-z]*(?:[-/.][\da-z]+)*)(?![\w])"
_MEDICAL = (
    r"\b(?:mrn|medical record|health record|patient(?: record| file| chart)?(?= ?(?:id|no|nr|num|#|identifier))|"
    r"chart|hospital (?:number|no|id)|nhs|case file|accession|specimen|encounter)"
)
_INSURED = (
    r"\b(?:(?:health |medical )?insurance|policy|medicare|medicaid|mbi|member(?:ship)?|subscriber|beneficiary|"
    r"health plan|group (?:number|no)|claim)"
)
_DEVICE = (
    r"\b(?:imei|meid|udi|udid|device|serial|s/n|pacemaker|implant|pump|monitor|scanner|machine)"
    r"(?= ?(?:id\b|no\b|nr\b|num|serial|identifier|#|:|s/n|\(?\d))"
)


def _telling(match: re.Match[str]) -> bool:
    """Accept what has at least four digits, is no year and counts nothing."""
    digits = sum(char.isdigit() for char in match["it"])
    return digits >= 4 and re.fullmatch(r"(?:1[89]|20)\d\d", match["it"]) is None and not is_count(match)


_RECORD_RULES = (
    rule("MEDICAL_RECORD", "record-number", rf"(?:{_MEDICAL}\b{_FILLER}|\b(?=mrn\d)){_RECORD_NUMBER}", _telling),
    rule("INSURANCE", "insurance-number", rf"{_INSURED}\b{_FILLER}{_RECORD_NUMBER}", _telling),
    rule("INSURANCE", "medicare-beneficiary", r"\b(?P<it>[1-9][a-z][a-z\d]\d-?[a-z][a-z\d]\d-?[a-z]{2}\d{2})\b"),
    rule("DEVICE_ID", "device-identifier", rf"{_DEVICE}(?:[\s:#]*s/n\b)?{_FILLER}{_RECORD_NUMBER}", _telling),
    rule("DEVICE_ID", "unique-device-identification", r"(?P<it>\(01\)\d{14}(?:\(\d{2}\)[\w-]{1,20}){0,4})"),
)


def find_record_numbers(text: str) -> list[Span]:
    """Find the numbers of records, insurances and devices in a probed text."""
    return scan(text, frozenset(RECORD_TYPES), _RECORD_RULES)


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
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_UNIT = rf"(?:suite|ste|apt|apartment|unit|flat|floor|room|p\.? ?o\.? box|box)\.? #?{_NUMBER}"


def _no_date(match: re.Match[str]) -> bool:
    return re.search(rf"\b{_MONTH}\b", match["it"], re.IGNORECASE) is None


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
