"""Signs that carry meaning, spelt so that they outlast a form without punctuation."""

from __future__ import annotations

import re

_BELOW_ZERO = re.compile(r"(?<![^\s(])(?<!\d\s)[-−–](?=\d)")
_SUSPENDED = r",? (?:and |or )?\w+-\w"  # "hepatitis B- or C-infected"
_GRADE = re.compile(rf"(?<![\w-])([A-Z]{{1,2}})([+−-])(?![\w+-]|{_SUSPENDED})")  # blood groups, marks, ions
_NAMES = {"+": "plus", "-": "minus", "−": "minus"}


def spell_signs(text: str) -> str:
    """Join the sign before a number, and that after one or two capitals, to it as a word: -5 is minus5, A+ is Aplus."""
    return _GRADE.sub(lambda found: found[1] + _NAMES[found[2]], _BELOW_ZERO.sub("minus", text))
