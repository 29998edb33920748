"""Quoting: questions that ask for more than a name or a number are answered in the documents' own words.

A small model that explains in its own words is often wrong where the passage before it is right; its sentences stand in
no document, and whoever reads them has to check each. A quote costs no call, and its citation bears every word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.answering.logistic import chances
from fedrag_flwr.answering.sentences import RankedText, describe, shipped_scorer

SENTENCES, WORDS = 3, 100  # most of a quote; one long sentence may have more, the steps of a procedure are all given
_BESIDE = 0.5  # what a further sentence adds to the best one's chance
_PASSAGE = 0.2  # what the passage's log-odds add
_TELLS = 0.15  # what the log-odds that a passage tells an answer add
_OPENS_A_LIST = 0.5  # what a quote loses that ends where a list begins

_AUXILIARY = r"(?:do|does|did|is|are|was|were|can|could|should|will|would|has|have|had|must|may|might)\b"
_TITLED = re.compile(r"(?<=\w )(?:How|Why)\b")  # within a question these begin a title
_HOW_WHY = re.compile(
    r"\b(?:why|how(?! (?:many|much|far|long|old|tall|high|deep|wide|fast|big|large|heavy|often)\b)"
    rf"(?! (?!{_AUXILIARY})\w+ {_AUXILIARY}))\b",  # "how close did", "how late is"
    re.IGNORECASE,
)
_STEPS = re.compile(r"\W*how (?:do|does|can|should|must|to)\b", re.IGNORECASE)
_OPEN = re.compile(
    r"\W*(?:"
    r"(?:describe|explain|define|summari[sz]e|outline|tell (?:me|us) (?:about|what)|do you have information)\b"
    r"|what (?:causes|happens|(?:should|must|can|do|does) (?:i|we|you|one|people|patients|someone)|if|to)\b"
    r"|what are (?:the |some |its |their )?(?:[\w-]+ )?[\w-]+s\b"
    r")",
    re.IGNORECASE,
)
_DEFINES = re.compile(r"\W*(?:what|who) (?:is|are|was|were) (?:an? )?(?!the\b|an?\b)(?P<thing>[^?]+)", re.I)
_LINKS = re.compile(
    r"\b(?:of|in|for|by|to|on|at|from|with|per|that|which|who|whose|where|when|or|called|\w+ed|[\w.]+['’]s"
    r"|paid|made|sold|built|held|kept|given|taken|told|found|sent|worn|written|bought|brought|spent|done)\b"
)
_ASIDE = re.compile(r"\([^()]*\) ?")  # a remark in brackets asks nothing
_LONGEST_NAME = 7  # words of what is defined


@dataclass(frozen=True, slots=True)
class Quote:
    """Sentences of one passage that stand together."""

    passage: int  # its place among the ranked passages
    text: str  # the sentences
    chance: float  # how likely the best of them bears an answer, in [0, 1]


def is_open(question: str) -> bool:
    """Whether a question asks how, why, what to do, for several things, or what something is."""
    question = _TITLED.sub("", _ASIDE.sub("", question))
    if _HOW_WHY.search(question) or _OPEN.match(question):
        return True
    found = _DEFINES.match(question)
    thing = found["thing"].strip() if found else ""
    return bool(thing) and len(thing.split()) <= _LONGEST_NAME and not _LINKS.search(thing)


def best_quote(question: str, ranked: Sequence[RankedText], told: Sequence[float] = ()) -> Quote | None:
    """The sentences of a ranked passage that bear an answer best; None where there is nothing to quote.

    `told` are the log-odds that each passage tells an answer; without them all passages are alike in this.
    """
    found = describe(question, ranked)
    if not found.places:
        return None
    of = dict(zip(found.places, chances(shipped_scorer().odds(found.values)).tolist(), strict=True))
    spans = [
        (place, range(first, last))
        for place, one in enumerate(ranked)
        for first in range(_heads(one.sentences), len(one.sentences))
        if not one.sentences[first].rstrip().endswith("?")  # as an FAQ's do: what is asked is no answer
        for last in range(first + 1, min(first + SENTENCES, len(one.sentences)) + 1)
        if last == first + 1 or _words(one.sentences[first:last]) <= WORDS
    ]

    if not spans:
        return None

    def worth(span: tuple[int, range]) -> float:
        place, rows = span
        own = [of[place, row] for row in rows]
        torn = ranked[place].sentences[rows[-1]].rstrip().endswith(":")
        tells = _TELLS * told[place] if told else 0.0
        return float(
            max(own)
            + _BESIDE * (math.fsum(own) - max(own))
            + _PASSAGE * ranked[place].bounded_odds
            + tells
            - _OPENS_A_LIST * torn
        )

    place, rows = max(spans, key=worth)
    chance, sentences, end = max(of[place, row] for row in rows), ranked[place].sentences, rows.stop
    while _STEPS.match(question) and end < len(sentences) and _words(sentences[rows.start : end + 1]) <= WORDS:
        end += 1  # the last step of a procedure counts as much as the first
    return Quote(place, " ".join(sentences[rows.start : end]), chance)


def _words(sentences: Sequence[str]) -> int:
    return sum(len(text.split()) for text in sentences)


def _heads(sentences: Sequence[str]) -> int:
    """1 where a passage begins with a line that heads it, as plain texts do: it tells what follows, and no answer.

    A table's row and an item of a list are none. A line alone is one where it is in capitals.
    """
    first = sentences[0].rstrip(" )\"'”’") if sentences else ""
    heads = "; " not in first and first[:1].isalpha() and not first.endswith((".", "!", "?", ":", ";"))
    return int(heads and (len(sentences) > 1 or first.isupper()))
