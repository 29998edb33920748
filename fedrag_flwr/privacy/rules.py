"""Rules that find spans by a pattern and a check: what identifiers, record numbers and addresses are told by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Accept = Callable[[re.Match[str]], bool]

OF_WHOM = (
    r"(?P<whom>\bof\s(?:[^.;:!?\n]|(?<=\b[a-z])\.|(?<=\b[djms][rst])\.|(?<=\bmrs)\.|(?<=\bprof)\.){1,80}?"
    r"\s(?:is|was)\b[\s:#(,]*)?"
)
"""After the words of a cue: of whom it is told, as sources write it ("The mrn of Dr. Lena Lopez is 48217.")."""

MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"

_SURE = re.compile(
    r"\b(?:mrn|record|nhs|passport|policy|account|numbers?|nr|no|num|id|code|identifier|ssn|tele?phone|phone|tel|"
    r"mobile|fax|pager|hotline|landline)\b",
    re.IGNORECASE,
)
_WORD_AFTER = re.compile(r"\s[a-z]")
_MOST_CUTS = 8  # of a match that is refused: what it took in too much is a word or a date


@dataclass(frozen=True, slots=True)
class Span:
    """A found span of a probed text, its type and the rule that fired."""

    start: int
    end: int
    type: str
    rule: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What the group ``it`` of a pattern matches is of a type, where the check accepts the match."""

    type: str
    name: str
    pattern: re.Pattern[str]
    accept: Accept


def always(match: re.Match[str]) -> bool:
    """Accept every match."""
    return True


def rule(kind: str, name: str, pattern: str, accept: Accept = always, *, case: bool = False) -> Rule:
    """Make a rule; its pattern ignores case unless `case` says otherwise."""
    return Rule(kind, name, re.compile(pattern, 0 if case else re.IGNORECASE), accept)


def is_count(match: re.Match[str]) -> bool:
    """Tell "in that case, 4500 people" and "the staff of the mill is 1200 men" from a number beside its label.

    The rule's pattern has `OF_WHOM` in it.
    """
    label = match.string[match.start() : match.start("whom" if match["whom"] else "it")].rstrip()
    is_loose = bool(match["whom"]) or label.endswith(("(", ","))
    return is_loose and not _SURE.search(label) and _WORD_AFTER.match(match.string, match.end()) is not None


def scan(text: str, types: frozenset[str], rules: Iterable[Rule]) -> list[Span]:
    """Find the spans of the wanted types in a probed text; the first rule to fire names a span."""
    found: list[Span] = []
    for entry in rules:
        if entry.type not in types:
            continue
        for start, end in _spans(entry, text):
            if not any(span.start <= start and end <= span.end for span in found):
                found.append(Span(start, end, entry.type, entry.name))
    return sorted(found, key=lambda span: span.start)


def _spans(entry: Rule, text: str) -> Iterator[tuple[int, int]]:
    """What a rule finds in a text, from left to right and apart."""
    at = 0
    while (match := entry.pattern.search(text, at)) is not None:
        if (accepted := _accepted(entry, text, match)) is not None:
            yield accepted.span("it")
            at = accepted.end()
        else:  # its first part may have been another number
            at = text.find(" ", match.start("it"), match.end()) + 1 or match.end()


def _accepted(entry: Rule, text: str, match: re.Match[str]) -> re.Match[str] | None:
    """The match, or where its check refuses it the longest one that ends at a space within it and is accepted."""
    found: re.Match[str] | None = match
    start, cut = match.span("it")
    for _ in range(_MOST_CUTS):
        if found is not None and entry.accept(found):
            return found
        cut = text.rfind(" ", start, cut)
        if cut < 0:
            break
        found = entry.pattern.match(text, match.start(), cut)
    return None
