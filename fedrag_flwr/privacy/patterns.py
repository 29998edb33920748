"""Patterns that match a found name or identifier wherever and however it is written again."""

from __future__ import annotations

import re
from functools import lru_cache

from fedrag_flwr.privacy.given_names import TITLES
from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.persons import is_ordinary
from fedrag_flwr.privacy.stop_words import STOP_WORDS
from fedrag_flwr.text.anchors import normalise_anchor

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
