"""Anchors: the normal form in which two texts name the same thing equally.

FD-RAG's eq. 12 compares a question's with those of a hyperedge's facts; here with those of a memory's own question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from fedrag_flwr.records import Fact
from fedrag_flwr.text.normalise import normalise_line

_ACCENTS = re.compile(r"[\u0300-\u036f]")
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee"}
_MONEY = re.compile(r"(?:\b(?:us|a|c|nz|hk))?([$€£¥₹])\s?(\d[\d.]*(?: (?:thousand|million|billion|trillion)\b)?)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DOTTED = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,}(?!\w)")
_POSSESSIVE = re.compile(r"(?<=[^\W\d_])'s\b|(?<=s)'(?!\w)")
_ARTICLE = re.compile(r"(?:a|an|the)\s+(?=\S)")
_LETTERS = re.compile(r"(?<!\w)(?:[a-z] )+[a-z](?!\w)")
_SKIPPED = frozenset({"ORDINAL"})


def normalise_anchor(text: str) -> str:
    """Bring a span of text to the form in which equal things are equal.

    Case, accents, articles, possessives, punctuation and spaces go; thousands separators go; ``$5`` is ``5 dollar``
    and ``5%`` is ``5 percent``; the last word loses a plural ending. Applied twice it changes nothing more.
    """
    for _ in range(8):
        once = _normalise(text)
        if once == text:
            break
        text = once
    return text


def anchors_of(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Give the sorted unique anchors of facts; ordinals are too common to be anchors."""
    return tuple(sorted({fact.anchor for fact in facts if fact.anchor and fact.type not in _SKIPPED}))


def _normalise(text: str) -> str:
    text = normalise_line(text).casefold()
    text = unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    text = text.replace("’", "'").replace("‘", "'").replace("`", "'")
    text = _THOUSANDS.sub("", text)
    text = _MONEY.sub(lambda found: f" {found[2]} {_CURRENCIES[found[1]]} ", text)
    text = re.sub(r"(?<=\d)\s?%", " percent", text).replace("per cent", "percent").replace("&", " and ")
    text = _DOTTED.sub(lambda found: found[0].replace(".", "") + " ", text)
    text = _POSSESSIVE.sub("", text)
    text = re.sub(r"(?<=\w)'(?=\w)", "", text)
    text = re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w.]|_", " ", text)
    text = " ".join(text.split())
    while article := _ARTICLE.match(text):
        text = text[article.end() :]
    text = _LETTERS.sub(lambda found: found[0].replace(" ", ""), text)
    head, space, last = text.rpartition(" ")
    return f"{head}{space}{_singular(last)}"


def _singular(word: str) -> str:
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
