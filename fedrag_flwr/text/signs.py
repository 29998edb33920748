"""Signs that carry meaning, spelt so that they outlast a form without punctuation."""

from __future__ import annotations

import re

_BELOW_ZERO = re.compile(r"(?<![^\s(])[-−–](?=\d)")
_GRADE = re.compile(r"(?<![\w-])([A-Za-z]{1,2})([+−-])(?![\w+-])")  # blood groups, marks, ions
_NAMES = {"+": "plus", "-": "minus", "−": "minus"}


def spell_signs(text: str) -> str:
    """Join the sign before a number, and that after one or two letters, to it as a word: -5 is minus5, A+ is Aplus."""
    return _GRADE.sub(lambda found: found[1] + _NAMES[found[2]], _BELOW_ZERO.sub("minus", text))
