"""Questions that no document answers, made of ones that a document does: another name, another relation, a count."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.text.base import Pipeline
from fedrag_flwr.text.support import NAMES

# What is told of hardly anything: a question with one of these in place of its own relation or thing has no answer.
_RELATIONS = (
    *("painted", "translated", "insured", "auctioned", "embroidered", "pawned", "inherited", "photocopied"),
    *("smuggled", "repainted", "forged", "subtitled"),
)
_THINGS = (
    "chimneys",
    "goats",
    "accordions",
    "postboxes",
    "umbrellas",
    "lighthouses",
    "violins",
    "teaspoons",
    "beehives",
)
_INVENTED = (
    *("Ostrel Vane", "Marrow Quill", "Tessaly Brund", "Corvin Hale", "Idris Fennel", "Sable Orrin", "Wexham Tarn"),
    *("Pell Harrow", "Brisa Kolm", "Odo Lanting"),
)
MARK = "~"  # in the id of a question that was made up
_OPENS = re.compile(r"\b(who|which \w+|what \w+)\s+(\w+ed|built|wrote|made|won|led|gave|found|took|ran|drew)\b", re.I)


def made_up(questions: Sequence[GoldQuestion], pipeline: Pipeline, most: int, seed: int) -> list[GoldQuestion]:
    """So many questions without an answer, a third of each kind as far as the questions allow."""
    draw = random.Random(seed)
    kinds = [list(of(questions, pipeline, draw)) for of in (_other_name, _other_relation, _count)]
    found: list[GoldQuestion] = []
    for turn in range(max(map(len, kinds))):
        found += [kind[turn] for kind in kinds if turn < len(kind)]
    return found[:most]


def _named(questions: Sequence[GoldQuestion], pipeline: Pipeline) -> Iterator[tuple[GoldQuestion, str]]:
    """Answerable questions, each with a name that it says."""
    for gold in questions:
        names = [fact.text for fact in pipeline.question(gold.text).facts if fact.type in NAMES]
        if gold.answer and names and not gold.must:
            yield gold, max(names, key=len)


def _other_name(questions: Sequence[GoldQuestion], pipeline: Pipeline, draw: random.Random) -> Iterator[GoldQuestion]:
    for gold, name in _named(questions, pipeline):
        yield _without_answer(gold, gold.text.replace(name, draw.choice(_INVENTED)), "other name")


def _other_relation(
    questions: Sequence[GoldQuestion], pipeline: Pipeline, draw: random.Random
) -> Iterator[GoldQuestion]:
    for gold in questions:
        if gold.answer and (found := _OPENS.search(gold.text)):
            text = gold.text[: found.start(2)] + draw.choice(_RELATIONS) + gold.text[found.end(2) :]
            yield _without_answer(gold, text, "other relation")


def _count(questions: Sequence[GoldQuestion], pipeline: Pipeline, draw: random.Random) -> Iterator[GoldQuestion]:
    for gold, name in _named(questions, pipeline):
        yield _without_answer(gold, f"How many {draw.choice(_THINGS)} does {name} have?", "a count")


def _without_answer(gold: GoldQuestion, text: str, kind: str) -> GoldQuestion:
    name = f"{gold.question_id}{MARK}{kind.replace(' ', '-')}"
    return replace(gold, question_id=name, text=text, answer="", aliases=(), kind=kind, documents=(), must=())
