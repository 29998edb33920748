"""The controller over one pool: HippoRAG's MuSiQue questions, each ranked by a controller that was fitted on others.

    python simulations/bench_controller_pool.py [--data FOLDER] [--seed 7] [--out docs/benchmarks]

Sources and pool are those of ``bench_retrieval.py``, whose vectors and tuples are read where they are kept. The
questions fall into five folds; each is ranked by a controller that was fitted on the other four. Time is the thread's
own, with all sources and without encoding the question. Prints a Markdown table and writes ``controller_pool.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fedrag_flwr.evaluation import mean_interval, paired_difference
from fedrag_flwr.retrieval import (
    ControlledRetriever,
    ControllerFeatures,
    FittingSettings,
    LabelledRankings,
    Retriever,
    fit_controller,
    out_of_fold,
)
from simulations.bench_controller import shown, table
from simulations.bench_retrieval import CHOSEN, DEEPEST, WALK, recalls, retrievers
from simulations.corpora.retrieval_pool import PoolQuestion, hipporag_pool, question_vectors
from simulations.corpora.sentences import find_data
from simulations.reporting.folders import out_folder

PATHS = "weighted answer paths, rare seeds"
LATE = "late interaction over 100 dense"
FIRST = ("dense", "BM25", LATE)
CONTROLLERS: Mapping[str, tuple[str, ...]] = {
    "controller: dense, BM25, answer paths": ("dense", "BM25", PATHS),
    "controller: first stages": FIRST,
    "controller: first stages, answer paths": (*FIRST, PATHS),
    "controller: dense, BM25, answer paths, coverage": ("dense", "BM25", PATHS, CHOSEN),
    "controller: first stages, answer paths, walk": (*FIRST, PATHS, WALK),
    "controller: first stages, answer paths, walk, coverage": (*FIRST, PATHS, WALK, CHOSEN),
}

Order = tuple[str, ...]


def rankings(
    made: Mapping[str, Retriever], names: Sequence[str], questions: Sequence[PoolQuestion]
) -> list[LabelledRankings]:
    """What some retrievers bring for each question."""
    return [
        LabelledRankings(tuple(made[name].rank(question.text, DEEPEST) for name in names), frozenset(question.gold))
        for question in questions
    ]


def milliseconds(retriever: Retriever, questions: Sequence[PoolQuestion]) -> float:
    """Mean of the thread's own time for a question, in ms."""
    start = time.thread_time()
    for question in questions:
        retriever.rank(question.text, DEEPEST)
    return 1e3 * (time.thread_time() - start) / len(questions)


def main() -> None:
    """Parse the command line, rank the pool's questions out of fold, print the table and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    pool = hipporag_pool(find_data(options.data))
    vectors = question_vectors(pool)
    made, _, _ = retrievers(pool, vectors, False)
    alone = (*FIRST, PATHS, WALK, CHOSEN)
    brought = rankings(made, alone, pool.questions)
    orders: dict[str, list[Order]] = {
        name: [tuple(one.passage_id for one in row.rankings[place]) for row in brought]
        for place, name in enumerate(alone)
    }
    costs = {name: milliseconds(made[name], pool.questions) for name in alone}
    settings = FittingSettings()
    for name, sources in CONTROLLERS.items():
        features = ControllerFeatures(sources)
        places = [alone.index(source) for source in sources]
        own = [LabelledRankings(tuple(row.rankings[place] for place in places), row.supporting) for row in brought]
        found = out_of_fold(features, own, settings, np.random.default_rng(options.seed))
        orders[name] = [tuple(one.passage_id for one in ranking) for ranking in found]
        controller = fit_controller(features, own, settings, np.random.default_rng(options.seed))
        costs[name] = milliseconds(ControlledRetriever([made[s] for s in sources], controller), pool.questions)
    values = {name: recalls(order, pool.questions) for name, order in orders.items()}
    best = max(FIRST, key=lambda name: float(values[name]["R@5"].mean()))
    rows, kept = [], {}
    for name, measured in values.items():
        interval = mean_interval(100 * measured["R@5"], rng=np.random.default_rng(options.seed))
        gain = paired_difference(
            100 * measured["R@5"], 100 * values[best]["R@5"], rng=np.random.default_rng(options.seed)
        )
        means = {measure: 100 * float(one.mean()) for measure, one in measured.items()}
        kept[name] = {**means, "R@5 low": interval.low, "R@5 high": interval.high, "ms": costs[name]}
        rows.append([name, *(f"{one:.1f}" for one in means.values()), shown(gain), f"{costs[name]:.1f}"])
    print(table(["ranker", *next(iter(values.values())), f"R@5 - {best}", "cpu ms"], rows))
    if options.out is not None:
        (options.out / "controller_pool.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
