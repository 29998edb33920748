"""How well and how fast each retriever finds the passages of multi-hop questions in one pool, on the same tuples.

    python simulations/bench_retrieval.py [--data FOLDER] [--own] [--seed 7] [--out docs/benchmarks]

FOLDER holds ``reference/hipporag`` (default: $FEDRAG_DATA): 1,890 passages, 100 questions, GPT-3.5's tuples. Passages,
vertices, facts and tokens are encoded once and kept, so a second run goes straight on. `--own` adds rows over the
tuples that the rules over the parse find in the same passages. Questions are encoded before the clock runs. Recall is
the share of a question's passages among the first k, "all" says that they all are; in brackets 95 % bootstrap intervals
over questions. The only weight that is fitted, that of coverage, is fitted in five folds: each question is ranked with
the weight that was best for R@5 on the questions of the other four. Prints Markdown tables and writes
``retrieval.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.evaluation import mean_interval, paired_difference
from fedrag_flwr.hypergraph import (
    PAPER,
    PRESETS,
    HyperedgeKeys,
    KeySpace,
    PairwiseKeys,
    PassageGraph,
    TupleTable,
    VertexSeeds,
    answer_paths,
    co_occurrences,
)
from fedrag_flwr.records import EvidenceTuple
from fedrag_flwr.retrieval import (
    Bm25Retriever,
    CoverageRetriever,
    CoverageSettings,
    DenseRetriever,
    FactTable,
    KeySpaceRetriever,
    LateInteractionRetriever,
    PassageWalkRetriever,
    QuestionVectors,
    ReciprocalRankFusion,
    Retriever,
    TokenTable,
    normalised,
    searchable_text,
)
from simulations.corpora.retrieval_pool import (
    Pool,
    PoolQuestion,
    hipporag_pool,
    own_tuples,
    question_vectors,
    token_table,
)
from simulations.corpora.sentences import encoded, find_data
from simulations.reporting.folders import out_folder

CUTS = (2, 5, 10)
DEEPEST = 10
FOLDS = 5
WEIGHTS = (5.0, 10.0, 20.0, 40.0, 80.0)
SHARPNESS = 3.0  # of seeds; chosen on the half of the questions that `halves` calls "designed on"
CHOSEN = "walk, coverage"
FITTED = "walk, coverage, weight out of fold"
WALK = "walk over vertices and passages"

Ranked = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """One retriever: recall by cut (R@k, all@k) as value, low and high in per cent, and milliseconds a question.

    `cpu_ms` is the mean of this thread's own time, whatever else the machine does.
    """

    name: str
    measures: dict[str, tuple[float, float, float]]
    mean_ms: float
    p95_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Run:
    """One retriever's rankings of all questions, and the milliseconds of each by the clock and of the processor."""

    rankings: Ranked
    ms: tuple[float, ...]
    cpu_ms: tuple[float, ...]


def recalls(rankings: Ranked, questions: Sequence[PoolQuestion]) -> dict[str, NDArray[np.float64]]:
    """Recall of each question by measure, in [0, 1]."""
    found: dict[str, list[float]] = {name: [] for name in (*(f"R@{k}" for k in CUTS), *(f"all@{k}" for k in CUTS[1:]))}
    for ranking, question in zip(rankings, questions, strict=True):
        gold = set(question.gold)
        for k in CUTS:
            share = len(gold & set(ranking[:k])) / len(gold)
            found[f"R@{k}"].append(share)
            if f"all@{k}" in found:
                found[f"all@{k}"].append(float(share == 1.0))
    return {name: np.array(values) for name, values in found.items()}


def run(retriever: Retriever, questions: Sequence[PoolQuestion]) -> Run:
    """Rank all questions."""
    retriever.rank(questions[0].text, DEEPEST)
    rankings, clock, processor = [], [], []
    for question in questions:
        start, used = time.perf_counter(), time.thread_time()
        ranking = retriever.rank(question.text, DEEPEST)
        clock.append(1e3 * (time.perf_counter() - start))
        processor.append(1e3 * (time.thread_time() - used))
        rankings.append(tuple(one.passage_id for one in ranking))
    return Run(rankings, tuple(clock), tuple(processor))


