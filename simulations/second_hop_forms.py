"""Which form of a second hop ranks training rows best: what leads from a passage to another, how far, from which first.

    python simulations/second_hop_forms.py [--data FOLDER] [--train 100] [--seed 7] [--out docs/benchmarks]

Over the rankings of ``bench_controller.py``, and only its training rows. Every form adds to a passage's own score,
scaled to [0, 1], the best product of a seed's own score and what leads from the seed to the passage, also in [0, 1]. A
form is measured alone, and as a source of a controller beside all first stages that was fitted without the question's
fold. Prints a Markdown table and writes ``second_hop_forms.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models import load_encoder
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval import (
    Bm25Retriever,
    Ranking,
    SecondHopRetriever,
    SecondHopSettings,
    ranked,
    scaled,
    searchable_text,
    words,
)
from simulations.bench_controller import table
from simulations.corpora.sentences import DATASETS, encoded, find_data, rows_of
from simulations.parts.candidate_rankings import (
    FIRST_STAGES,
    KnownRanking,
    RankedQuestion,
    passages_of,
    ranked_questions,
)
from simulations.parts.controller_variants import Split, held_out, ids, measures
from simulations.reporting.folders import out_folder

Floats = NDArray[np.float64]
SEEDS = SecondHopSettings().seeds
NONE = "no second hop"


@dataclass(frozen=True, slots=True)
class Asked:
    """A training question and its paragraphs, with its unit vector, (dimension,), and theirs, (n, dimension)."""

    text: str
    ranked: RankedQuestion
    passages: list[Passage]
    vector: Floats
    vectors: Floats


Form = Callable[[Asked], Ranking]


def by_titles(first: str = "dense", settings: SecondHopSettings | None = None) -> Form:
    """The retriever of the package over a first stage."""

    def form(asked: Asked) -> Ranking:
        known = KnownRanking(first, asked.ranked.rankings[first])
        return SecondHopRetriever(known, asked.passages, settings).rank(asked.text, len(asked.passages))

    return form


def by_leads(leads: Callable[[Asked], Floats]) -> Form:
    """A form over dense whose leads, (n, n) from row to column, are scaled by their highest."""

    def form(asked: Asked) -> Ranking:
        own = scaled(asked.vectors @ asked.vector)
        seeds = np.argsort(-own, kind="stable")[:SEEDS]
        found = np.maximum(leads(asked), 0.0)
        np.fill_diagonal(found, 0.0)
        best = (own[seeds, None] * found[seeds]).max(axis=0) / max(float(found.max()), 1e-12)
        return ranked([passage.id for passage in asked.passages], own + best, len(own))

    return form


def new_words(asked: Asked) -> Floats:
    """BM25 of the words that a seed tells and the question does not."""
    index, known = Bm25Retriever(asked.passages), set(words(asked.text))
    told = [sorted(set(words(searchable_text(passage))) - known) for passage in asked.passages]
    return np.stack([index.scores(" ".join(new)) for new in told])


def joint_vector(asked: Asked) -> Floats:
    """The cosine with the sum of the question's and a seed's vector."""
    sums = asked.vectors + asked.vector
    return np.asarray((sums / np.linalg.norm(sums, axis=1, keepdims=True)) @ asked.vectors.T)


def new_vector(asked: Asked) -> Floats:
    """The cosine with the part of a seed's vector that is orthogonal to the question's."""
    rest = asked.vectors - np.outer(asked.vectors @ asked.vector, asked.vector)
    return np.asarray((rest / np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12)) @ asked.vectors.T)


FORMS: Mapping[str, Form] = {
    "titles": by_titles(),
    "titles, 3 seeds": by_titles(settings=SecondHopSettings(seeds=3)),
    "titles, 10 seeds": by_titles(settings=SecondHopSettings(seeds=10)),
    "titles, weight 0.5": by_titles(settings=SecondHopSettings(weight=0.5)),
    "titles, weight 2": by_titles(settings=SecondHopSettings(weight=2.0)),
    "titles over BM25": by_titles("BM25"),
    "titles over late interaction": by_titles("late interaction"),
    "BM25 of new words": by_leads(new_words),
    "question and seed as one vector": by_leads(joint_vector),
    "what of the seed's vector is new": by_leads(new_vector),
}


def asked_of(data: Path, dataset: str, limit: int) -> list[Asked]:
    """The first training rows of a dataset, encoded once and kept."""
    rows = list(rows_of(data / f"{DATASETS[dataset]}.jsonl.gz", "train", limit))
    known = {one.id: one for one in ranked_questions(data, dataset, "train", limit)}
    passages = [passages_of(row) for row in rows]
    texts = list(dict.fromkeys(searchable_text(passage) for own in passages for passage in own))
    place = {text: number for number, text in enumerate(texts)}
    vectors = encoded(texts, "passages")[0].astype(np.float64)
    asked = load_encoder(threads=1).encode([row["question"].strip() for row in rows]).astype(np.float64)
    return [
        Asked(row["question"].strip(), known[row["id"]], own, one, vectors[[place[searchable_text(p)] for p in own]])
        for row, own, one in zip(rows, passages, asked, strict=True)
    ]


def measured(asked: Sequence[Asked], seed: int) -> dict[str, tuple[float, float]]:
    """All@5 of each form, alone and in a controller, in per cent."""
    questions = [one.ranked for one in asked]
    split = Split(questions, (), seed)

    def mean(orders: list[tuple[str, ...]]) -> float:
        return float(measures(orders, questions)["all@5"].mean())

    found = {NONE: (mean([ids(q.rankings["dense"]) for q in questions]), mean(held_out(split, FIRST_STAGES, {})))}
    for name, form in FORMS.items():
        rankings = [form(one) for one in asked]
        together = held_out(split, (*FIRST_STAGES, name), {name: rankings})
        found[name] = (mean([ids(ranking) for ranking in rankings]), mean(together))
    return found


def main() -> None:
    """Parse the command line, measure, print the table and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--train", type=int, default=100, help="training rows of each set")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    data = find_data(options.data)
    found = {name: measured(asked_of(data, name, options.train), options.seed) for name in DATASETS}
    rows = []
    for form in (NONE, *FORMS):
        numbers = [value for one in found.values() for value in one[form]]
        means = [float(np.mean(numbers[place::2])) for place in (0, 1)]
        rows.append([form, *(f"{value:.1f}" for value in (*numbers, *means))])
    columns = [f"{name}{how}" for name in (*found, "mean") for how in ("", ", controller")]
    print(table(["form, all@5", *columns], rows))
    if options.out is not None:
        (options.out / "second_hop_forms.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
