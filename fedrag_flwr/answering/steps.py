"""Two steps for a question that tells a thing by a name: first which thing it is, then the question with its name.

"Where was the designer of the Ossel Bridge born?" is "Who is the designer of the Ossel Bridge?" and "Where was Odile
Varro born?". Each step reads its own passages, half as many as a question in one step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedrag_flwr.answering.windows import content_words
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.base import Description
from fedrag_flwr.text.lexicon import is_person
from fedrag_flwr.text.segment import under_title

FIRST_STEP, SECOND_STEP = 0.55, 0.5  # least confidence of each; below it the question is read in one step
_MOST = 6  # words of a name
_ASIDE = re.compile(r", (?:which|who|whose|where|an?|the)\b.*", re.DOTALL)  # at the end of a sentence
_IS = re.compile(
    r".*\b(?:is|was|are|were)\b (?:called |named |known as |(?:held |found |located )?(?:in|at|on) )?(.+)", re.DOTALL
)
_REST = re.compile(r"[,;(]| and (?:is|was)\b| (?:in|on|from) \d")
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)


def first_question(inner: Description) -> str:
    """Which thing it is that a question tells by a name."""
    return f"{'Who' if is_person(inner.noun) else 'What'} is {inner.text}?"


def name_in(answer: str, question: str, units: Sequence[EvidenceUnit]) -> str:
    """The name that an answer to the first question gives, bare or at the end of a sentence.

    It is "" where that is no name, a name that the question holds already, or one that no passage tells.
    """
    name = _ASIDE.sub("", answer.strip().rstrip("."))
    if sentence := _IS.fullmatch(name):
        name = sentence[1]
    name = _REST.split(name, maxsplit=1)[0].strip(' "“”')
    words = content_words(name)
    if not words or len(words) > _MOST or not _ARTICLE.sub("", name, count=1)[:1].isupper():
        return ""
    told = any(words <= content_words(under_title(one.title, one.text)) for one in units)
    return name if told and not words <= content_words(question) else ""