def key_spaces(pool: Pool, otherwise: Retriever) -> dict[str, Retriever]:
    """The key spaces of HKVM-RAG over the whole pool, seeded by all words of a question alike or by rare ones."""
    table = TupleTable.of(pool.tuples, [passage.id for passage in pool.passages])
    spaces: dict[str, KeySpace] = {
        "pairwise PageRank": PairwiseKeys(table),
        "weighted pairwise PageRank": PairwiseKeys(table, PAPER),
        "co-occurrence hyperedges": HyperedgeKeys("co-occurrence", table, co_occurrences(table)),
        "static answer paths": HyperedgeKeys("static", table, answer_paths(table, PRESETS["static"])),
        "weighted answer paths": HyperedgeKeys("weighted", table, answer_paths(table, PRESETS["paper"])),
    }
    seeds = {
        "": VertexSeeds(table.vertices),
        ", rare seeds": VertexSeeds(table.vertices, by_rarity=True, sharpness=SHARPNESS),
    }
    return {
        f"{name}{kind}": KeySpaceRetriever(space, found, otherwise)
        for kind, found in seeds.items()
        for name, space in spaces.items()
    }


def walk(
    pool: Pool, extracted: Sequence[EvidenceTuple], dense: DenseRetriever, questions: QuestionVectors
) -> PassageWalkRetriever:
    """PageRank over vertices and passages."""
    tuples = normalised(extracted)
    table = TupleTable.of(tuples, [passage.id for passage in pool.passages])
    facts = FactTable.of(tuples, table)
    names, _ = encoded(table.vertices, "vertices")
    statements, _ = encoded(facts.texts, "facts")
    start = time.perf_counter()
    graph = PassageGraph(table, names)
    print(
        f"{len(table)} tuples, {len(table.vertices)} vertices, {len(facts.texts)} facts: "
        f"graph in {time.perf_counter() - start:.1f} s",
        flush=True,
    )
    return PassageWalkRetriever(graph, facts, statements, dense, questions)


def retrievers(pool: Pool, questions: QuestionVectors, own: bool) -> tuple[dict[str, Retriever], Retriever, TokenTable]:
    """All rows but the fitted one, and what that one is made of: the walk and the passages' tokens."""
    vectors, _ = encoded([searchable_text(passage) for passage in pool.passages], "passages")
    tokens = token_table(pool.passages, questions)
    sparse = Bm25Retriever(pool.passages)
    dense = DenseRetriever([passage.id for passage in pool.passages], vectors, questions)
    late = LateInteractionRetriever(tokens, questions, dense)
    walking = walk(pool, pool.tuples, dense, questions)
    rows: dict[str, Retriever] = {
        "BM25": sparse,
        "dense": dense,
        "late interaction": LateInteractionRetriever(tokens, questions),
        "late interaction over 100 dense": late,
        "rank fusion: BM25, dense, late": ReciprocalRankFusion([sparse, dense, late]),
        **key_spaces(pool, sparse),
        WALK: walking,
        "rank fusion: those three, walk": ReciprocalRankFusion([sparse, dense, late, walking]),
        CHOSEN: CoverageRetriever(walking, tokens, questions),
    }
    if own:
        ours = walk(pool, own_tuples(pool.passages), dense, questions)
        rows[f"{WALK}, own tuples"] = ours
        rows[f"{CHOSEN}, own tuples"] = CoverageRetriever(ours, tokens, questions)
    return rows, walking, tokens


def out_of_fold(
    by_weight: Mapping[float, Run], questions: Sequence[PoolQuestion], rng: np.random.Generator
) -> tuple[Run, list[float]]:
    """Rank each question with the weight that is best for R@5 on the other folds; the lower one of equals."""
    scores = {weight: recalls(one.rankings, questions)["R@5"] for weight, one in by_weight.items()}
    weights = [0.0] * len(questions)
    chosen: list[float] = []
    for fold in np.array_split(rng.permutation(len(questions)), FOLDS):
        rest = np.setdiff1d(np.arange(len(questions)), fold)
        chosen.append(max(sorted(scores), key=lambda weight: float(scores[weight][rest].mean())))
        for row in fold:
            weights[row] = chosen[-1]
    picked = [by_weight[weight] for weight in weights]
    return Run(
        [one.rankings[row] for row, one in enumerate(picked)],
        tuple(one.ms[row] for row, one in enumerate(picked)),
        tuple(one.cpu_ms[row] for row, one in enumerate(picked)),
    ), chosen


