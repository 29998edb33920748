"""Fit the model that scores sentences, on training questions with marked gold documents.

A sentence is wanted where it stands in a gold document and tells the answer or the title of another gold document; of a
gold document without such a sentence, the one that tells most of the question is. Each question weighs the same, and so
does each set.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.answering.sentences import (
    FEATURES,
    SHIPPED,
    Described,
    RankedText,
    content_words,
    describe,
)
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.text.segment import subject_of
from fedrag_flwr.text.words import told_words
from simulations.answers.sets import open_set, read_set
from simulations.bench.fitting import fit_logistic
from simulations.bench.frame import Bench

SETS = ("demo", "guides", "hotpotqa")
NO_WORDS = {"yes", "no"}  # answers that no sentence tells


@dataclass(frozen=True, slots=True)
class Marked:
    """The features of the sentences of a question's passages, and which of them are wanted, shape (n,)."""

    described: Described
    wanted: NDArray[np.bool_]


def run(bench: Bench, write: Annotated[bool, typer.Option(help="Put the model into the package.")] = False) -> None:
    """Fit on all sets, and tell the weights."""
    fitted = {name: marked_of(name, bench) for name in bench.sized(SETS, SETS[1:2])}
    scorer = fit(list(fitted.values()))
    on = ", ".join(f"{name} {len(own)}" for name, own in fitted.items())
    head = {"fitted_on": f"training questions: {on}", "fitted_by": "fedrag bench fit sentences --write"}
    told = json.dumps(head | scorer.model_dump(), indent=1)
    bench.tell(told)
    if write:
        replace_file(SHIPPED, f"{told}\n".encode())


def marked_of(name: str, bench: Bench) -> list[Marked]:
    """The training questions of a set over a device's own ranking."""
    asked = read_set(name, bench.data(), "train")
    asked = bench.sized(asked, asked.small(4, 1))
    with open_set(asked, bench.settings, memories=False) as device:
        evidence_store, order, encoder = device.evidence_store, device.order.chosen(), device.models.encoder
        found = []
        for gold in asked.together().questions:
            if gold.documents:
                ranked = evidence_store.ranked(gold.text, encoder.encode([gold.text])[0], order)
                described = describe(gold.text, ranked)
                found.append(Marked(described, _wanted(gold, ranked, described)))
    return found


def _wanted(gold: GoldQuestion, ranked: Sequence[RankedText], described: Described) -> NDArray[np.bool_]:
    own = [one.id.rpartition("#")[0] in gold.documents for one in ranked]
    titles = {subject_of(one.title) for one, right in zip(ranked, own, strict=True) if right}
    answers = [] if gold.answer.casefold() in NO_WORDS else [gold.answer, *gold.aliases]
    asked, wanted = content_words(gold.text), np.zeros(len(described.places), dtype=np.bool_)
    told: dict[str, list[tuple[int, int]]] = {}  # by title of a gold document: words of the question, row
    for row, (place, number) in enumerate(described.places):
        mine, sentence = subject_of(ranked[place].title), ranked[place].sentences[number]
        if own[place]:
            told.setdefault(mine, []).append((len(content_words(sentence) & asked), -row))
            others = [title for title in titles if title not in ("", mine)]
            wanted[row] = any(_holds(sentence, one) for one in (*answers, *others))
    for rows in told.values():
        if not any(wanted[-row] for _, row in rows):
            wanted[-max(rows)[1]] = True
    return wanted


def fit(sets: Sequence[Sequence[Marked]]) -> Logistic:
    """Fit a logistic regression; each set and each of its questions weighs the same."""
    rows = [(one, 1000 / len(own) / len(one.wanted)) for own in sets for one in own if len(one.wanted)]
    values = np.concatenate([one.described.values for one, _ in rows])
    wanted = np.concatenate([one.wanted for one, _ in rows])
    weights = np.concatenate([np.full(len(one.wanted), weight) for one, weight in rows])
    return fit_logistic(FEATURES, values, wanted, weights, class_weight="balanced")


def _holds(text: str, part: str) -> bool:
    words = " ".join(told_words(part))
    return bool(words) and f" {words} " in f" {' '.join(told_words(text))} "
