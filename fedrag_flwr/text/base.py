"""What the text pipeline gives: parsed passages and analysed questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.records import Fact, Passage

if TYPE_CHECKING:
    from spacy.tokens import Doc


@dataclass(frozen=True, slots=True)
class ParsedPassage:
    """A passage and the spaCy `Doc` of its text; sentence i of the passage is `doc[spans[i][0]:spans[i][1]]`."""

    passage: Passage
    doc: Doc
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    """A question's typed facts, its anchors, and what it expects as an answer.

    `answer_type` is one of PERSON, ORG, GPE, LOC, DATE, YEAR, CARDINAL, QUANTITY, MONEY, PERCENT, YESNO, NAME (a proper
    name of another kind), or "" when the wording leaves it open. `asks` is the noun of the question phrase ("which
    *rocket*", "how many *moons*") as a lemma, "" where it has none.
    """

    facts: tuple[Fact, ...]
    anchors: tuple[str, ...]
    answer_type: str
    asks: str = ""
