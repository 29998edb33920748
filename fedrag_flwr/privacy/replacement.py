"""Replacing what was found by placeholders or surrogates, however it is written, in every text of a bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.operators import ANCHOR, Bundle, Change
from fedrag_flwr.privacy.word_lists import STOP_WORDS, TITLES, is_ordinary
from fedrag_flwr.text.words import normalise_anchor

_TYPES = """
PERSON ORG ORGANIZATION GPE LOC LOCATION FAC NORP NRP EVENT PRODUCT WORK_OF_ART NAME TITLE
DATE DATE_TIME DATE_OF_BIRTH YEAR TIME AGE ADDRESS
EMAIL URL PHONE IBAN CREDIT_CARD IP MAC SSN ID MEDICAL_RECORD INSURANCE DEVICE_ID
"""
PLACEHOLDER_TYPES = frozenset(_TYPES.split())
"""The types that operators mask: other words in brackets, such as "[KOWALSKA]", hide nothing."""

PLACEHOLDER = re.compile(rf"\[(?:{'|'.join(sorted(PLACEHOLDER_TYPES))})\]")
_REPEATED = re.compile(rf"({PLACEHOLDER.pattern})(?:\s+\1)+")

Range = tuple[int, int]
Protected = Callable[[str], Sequence[Range]]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What matches `pattern` becomes `value`; `masked` says that the value is a placeholder.

    `anchor` is the pattern for anchors, which are in the text pipeline's normal form, `lower` and `upper` those for
    texts in lower and in upper case where they are others: a capital tells no name from a word there.
    """

    pattern: re.Pattern[str]
    anchor: re.Pattern[str]
    value: str
    type: str
    masked: bool
    lower: re.Pattern[str] | None = None
    upper: re.Pattern[str] | None = None

    def within(self, bare: str) -> re.Pattern[str]:
        """The pattern for a text, given without its placeholders."""
        other = self.lower if bare.islower() else self.upper if bare.isupper() else None
        return other or self.pattern


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    by: Replacement


def placeholder(kind: str) -> str:
    """Give the placeholder of a type."""
    return f"[{kind}]"


def nowhere(text: str) -> Sequence[Range]:
    """Protect no part of a text."""
    return ()


def rewrite(bundle: Bundle, replacements: Sequence[Replacement], protected: Protected = nowhere) -> Bundle:
    """Apply replacements to every text of a bundle at once; where they overlap, the longest one wins the whole range.

    An anchor in which something was masked is left out: a placeholder matches nothing and only weakens the rest.
    """
    if not replacements:
        return bundle
    changes = list(bundle.changes)
    prose = []
    for field, text in enumerate(bundle.prose):
        bare = PLACEHOLDER.sub("", text)
        hits = _hits(text, [(entry.within(bare), entry) for entry in replacements], protected(text))
        changes += [Change(field, hit.by.type, hit.by.masked) for hit in hits]
        prose.append(_apply(text, hits))
    anchors = []
    for text in bundle.anchors:
        hits = _hits(
            text,
            [(pattern, entry) for entry in replacements for pattern in (entry.anchor, entry.pattern)],
            protected(text),
        )
        changes += [Change(ANCHOR, hit.by.type, hit.by.masked) for hit in hits]
        if not any(hit.by.masked for hit in hits):
            anchors.append(normalise_anchor(_apply(text, hits)) if hits else text)
    return replace(bundle, prose=tuple(prose), anchors=tuple(dict.fromkeys(anchors)), changes=tuple(changes))


def _hits(
    text: str, replacements: Sequence[tuple[re.Pattern[str], Replacement]], protected: Sequence[Range]
) -> list[_Hit]:
    folded = probe(text)
    kept_out = [*protected, *(match.span() for match in PLACEHOLDER.finditer(folded))]
    found = [
        _Hit(*match.span(), replacement)
        for pattern, replacement in replacements
        for match in pattern.finditer(folded)
        if match.end() > match.start()
        and not any(start <= match.start() and match.end() <= end for start, end in kept_out)
    ]
    found.sort(key=lambda hit: (hit.start, -hit.end))
    merged: list[_Hit] = []
    for hit in found:
        if merged and hit.start < merged[-1].end:
            last = merged[-1]
            longest = last.by if last.end - last.start >= hit.end - hit.start else hit.by
            merged[-1] = _Hit(last.start, max(last.end, hit.end), longest)
        else:
            merged.append(hit)
    return merged


def _apply(text: str, hits: Sequence[_Hit]) -> str:
    if not hits:
        return text
    pieces = []
    at = 0
    for hit in hits:
        pieces += [text[at : hit.start], hit.by.value]  # never in the case of what it replaces: that would tell of it
        at = hit.end
    return _REPEATED.sub(r"\1", "".join([*pieces, text[at:]]))


# --- how names and identifiers are written ------------------------------------------------------

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


def name_replacement(name: str, value: str, kind: str, *, masked: bool) -> Replacement:
    """Put a value in the place of a name, or of one word of it, in texts and anchors."""
    patterns = surface_pattern(name), anchor_pattern(name)
    return Replacement(*patterns, value, kind, masked, lower_pattern(name), upper_pattern(name))


def identifier_mask(surface: str, kind: str) -> Replacement:
    """Mask an identifier wherever it is written."""
    patterns = identifier_pattern(surface), identifier_anchor(surface)
    return Replacement(*patterns, placeholder(kind), kind, masked=True)
