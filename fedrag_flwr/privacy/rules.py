"""Rules that find spans by a pattern and a check: what identifiers, record numbers and addresses are told by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Accept = Callable[[re.Match[str]], bool]


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


def scan(text: str, types: frozenset[str], rules: Iterable[Rule]) -> list[Span]:
    """Find the spans of the wanted types in a probed text; the first rule to fire names a span."""
    found: list[Span] = []
    for entry in rules:
        if entry.type not in types:
            continue
        for match in entry.pattern.finditer(text):
            start, end = match.span("it")
            if any(span.start <= start and end <= span.end for span in found) or not entry.accept(match):
                continue
            found.append(Span(start, end, entry.type, entry.name))
    return sorted(found, key=lambda span: span.start)
