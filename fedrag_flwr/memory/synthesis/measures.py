"""Dates, amounts and their units in a phrase's tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import is_era, is_name_token
from fedrag_flwr.memory.synthesis.lexicon import APPROXIMATE, DETERMINERS, MONTHS, UNITS, VAGUE_NOUNS

if TYPE_CHECKING:
    from spacy.tokens import Token


def is_date(tokens: Sequence[Token]) -> bool:
    """Whether tokens are a calendar date or a year."""
    has_month = any(token.lower_ in MONTHS and token.text[:1].isupper() for token in tokens)
    years = [token for token in tokens if is_year(token) or is_era(token)]
    names = [token for token in tokens if is_name_token(token)]
    return ((has_month and any(token.text[:1].isdigit() for token in tokens)) or bool(years)) and not names


def is_year(token: Token) -> bool:
    """Whether a token is a year number, or a decade ("1990s")."""
    text = token.text.rstrip("s")
    if len(text) != 4 or not text.isdecimal() or not 1000 <= int(text) <= 2100:
        return False
    following = token.nbor(1) if token.i + 1 < len(token.doc) else None
    return following is None or singular_unit(following) == "" or token.ent_type_ == "DATE"


def singular_unit(token: Token) -> str:
    """Give the dimension that a unit token measures, "" when it is no unit."""
    lowered = token.lower_
    return UNITS.get(lowered) or UNITS.get(lowered.rstrip("s")) or UNITS.get(token.lemma_.lower()) or ""


def strip_article(tokens: Sequence[Token]) -> list[Token]:
    """Drop leading determiners, possessive pronouns and words of approximation."""
    kept = list(tokens)
    while len(kept) > 1 and (kept[0].lower_ in DETERMINERS or kept[0].lower_ in APPROXIMATE):
        kept.pop(0)
    return kept


def span_text(tokens: Sequence[Token]) -> str:
    """Give the exact text from the first to the last token."""
    if not tokens:
        return ""
    doc = tokens[0].doc
    return str(doc[tokens[0].i : tokens[-1].i + 1].text).strip()


def calendar_tokens(tokens: Sequence[Token]) -> list[Token]:
    """Keep the run of tokens that belongs to a date."""
    kept: list[Token] = []
    for token in tokens:
        fits = (
            token.lower_ in MONTHS
            or token.text[:1].isdigit()
            or is_era(token)
            or token.text in (",", "–", "-", "'s")
            or token.lower_
            in (
                "early",
                "late",
                "mid",
                "spring",
                "summer",
                "autumn",
                "winter",
                "to",
                "and",
                "of",
                "century",
                "christmas",
                "day",
                "mid-",
            )
        )
        if fits or (not kept and token.pos_ in ("ADJ", "NOUN")):
            kept.append(token)
        else:
            break
    while kept and (kept[-1].is_punct or kept[-1].lower_ in ("and", "to", "of")):
        kept.pop()
    return kept if any(token.text[:1].isdigit() for token in kept) else []


def measure_of(tokens: Sequence[Token]) -> tuple[str, list[Token], str] | None:
    """Find "number unit" at the end of a phrase, or behind "of": dimension, tokens and the noun that it measures."""
    for position, token in enumerate(tokens):
        dimension = singular_unit(token)
        if not dimension or position == 0:
            continue
        start = position
        while start > 0 and (
            tokens[start - 1].like_num
            or tokens[start - 1].text[:1].isdigit()
            or tokens[start - 1].lower_
            in (
                "and",
                "a",
                "half",
                "cubic",
                "square",
                "metric",
                "light",
                "per",
                "-",
                "astronomical",
                "solar",
                "earth",
                "sidereal",
                "million",
                "billion",
                "to",
                "–",
                "$",
                "us$",
            )
            or tokens[start - 1].lower_ in APPROXIMATE | {"nearly", "almost", "over", "than", "more", "less"}
        ):
            start -= 1
        number = [
            item
            for item in tokens[start : position + 1]
            if item.like_num or item.text[:1].isdigit() or item.lower_ in ("half",)
        ]
        if not number:
            continue
        before = list(tokens[:start])
        end = position + 1
        while (
            end < len(tokens)
            and (
                tokens[end].lower_ in ("per", "/", "an", "a", "second", "hour", "square", "celsius", "fahrenheit", "c")
                or singular_unit(tokens[end])
            )
            and end - position <= 3
        ):
            end += 1
        inner = strip_article(tokens[start:end])
        if not before or all(item.lower_ in DETERMINERS for item in before):
            return dimension, inner, ""
        if before[-1].lower_ == "of":
            noun = next((item for item in reversed(before[:-1]) if item.pos_ == "NOUN"), None)
            if noun is not None and noun.lemma_ not in VAGUE_NOUNS:
                modifiers = [
                    item.text
                    for item in before
                    if item.i < noun.i
                    and item.head == noun
                    and item.dep_ in ("amod", "compound", "poss")
                    and item.dep_ != "poss"
                ]
                return dimension, inner, " ".join([*modifiers, noun.text])
        return None
    return None
