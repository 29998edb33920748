"""Fit the model that scores sentences for windows, on training questions with marked gold documents.

    python -m simulations.answers.fit_windows [--data FOLDER] [--sets demo,guides,hotpotqa] [--write]

A sentence is wanted where it stands in a gold document and tells the answer or the title of another gold document; of a
gold document without such a sentence, the one that tells most of the question is. Each question weighs the same, and so
does each set. Prints how many short answers stand in windows of some sizes (in brackets: by a model not fitted on the
set) and in the first four passages. `--write` puts a model of all sets into the package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.answering.windows import (
    FEATURES,
    SHIPPED,
    Described,
    RankedText,
    choose,
    content_words,
    describe,
)
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text.segment import subject_of
from fedrag_flwr.text.words import told_words
from simulations.answers.sets import read_set
from simulations.answers.world import open_world

CLOSED = {"yes", "no"}
BUDGETS = (150, 180, 220, 260)
FLOOR = 4  # passages


@dataclass(frozen=True, slots=True)
class Marked:
    """A question with its ranked passages, their sentences' features, and which of them are wanted, shape (n,)."""

    gold: GoldQuestion
    ranked: Sequence[RankedText]
    described: Described
    wanted: NDArray[np.bool_]


def marked_of(name: str, data: Path) -> list[Marked]:
    """The training questions of a set over a device's own ranking."""
    asked = read_set(name, data, "train")
    with open_world(asked, Settings(), memories=False) as device:
        evidence_store, order, encoder = device.evidence_store, device.orders.chosen(), device.models.encoder
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
    wanted = np.zeros(len(described.places), dtype=np.bool_)
    served = set()
    for row, (place, number) in enumerate(described.places):
        mine = subject_of(ranked[place].title)
        others = [title for title in titles if title not in ("", mine)]
        if own[place] and any(_holds(ranked[place].sentences[number], one) for one in (*answers, *others)):
            wanted[row] = True
            served.add(mine)
    asked = content_words(gold.text)
    for title in titles - served:
        rows = [
            row
            for row, (place, _) in enumerate(described.places)
            if own[place] and subject_of(ranked[place].title) == title
        ]
        said = [content_words(ranked[described.places[row][0]].sentences[described.places[row][1]]) for row in rows]
        if rows:
            wanted[rows[int(np.argmax([len(words & asked) for words in said]))]] = True
    return wanted


def fit(sets: Sequence[Sequence[Marked]]) -> Logistic:
    """Fit a logistic regression; each set and each of its questions weighs the same."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, unused-ignore]

    rows = [(one, 1000 / len(own) / len(one.wanted)) for own in sets for one in own if len(one.wanted)]
    values = np.concatenate([one.described.values for one, _ in rows])
    wanted = np.concatenate([one.wanted for one, _ in rows])
    weights = np.concatenate([np.full(len(one.wanted), weight) for one, weight in rows])
    mean, deviation = values.mean(axis=0), values.std(axis=0) + 1e-9
    model = LogisticRegression(class_weight="balanced", max_iter=500)
    model.fit((values - mean) / deviation, wanted, sample_weight=weights)
    own = model.coef_[0] / deviation
    return Logistic(features=FEATURES, weights=tuple(own.tolist()), bias=-float(own @ mean))


def kept(marked: Sequence[Marked], scorer: Logistic, words: int) -> float:
    """Share of short answers that stand in the windows."""
    found = []
    for one in _short(marked):
        told = []
        for window in choose(one.gold.text, one.ranked, words, scorer):
            passage = one.ranked[window.passage]
            told.append(f"{passage.title} {' '.join(passage.sentences[place] for place in window.sentences)}")
        found.append(_held(one.gold, " | ".join(told)))
    return float(np.mean(found))


def floor(marked: Sequence[Marked]) -> float:
    """Share of short answers that stand in the first four passages."""
    texts = [
        (one.gold, " | ".join(f"{p.title} {' '.join(p.sentences)}" for p in one.ranked[:FLOOR]))
        for one in _short(marked)
    ]
    return float(np.mean([_held(gold, text) for gold, text in texts]))


def _short(marked: Sequence[Marked]) -> list[Marked]:
    return [one for one in marked if one.gold.answer.casefold() not in CLOSED and one.gold.kind != "how"]


def _held(gold: GoldQuestion, text: str) -> bool:
    return any(_holds(text, answer) for answer in (gold.answer, *gold.aliases))


def _holds(text: str, part: str) -> bool:
    words = " ".join(told_words(part))
    return bool(words) and f" {words} " in f" {' '.join(told_words(text))} "


def main() -> None:
    """Measure out of each set, and write on demand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder of evaluation data")
    parser.add_argument("--sets", default="demo,guides,hotpotqa", help="sets to fit on")
    parser.add_argument("--beside", default="2wikimultihopqa,musique", help="sets to look at only")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.data is None:
        raise SourceError("there is no data", where="--data", fix="name the data folder, or set FEDRAG_DATA")
    sets = {name: marked_of(name, arguments.data) for name in arguments.sets.split(",")}
    beside = {name: marked_of(name, arguments.data) for name in arguments.beside.split(",") if name}
    scorer = fit(list(sets.values()))
    for name, own in (sets | beside).items():
        others = [marked for other, marked in sets.items() if other != name]
        without = fit(others or [own]) if name in sets else scorer
        told = ", ".join(
            f"{words} words {100 * kept(own, scorer, words):.1f} ({100 * kept(own, without, words):.1f})"
            for words in BUDGETS
        )
        print(f"{name}: first {FLOOR} passages {100 * floor(own):.1f}; {told}")
    if arguments.write:
        on = ", ".join(f"{name} {len(own)}" for name, own in sets.items())
        head = {"fitted_on": f"training questions: {on}", "fitted_by": "python -m simulations.answers.fit_windows"}
        replace_file(SHIPPED, (json.dumps(head | scorer.model_dump(), indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
