"""Fit the model that scores sentences, on training questions with marked gold documents.

A sentence is wanted where it stands in a gold document and tells the answer or the title of another gold document; of a
gold document without such a sentence, the one that tells most of the question is. Each question weighs the same, and so
does each set. Printed is how many short answers stand in the likeliest sentences (in brackets: by a model not fitted on
the set) and in the first four passages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from pandas import DataFrame

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
from simulations.answers.sets import known_sets, open_set, read_set
from simulations.bench.fitting import fit_logistic
from simulations.bench.frame import Bench
from simulations.bench.plan import named

BESIDE = ("2wikimultihopqa", "musique")  # sets to look at only
CLOSED = {"yes", "no"}
BEST = (1, 3, 6)  # sentences
FLOOR = 4  # passages


@dataclass(frozen=True, slots=True)
class Marked:
    """A question with its ranked passages, their sentences' features, and which of them are wanted, shape (n,)."""

    gold: GoldQuestion
    ranked: Sequence[RankedText]
    described: Described
    wanted: NDArray[np.bool_]


def run(
    bench: Bench,
    sets: Annotated[str, typer.Option(help="Sets to fit on.")] = "demo,guides,hotpotqa",
    write: Annotated[bool, typer.Option(help="Put a model of all sets into the package.")] = False,
) -> None:
    """Fit on all sets and without each; print what the best sentences hold."""
    fitted = {name: marked_of(name, bench) for name in named(bench.sized(sets, "guides"), known_sets(), "set")}
    others = bench.sized(BESIDE, ())
    scorer = fit(list(fitted.values()))
    lines = []
    for name, own in (fitted | {name: marked_of(name, bench) for name in others}).items():
        rest = [marked for other, marked in fitted.items() if other != name]
        without = fit(rest or [own]) if name in fitted else scorer
        line: dict[str, object] = {"set": name, f"first {FLOOR} passages": round(100 * floor(own), 1)}
        for most in BEST:
            line[f"best {most}"] = f"{100 * held(own, scorer, most):.1f} ({100 * held(own, without, most):.1f})"
        lines.append(line)
    bench.table("sentences", DataFrame(lines), "Per cent of short answers that stand in the likeliest sentences")
    if write:
        on = ", ".join(f"{name} {len(own)}" for name, own in fitted.items())
        head = {"fitted_on": f"training questions: {on}", "fitted_by": "fedrag bench fit sentences --write"}
        replace_file(SHIPPED, (json.dumps(head | scorer.model_dump(), indent=1) + "\n").encode())


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
                found.append(Marked(gold, ranked, described, _wanted(gold, ranked, described)))
    return found


def _wanted(gold: GoldQuestion, ranked: Sequence[RankedText], described: Described) -> NDArray[np.bool_]:
    own = [one.id.rpartition("#")[0] in gold.documents for one in ranked]
    titles = {subject_of(one.title) for one, right in zip(ranked, own, strict=True) if right}
    answers = [] if gold.answer.casefold() in CLOSED else [gold.answer, *gold.aliases]
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


def held(marked: Sequence[Marked], scorer: Logistic, most: int) -> float:
    """Share of short answers that stand in so many of the likeliest sentences, or in their titles."""
    found = []
    for one in _short(marked):
        best = np.argsort(-scorer.odds(one.described.values), kind="stable")[:most]
        places = [one.described.places[row] for row in best]
        told = [f"{one.ranked[place].title} {one.ranked[place].sentences[number]}" for place, number in places]
        found.append(_held(one.gold, " | ".join(told)))
    return float(np.mean(found))


def floor(marked: Sequence[Marked]) -> float:
    """Share of short answers that stand in the first four passages."""
    told = ((one, (f"{p.title} {' '.join(p.sentences)}" for p in one.ranked[:FLOOR])) for one in _short(marked))
    return float(np.mean([_held(one.gold, " | ".join(texts)) for one, texts in told]))


def _short(marked: Sequence[Marked]) -> list[Marked]:
    return [one for one in marked if one.gold.answer.casefold() not in CLOSED and one.gold.kind != "how"]


def _held(gold: GoldQuestion, text: str) -> bool:
    return any(_holds(text, answer) for answer in (gold.answer, *gold.aliases))


def _holds(text: str, part: str) -> bool:
    words = " ".join(told_words(part))
    return bool(words) and f" {words} " in f" {' '.join(told_words(text))} "
