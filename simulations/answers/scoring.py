"""Whether an answer is right: by short golds, by the phrases that it must hold, by options, or by a long gold."""

from __future__ import annotations

from typing import Literal

from fedrag_flwr.answering.prompts import declines
from fedrag_flwr.answering.windows import content_words
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import accuracy, normalise_answer
from fedrag_flwr.text.options import without_options

Verdict = Literal["right", "wrong", "declined"]
LONG_GOLD = 12  # words from which a gold answer is a text and not a name
BORNE = 0.5  # share of an answer's words, the question's aside, that a long gold must tell
# of answers elsewhere in the same document 8 % (MedQuAD) and 3 % (OpenStax) reach it
FEWEST = 4  # such words, so that the question said again is no answer


def judged(gold: GoldQuestion, text: str) -> Verdict:
    """Judge one answer; to what nothing answers, declining is right."""
    if declines(text):
        return "right" if not gold.answer else "declined"
    return "right" if gold.answer and is_right(gold, text) else "wrong"


def is_right(gold: GoldQuestion, text: str) -> bool:
    """Whether a given answer is right.

    Where a question says what an answer `must` hold, each entry has to occur (``|`` parts alternatives, case aside). Of
    listed options the right one alone may be named. Of a long gold the answer's words must be the gold's for the most
    part. Else a gold answer or an alias is contained in it.
    """
    if gold.must:
        said = text.casefold()
        return all(any(one.casefold() in said for one in entry.split("|")) for entry in gold.must)
    _, options = without_options(gold.text)
    if options:
        right = normalise_answer(gold.answer)
        others = [one for one in map(normalise_answer, options) if one != right and one not in right]
        said = f" {normalise_answer(text)} "
        return f" {right} " in said and not any(f" {one} " in said.replace(f" {right} ", " | ") for one in others)
    if len(gold.answer.split()) > LONG_GOLD:
        return tells_gold(gold, text)
    return bool(accuracy(text, [gold.answer, *gold.aliases]))


def tells_gold(gold: GoldQuestion, text: str) -> bool:
    """Whether an answer tells what a long gold tells, by its words that the question does not have."""
    said = content_words(text) - content_words(gold.text)
    return len(said) >= FEWEST and len(said & content_words(gold.answer)) >= BORNE * len(said)
