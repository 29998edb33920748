"""Replacing found spans by placeholders or surrogates, the same way in every text of a bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.operators import ANCHOR, Bundle, Change
from fedrag_flwr.text.anchors import normalise_anchor

_REPEATED = re.compile(r"(\[[A-Z_]+\])(?:\s+\1)+")
PLACEHOLDER = re.compile(r"\[[A-Z]+(?:_[A-Z]+)*\]")

Range = tuple[int, int]
Protected = Callable[[str], Sequence[Range]]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What matches `pattern` becomes `value`; `masked` says that the value is a placeholder.

    `anchor` is the pattern for anchors, which are in the text pipeline's normal form, `lower` that for texts in lower
    case where it is another: a capital tells no name from a word there.
    """

    pattern: re.Pattern[str]
    anchor: re.Pattern[str]
    value: str
    type: str
    rule: str
    masked: bool
    lower: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    by: Replacement


def placeholder(kind: str) -> str:
    """Give the placeholder of a type."""
    return f"[{kind}]"


def is_lower(text: str) -> bool:
    """Tell whether a text has letters in lower case only, placeholders left out."""
    return PLACEHOLDER.sub("", text).islower()


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
        lower = is_lower(text)
        patterns = [((lower and entry.lower) or entry.pattern, entry) for entry in replacements]
        hits = _hits(text, patterns, protected(text))
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
