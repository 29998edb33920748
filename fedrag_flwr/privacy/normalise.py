"""Normal forms of text and names, so that nothing hides behind invisible characters and other forms of a letter.

A letter of another script that looks alike is another letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

from fedrag_flwr.text.words import plain_breaks

# Characters that show nothing but are not of the categories Cf and Cc.
_INVISIBLE = frozenset(
    chain(
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0),
        range(0x180B, 0x1810),
        range(0xFE00, 0xFE10),
        range(0xFFF0, 0xFFF9),
        range(0xE0000, 0xE1000),
    )
)
# Marks made for Latin, Greek and Cyrillic letters. Where NFC has no letter for both, they split a name in two.
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_END_OF_ACCENTED = "\u0530"  # Latin, Greek and Cyrillic lie before it
_KEPT_CONTROLS = frozenset("\n\t")
_PLAIN = re.compile(r"[\n\t -~]*\Z")
_SPACE = re.compile(r"\s+")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_POSSESSIVE = re.compile(r"(?:'[sS]?)+$")
_MOST_ROUNDS = 8


def clean(text: str) -> str:
    """Compose a text (NFC), spell out Latin ligatures, drop invisible characters and the marks that did not compose."""
    if _PLAIN.match(text):
        return text
    composed = _MARKS.sub("", unicodedata.normalize("NFC", plain_breaks(text)))
    kept: list[str] = []
    for char in composed:
        if _is_invisible(char) or (kept and unicodedata.category(char) in ("Mn", "Me") and _is_accented(kept[-1])):
            continue  # a mark of another script on one of these letters splits a name as well
        kept.append(unicodedata.normalize("NFKC", char) if "ﬀ" <= char <= "ﬆ" else char)
    return "".join(kept)


def probe(text: str) -> str:
    """Fold a cleaned text to plain characters (NFKC, no accents, ASCII digits, hyphens and spaces), one for one."""
    if _PLAIN.match(text):
        return text
    return "".join(_fold(char) for char in text)


def normal_name(name: str) -> str:
    """Give the normal form of a name: cleaned, folded, without case, possessive and surrounding punctuation."""
    for _ in range(_MOST_ROUNDS):
        folded = _SPACE.sub(" ", probe(clean(name)))
        once = _EDGES.sub("", _POSSESSIVE.sub("", _EDGES.sub("", folded))).casefold()
        if once == name:
            break
        name = once
    return name


def normal_names(names: Iterable[str]) -> frozenset[str]:
    """Give the normal forms of names, leaving out blank ones and comment lines that begin with ``#``."""
    found = (normal_name(name) for name in names if not name.lstrip().startswith("#"))
    return frozenset(name for name in found if name)


def _is_invisible(char: str) -> bool:
    category = unicodedata.category(char)
    return category == "Cf" or (category == "Cc" and char not in _KEPT_CONTROLS) or ord(char) in _INVISIBLE


def _is_accented(char: str) -> bool:
    """Tell a letter that marks do not change into another: Latin, Greek or Cyrillic, with or without an accent."""
    return unicodedata.normalize("NFD", char)[0] < _END_OF_ACCENTED


def _fold(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Pd" or char == "\u2212":
        return "-"
    if char in "\u2018\u2019\u02bc":
        return "'"
    folded = unicodedata.normalize("NFKC", char)
    if len(folded) != 1:
        return " " if category == "Zs" else char
    base = unicodedata.normalize("NFD", folded)[0]
    return base if base < _END_OF_ACCENTED else folded  # elsewhere marks tell letters, or syllables, apart
