"""Questions that no document answers, made of ones that a document does: another name, another relation, a count."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.text.base import Pipeline
from fedrag_flwr.text.support import NAMES


@dataclass(frozen=True, slots=True)
class Strange:
    """What documents tell of hardly anything: put in place of a question's own words, nothing answers it."""

    relations: str
    things: str
    names: str


ASKED = Strange(
    "painted translated insured auctioned embroidered pawned inherited photocopied smuggled repainted forged subtitled",
    "chimneys goats accordions postboxes umbrellas lighthouses violins teaspoons beehives",
    "Ostrel Vane, Marrow Quill, Tessaly Brund, Corvin Hale, Idris Fennel, Sable Orrin, Wexham Tarn, Pell Harrow, "
    "Brisa Kolm, Odo Lanting",
)
FITTED = Strange(
    "knitted sued varnished leased whitewashed mortgaged adopted betrayed catalogued borrowed filmed ridiculed",
    "staircases horses pianos kiosks bicycles windmills drums ladders orchards",
    "Runa Castell, Holm Ardley, Vesper Lund, Tobin Marsh, Alba Quist, Garrick Sole, Fenwick Dale, Lotte Verne, "
    "Ismay Crook, Niall Tarrant",
)  # other words, for what is fitted
MARK = "~"  # in the id of a question that was made up
_OPENS = re.compile(r"\b(who|which \w+|what \w+)\s+(\w+ed|built|wrote|made|won|led|gave|found|took|ran|drew)\b", re.I)


def made_up(
    questions: Sequence[GoldQuestion], pipeline: Pipeline, most: int, seed: int, strange: Strange = ASKED
) -> list[GoldQuestion]:
    """So many questions without an answer, a third of each kind as far as the questions allow."""
    draw = random.Random(seed)
    kinds = [list(of(questions, pipeline, draw, strange)) for of in (_other_name, _other_relation, _count)]
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


def _other_name(
    questions: Sequence[GoldQuestion], pipeline: Pipeline, draw: random.Random, strange: Strange
) -> Iterator[GoldQuestion]:
    for gold, name in _named(questions, pipeline):
        yield _without_answer(gold, gold.text.replace(name, draw.choice(strange.names.split(", "))), "other name")


def _other_relation(
    questions: Sequence[GoldQuestion], pipeline: Pipeline, draw: random.Random, strange: Strange
) -> Iterator[GoldQuestion]:
    for gold in questions:
        if gold.answer and (found := _OPENS.search(gold.text)):
            text = gold.text[: found.start(2)] + draw.choice(strange.relations.split()) + gold.text[found.end(2) :]
            yield _without_answer(gold, text, "other relation")


def _count(
    questions: Sequence[GoldQuestion], pipeline: Pipeline, draw: random.Random, strange: Strange
) -> Iterator[GoldQuestion]:
    for gold, name in _named(questions, pipeline):
        yield _without_answer(gold, f"How many {draw.choice(strange.things.split())} does {name} have?", "a count")


def _without_answer(gold: GoldQuestion, text: str, kind: str) -> GoldQuestion:
    name = f"{gold.question_id}{MARK}{kind.replace(' ', '-')}"
    return replace(gold, question_id=name, text=text, answer="", aliases=(), kind=kind, documents=(), must=())
