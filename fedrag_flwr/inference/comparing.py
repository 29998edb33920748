"""Questions that set two things side by side: which alternative a typed fact of each decides for."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LEAST = re.compile(
    r"\b(?:first|earlier|earliest|older|oldest|before|elder|longer ago|lower|fewer|less|smaller|shorter)\b", re.I
)
_MOST = re.compile(
    r"\b(?:later|latest|last|younger|youngest|newer|newest|recently|recent|more|most|higher|highest|larger|largest|bigger|"
    r"greater|taller|longer(?! ago)|after|second)\b",
    re.I,
)
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")
_DYING = re.compile(r"\b(?:die[ds]?|dead|death|pass(?:ed)? away)\b", re.I)
_ENDED = re.compile(
    r"(?:[-–—]|\b(?:died|death|killed|assassinated|executed)\b)[^().;]{0,80}?\b(1[0-9]{3}|20[0-9]{2})\b", re.I
)
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_COUNTING = re.compile(
    r"\b(?:(?:more|most)(?! recent)|higher|highest|larger|largest|bigger|greater|taller|longer(?! ago)|longest|lower|"
    r"fewer|less|smaller|shorter)\b",
    re.I,
)


def decided(question: str, told: Sequence[Sequence[str]]) -> int | None:
    """Which of two alternatives a year or a number of each decides for; None where the texts do not tell.

    Parameters
    ----------
    question
        With the word that compares: "first", "older", "more".
    told
        For each of two alternatives the sentences about it, the likeliest first.
    """
    most, least = bool(_MOST.search(question)), bool(_LEAST.search(question))
    if len(told) != 2 or most == least:
        return None
    values = [_value(question, texts) for texts in told]
    if values[0] is None or values[1] is None or values[0] == values[1]:
        return None
    return int((values[0] < values[1]) == most)


def _value(question: str, texts: Sequence[str]) -> float | None:
    """The first number that sentences tell, a year where the question does not compare amounts."""
    for text in texts:
        if _COUNTING.search(question):
            found = [n.replace(",", "") for n in _NUMBER.findall(text) if not _YEAR.fullmatch(n)]
        else:
            found = _years(question, text)
        if found:
            return float(found[0])
    return None


def _years(question: str, text: str) -> list[str]:
    """The years that a sentence tells, of someone's life that in which the question asks for its end or beginning."""
    if _DYING.search(question):
        return _ENDED.findall(text)
    return _YEAR.findall(text)
