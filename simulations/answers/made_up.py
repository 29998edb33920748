"""Questions that no document answers, made of ones that a document does: another name, another relation, a count."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.text.pipeline import Pipeline

# What is told of hardly anything: a question with one of these in place of its own relation or thing has no answer.
_RELATIONS = (
    *("painted", "translated", "insured", "auctioned", "embroidered", "pawned", "inherited", "photocopied"),
    *("smuggled", "repainted", "forged", "subtitled"),
)
_THINGS = (
    *("chimneys", "goats", "accordions", "postboxes", "umbrellas", "lighthouses", "violins", "teaspoons", "beehives"),
)
_INVENTED = (
    *("Ostrel Vane", "Marrow Quill", "Tessaly Brund", "Corvin Hale", "Idris Fennel", "Sable Orrin", "Wexham Tarn"),
    *("Pell Harrow", "Brisa Kolm", "Odo Lanting"),
)
_NAMES = frozenset(
    {"PERSON", "ORG", "GPE", "LOC", "FAC", "NAME", "PRODUCT", "EVENT", "WORK_OF_ART", "NORP", "LAW", "LANGUAGE"}
)
MARK = "~"  # in the id of a question that was made up
_OPENS = re.compile(r"\b(who|which \w+|what \w+)\s+(\w+ed|built|wrote|made|won|led|gave|found|took|ran|drew)\b", re.I)


def made_up(questions: Sequence[GoldQuestion], pipeline: Pipeline, most: int, seed: int) -> list[GoldQuestion]:
    """So many questions without an answer, a third of each kind as far as the questions allow."""
    draw = random.Random(seed)
    answerable = [gold for gold in questions if gold.answer]
    named: list[tuple[GoldQuestion, str]] = []  # each with the longest name that it says
    for gold in answerable:
        names = [fact.text for fact in pipeline.question(gold.text).facts if fact.type in _NAMES]
        if names and not gold.must:
            named.append((gold, max(names, key=len)))
    opened = [(gold, found) for gold in answerable if (found := _OPENS.search(gold.text))]
    kinds = (
        [_made(gold, gold.text.replace(name, draw.choice(_INVENTED)), "other name") for gold, name in named],
        [
            _made(one, one.text[: at.start(2)] + draw.choice(_RELATIONS) + one.text[at.end(2) :], "other relation")
            for one, at in opened
        ],
        [_made(gold, f"How many {draw.choice(_THINGS)} does {name} have?", "a count") for gold, name in named],
    )
    return [one for turn in zip_longest(*kinds) for one in turn if one is not None][:most]


def _made(gold: GoldQuestion, text: str, kind: str) -> GoldQuestion:
    """A question without an answer in place of one."""
    name = f"{gold.question_id}{MARK}{kind.replace(' ', '-')}"
    return replace(gold, question_id=name, text=text, answer="", aliases=(), kind=kind, documents=(), must=())
