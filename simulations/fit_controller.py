"""Fits the controller that is shipped, on public training questions over pools of passages as large as a device's.

    python simulations/fit_controller.py [--data FOLDER] [--train 100] [--seed 7] [--write]

For each multi-hop set the paragraphs of its first rows with ``split = train`` are put into one pool, and the rows'
questions are ranked over it by a device's own sources (``retrieval/evidence_sources.py``). Prints what these, and
controllers that were fitted without the question's fold, place among the first, with 95 % paired-bootstrap intervals.
`--write` fits one on all questions and puts it into the package. Vectors and tuples are kept: a second run takes
seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from fedrag_flwr.evaluation import paired_difference
from fedrag_flwr.models import load_encoder
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval import (
    ControllerFeatures,
    FittingSettings,
    LabelledRankings,
    QuestionVectors,
    fit_controller,
    out_of_fold,
    searchable_text,
)
from fedrag_flwr.retrieval.device_controller import SHIPPED_WEIGHTS
from fedrag_flwr.retrieval.evidence_sources import FEATURES, PathKeys, Sources, by_passage
from simulations.bench_controller import shown, table
from simulations.corpora.retrieval_pool import own_tuples
from simulations.corpora.sentences import DATASETS, encoded, find_data, rows_of
from simulations.parts.controller_variants import ids

SETTINGS = FittingSettings()
ONE_HOP = ControllerFeatures(FEATURES.sources[:-1])
CONTROLLERS = {"controller, out of fold": FEATURES, "controller without second hop, out of fold": ONE_HOP}
CUTS = (2, 5)


def ranked_pool(path: Path, limit: int) -> list[LabelledRankings]:
    """The first training questions of a file, ranked by a device's sources over the paragraphs of all of them."""
    pool: dict[tuple[str, str], Passage] = {}
    asked: list[tuple[str, frozenset[str]]] = []
    for row in rows_of(path, "train", limit):
        gold = set()
        for paragraph in row["paragraphs"]:
            key = (paragraph["title"] or "", paragraph["text"])
            name = pool[key].id if key in pool else f"p{len(pool):05d}"
            pool.setdefault(key, Passage(name, name, *key, ()))
            if paragraph["is_supporting"]:
                gold.add(name)
        asked.append((row["question"].strip(), frozenset(gold)))
    passages = list(pool.values())
    vectors, _ = encoded([searchable_text(passage) for passage in passages], "passages")
    questions = QuestionVectors(load_encoder(threads=1))
    keys = PathKeys.of([passage.id for passage in passages], by_passage(own_tuples(passages)))
    sources = Sources.over(passages, vectors, keys, questions).retrievers
    print(f"{path.name}: {len(asked)} questions over {len(passages)} passages", flush=True)
    return [
        LabelledRankings(tuple(source.rank(text, FEATURES.depth) for source in sources), gold) for text, gold in asked
    ]


def seen_by(features: ControllerFeatures, questions: list[LabelledRankings]) -> list[LabelledRankings]:
    """Questions with the rankings of a controller's sources, which come first among a device's."""
    return [LabelledRankings(q.rankings[: len(features.sources)], q.supporting) for q in questions]


def recalls(orders: list[tuple[str, ...]], questions: list[LabelledRankings]) -> dict[str, np.ndarray]:
    """Each question's share of supporting passages among the first k, and whether all are, in per cent."""
    found = {}
    for k in CUTS:
        pairs = list(zip(orders, questions, strict=True))
        found[f"R@{k}"] = np.array([100.0 * len(q.supporting & set(o[:k])) / len(q.supporting) for o, q in pairs])
        found[f"all@{k}"] = np.array([100.0 * (q.supporting <= set(o[:k])) for o, q in pairs])
    return found


def compared(name: str, questions: list[LabelledRankings], seed: int) -> list[list[str]]:
    """A table's rows for one set: each source alone, and controllers fitted on the other folds."""
    rows = {
        source: recalls([ids(q.rankings[place]) for q in questions], questions)
        for place, source in enumerate(FEATURES.sources)
    }
    for row, features in CONTROLLERS.items():
        reordered = out_of_fold(features, seen_by(features, questions), SETTINGS, np.random.default_rng(seed))
        rows[row] = recalls([ids(ranking) for ranking in reordered], questions)
    best = max(ONE_HOP.sources, key=lambda source: float(rows[source]["R@5"].mean()))
    shownin = []
    for row, measured in rows.items():
        gain = paired_difference(measured["R@5"], rows[best]["R@5"], rng=np.random.default_rng(seed))
        shownin.append([name, row, *(f"{values.mean():.1f}" for values in measured.values()), shown(gain)])
    return shownin


def main() -> None:
    """Rank, compare out of fold, and fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--train", type=int, default=100, help="training rows of each set")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the fitted controller into the package")
    options = parser.parse_args()
    data = find_data(options.data)
    pools = {name: ranked_pool(data / f"{file}.jsonl.gz", options.train) for name, file in DATASETS.items()}
    rows = [row for name, questions in pools.items() for row in compared(name, questions, options.seed)]
    measures = [f"{measure}@{k}" for k in CUTS for measure in ("R", "all")]
    print(table(["dataset", "ranker", *measures, "R@5 - best source"], rows))
    everything = [question for questions in pools.values() for question in questions]
    told = f"{len(everything)} training questions of {', '.join(pools)}, each set's paragraphs in one pool"
    controller = fit_controller(
        FEATURES, seen_by(FEATURES, everything), SETTINGS, np.random.default_rng(options.seed), told
    )
    print(controller.id)
    if options.write:
        controller.save(SHIPPED_WEIGHTS)


if __name__ == "__main__":
    main()
