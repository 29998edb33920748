"""Questions that ask to be told something, and the sentences that tell it.

No name, date or number answers how something spreads or what it is: the evidence's own sentences do, without a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedrag_flwr.inference.candidates import without_options
from fedrag_flwr.inference.support import forms
from fedrag_flwr.records import EvidenceUnit, as_line

_MOST_SENTENCES = 2
_FEWEST_NEW = 3  # words that a sentence says beyond the question; a heading says fewer
_KINDS = (
    "symptoms?|signs?|causes?|treatments?|therap(?:y|ies)|complications?|risks?|(?:risk )?factors?|stages?|changes"
    "|effects?|benefits?|functions?|reasons?|advantages?|disadvantages?|differences?|outlook|prognosis|purpose|roles?|process"
    "|meaning|definition|importance|significance|relationship"
)
_TOLD = re.compile(
    r"^\W*(?:"
    r"how (?:to|do|does|did|can|could|should|would|is|are|was|were)\b|why\b(?!.* die\b)"
    r"|what (?:causes?|caused|happens|to do)\b|who is at risk\b|do you (?:have|know)\b.*\binformation\b"
    rf"|what (?:is|are|was|were) the (?:[\w-]+ ){{0,3}}(?:{_KINDS})\b(?! of death)"
    r")"
    r"|(?:^|[.,;:] )(?:please |can you |could you )*"
    r"(?:explain|describe|define|discuss|compare|tell me (?:about|how|why))\b",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(r"^\W*what (?:is|are|was|were)(?: \(are\))? (?P<the>the )?(?P<thing>[^?]+?)[ ?]*$", re.IGNORECASE)
_PART = re.compile(r"\b(?:of|in|for|to|by|on|at|from|with|between|called|named|known)\b", re.IGNORECASE)
_NARROWED = re.compile(
    r",|['’]s\b|\b(?:that|which|who|whose|whom|where|when|most|first|last|only|\w{2,}est)\b", re.IGNORECASE
)


def asks_to_be_told(question: str) -> bool:
    """Whether sentences answer a question, and not a name, a date, a number, yes or no.

    "What is X" does unless a part or a property of X is asked for ("the capital of X") or one thing among others ("the
    first X", "X that").
    """
    if _TOLD.search(question):
        return True
    asked = _WHAT_IS.match(question)
    return asked is not None and not (
        _NARROWED.search(asked["thing"]) or (asked["the"] and _PART.search(asked["thing"]))
    )


def told(question: str, units: Sequence[EvidenceUnit]) -> str:
    """The two sentences nearest to a question that asks to be told something, nearest first; "" for any other question.

    Sentences that hardly say more than the question are left out, and what is more than a line is cut. A question that
    lists its answers asks to choose.
    """
    if without_options(question)[1] or not asks_to_be_told(question):
        return ""
    known = set(forms(question))
    telling = [one for one in units if len(set(forms(one.text)) - known) >= _FEWEST_NEW]
    nearest = sorted(telling, key=lambda one: -one.score)[:_MOST_SENTENCES]
    return as_line(" ".join(dict.fromkeys(one.text.strip() for one in nearest)))
