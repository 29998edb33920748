"""Replacing found spans by placeholders or surrogates, the same way in every text of a bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.operators import ANCHOR, Bundle, Change
from fedrag_flwr.text.words import normalise_anchor

_TYPES = """
PERSON ORG ORGANIZATION GPE LOC LOCATION FAC NORP NRP EVENT PRODUCT WORK_OF_ART NAME TITLE
DATE DATE_TIME DATE_OF_BIRTH YEAR TIME AGE ADDRESS CONFIDENTIAL
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
    rule: str
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
        changes += [Change(field, hit.by.type, hit.by.rule, hit.by.masked) for hit in hits]
        prose.append(_apply(text, hits))
    anchors = []
    for text in bundle.anchors:
        hits = _hits(
            text,
            [(pattern, entry) for entry in replacements for pattern in (entry.anchor, entry.pattern)],
            protected(text),
        )
        changes += [Change(ANCHOR, hit.by.type, hit.by.rule, hit.by.masked) for hit in hits]
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
