"""Questions that list their answers: "Options: salt; copper; tin."."""

from __future__ import annotations

import re
from collections.abc import Sequence

_OPTIONS = re.compile(r"\s*\bOptions:\s*(?P<listed>[^\n]+?)\.?\s*\Z")  # as `with_options` writes them
_MOST = 64


def with_options(question: str, options: Sequence[str]) -> str:
    """A question that lists the answers among which it lets choose; the same question where there are none."""
    return f"{question} Options: {'; '.join(options)}." if options else question


def without_options(question: str) -> tuple[str, tuple[str, ...]]:
    """A question without the answers that it lists, and these, if there are two."""
    found = _OPTIONS.search(question)
    options = list(dict.fromkeys(map(str.strip, found["listed"].split(";")))) if found else []
    options = [one for one in options if one]
    if found is None or len(options) < 2:
        return question, ()
    return question[: found.start()].rstrip(), tuple(options[:_MOST])