def row_of(name: str, found: Run, questions: Sequence[PoolQuestion], seed: int) -> Row:
    """Measure one retriever."""
    measures = {}
    for measure, values in recalls(found.rankings, questions).items():
        interval = mean_interval(100 * values, rng=np.random.default_rng(seed))
        measures[measure] = (interval.value, interval.low, interval.high)
    return Row(
        name, measures, float(np.mean(found.ms)), float(np.percentile(found.ms, 95)), float(np.mean(found.cpu_ms))
    )


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    measures = list(rows[0].measures)
    lines = [
        f"| {' | '.join(['retriever', *measures, 'ms', 'p95 ms', 'cpu ms'])} |",
        "|---" * (len(measures) + 4) + "|",
    ]
    for row in rows:
        cells = [f"{value:.1f} ({low:.0f}-{high:.0f})" for value, low, high in row.measures.values()]
        times = (f"{ms:.1f}" for ms in (row.mean_ms, row.p95_ms, row.cpu_ms))
        lines.append(f"| {' | '.join([row.name, *cells, *times])} |")
    return "\n".join(lines)


def halves(found: Mapping[str, Run], questions: Sequence[PoolQuestion], seed: int) -> dict[str, dict[str, list[float]]]:
    """Recall in per cent on the half of the questions that coverage was designed on, and on the other half."""
    order = np.random.default_rng(seed).permutation(len(questions))
    parts = {"designed on": order[: len(order) // 2], "held out": order[len(order) // 2 :]}
    return {
        part: {
            name: [100 * float(values[rows].mean()) for values in recalls(found[name].rankings, questions).values()]
            for name in (WALK, CHOSEN)
        }
        for part, rows in parts.items()
    }


def main() -> None:
    """Parse the command line, measure every retriever, print the tables and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--own", action="store_true", help="rank over our own tuples too")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    pool = hipporag_pool(find_data(options.data))
    vectors = question_vectors(pool)
    made, walking, tokens = retrievers(pool, vectors, options.own)
    found = {name: run(retriever, pool.questions) for name, retriever in made.items()}
    by_weight = {
        weight: run(CoverageRetriever(walking, tokens, vectors, CoverageSettings(weight)), pool.questions)
        for weight in WEIGHTS
    }
    found[FITTED], weights = out_of_fold(by_weight, pool.questions, np.random.default_rng(options.seed))
    rows = [row_of(name, one, pool.questions, options.seed) for name, one in found.items()]
    print(table(rows))
    print(f"\nweights chosen in the folds: {weights}")
    sweep = {
        f"{weight:g}": 100 * float(recalls(by_weight[weight].rankings, pool.questions)["R@5"].mean())
        for weight in WEIGHTS
    }
    print(f"R@5 by weight: {', '.join(f'{weight}: {value:.1f}' for weight, value in sweep.items())}")
    parts = halves(found, pool.questions, options.seed)
    for part, values in parts.items():
        print(f"{part}: " + "; ".join(f"{name}: {' '.join(f'{v:.1f}' for v in vs)}" for name, vs in values.items()))
    first, second = (100 * recalls(found[name].rankings, pool.questions)["R@5"] for name in (FITTED, WALK))
    gain = paired_difference(first, second, rng=np.random.default_rng(options.seed))
    print(
        f"coverage, out of fold, against the walk alone, R@5: {gain.value:+.1f} ({gain.low:+.1f} to {gain.high:+.1f})"
    )
    if options.out is not None:
        kept = {
            "rows": [asdict(row) for row in rows],
            "weights": weights,
            "by_weight": sweep,
            "halves": parts,
            "gain": asdict(gain),
        }
        (options.out / "retrieval.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
