"""HKVM-RAG's key spaces over a whole device: all paragraphs of a split of a set in one pool, instead of ten a question.

    python simulations/bench_key_pools.py [--data FOLDER] [--split dev] [--seed 7] [--out docs/benchmarks]

Among the ten paragraphs of a question of HotpotQA or 2WikiMultiHopQA every ranking has all supporting ones in its
first ten; among some thousands that has to be earned. The tuples are those of the rules over the parse, the same for
every key space; they are extracted once (some six minutes) and kept under the project's home. Weighted answer paths
stand with one step of diffusion and two, whole and pruned to their heaviest edges (section VII). Nothing is fitted.
"all@k" says that all supporting paragraphs are among the first k, "support@k" that one of them holds the answer, over
the questions whose answer stands in some supporting paragraph; per cent. In brackets 95 % paired-bootstrap intervals
over questions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import accuracy
from fedrag_flwr.hypergraph import (
    PRESETS,
    DiffusionSettings,
    HyperedgeKeys,
    TupleTable,
    VertexSeeds,
    answer_paths,
)
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval import Bm25Retriever, KeySpaceRetriever, searchable_text
from fedrag_flwr.sources.benchmark import read_multihop
from simulations.bench_controller import difference, shown, table
from simulations.bench_key_spaces import tuples_of_pool
from simulations.corpora.sentences import DATASETS, find_data
from simulations.parts.candidate_rankings import RARE, SHARPNESS, SPACES, key_spaces
from simulations.reporting.folders import out_folder

MEASURES = ("R@5", "R@10", "all@5", "all@10", "all@20", "support@5", "support@10")
COMPARED = ("all@10", "all@20", "support@10")
FIRST, SECOND = "weighted answer paths", "pairwise PageRank"
Floats = NDArray[np.float64]


def ranked_pool(
    questions: Sequence[GoldQuestion], passages: Sequence[Passage], tuples: Sequence[EvidenceTuple]
) -> Iterator[tuple[str, dict[str, Floats]]]:
    """Each key space with both kinds of seeds, and its measures, each of shape (questions,), NaN where undefined."""
    names = [passage.id for passage in passages]
    text_of = {passage.id: searchable_text(passage) for passage in passages}
    facts, sparse = TupleTable.of(tuples, names), Bm25Retriever(passages)
    plain = VertexSeeds(facts.vertices)
    rare = VertexSeeds(facts.vertices, by_rarity=True, sharpness=SHARPNESS)
    paths = answer_paths(facts, PRESETS["paper"])
    spaces = dict(zip(SPACES, key_spaces(facts, paths), strict=True))
    spaces[f"{FIRST}, two steps"] = HyperedgeKeys("weighted", facts, paths, DiffusionSettings(depth=2))
    for share, told in ((0.5, "half"), (0.25, "quarter")):
        spaces[f"{FIRST}, heaviest {told}"] = HyperedgeKeys("weighted", facts, paths.pruned(share))
    for name, space in spaces.items():
        for kind, seeds in (("", plain), (RARE, rare)):
            retriever = KeySpaceRetriever(space, seeds, sparse)
            found = []
            for question in questions:
                gold = set(question.documents)
                answering = {one for one in gold if accuracy(text_of[one], (question.answer, *question.aliases))}
                top = [one.passage_id for one in retriever.rank(question.text, 20)]
                found.append(measured(top, gold, answering))
            yield f"{name}{kind}", {key: np.array([one[key] for one in found]) for key in MEASURES}


def measured(top: Sequence[str], gold: set[str], answering: set[str]) -> dict[str, float]:
    """One question's measures in per cent."""

    def share(k: int) -> float:
        return 100.0 * len(gold & set(top[:k])) / len(gold)

    def support(k: int) -> float:
        return 100.0 * bool(answering & set(top[:k])) if answering else np.nan

    every = {f"all@{k}": 100.0 * (gold <= set(top[:k])) for k in (5, 10, 20)}
    return {"R@5": share(5), "R@10": share(10), **every, "support@5": support(5), "support@10": support(10)}


def main() -> None:
    """Rank, print the tables and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--split", choices=("dev", "train"), default="dev")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    data = find_data(options.data)
    tuples_of = dict(tuples_of_pool(data))
    means, gains = [], []
    kept: dict[str, object] = {}
    for dataset, file in DATASETS.items():
        pool = read_multihop(data / f"{file}.jsonl.gz", options.split)
        asked = pool.questions
        passages = [Passage(one.id, one.id, one.title, one.text, ()) for one in pool.documents]
        tuples = [one for passage in passages for one in tuples_of[passage.id]]
        found = dict(ranked_pool(asked, passages, tuples))
        print(f"{dataset}: {len(asked)} questions over {len(passages):,} passages, {len(tuples):,} tuples", flush=True)
        for name, values in found.items():
            means.append([dataset, name, *(f"{np.nanmean(values[key]):.1f}" for key in MEASURES)])
        gained = {}
        for kind in ("", RARE):
            first, second = found[f"{FIRST}{kind}"], found[f"{SECOND}{kind}"]
            apart = {key: difference(told(first[key]), told(second[key]), options.seed) for key in COMPARED}
            gains.append([dataset, f"{FIRST} - {SECOND}{kind}", *(shown(one) for one in apart.values())])
            gained[f"{FIRST} - {SECOND}{kind}"] = {key: asdict(one) for key, one in apart.items()}
        kept[dataset] = {
            "questions": len(asked),
            "passages": len(passages),
            "tuples": len(tuples),
            "means": {
                name: {key: float(np.nanmean(values[key])) for key in MEASURES} for name, values in found.items()
            },
            "differences": gained,
        }
    print(table(["dataset", "key space", *MEASURES], means))
    print(table(["dataset", "difference", *COMPARED], gains))
    if options.out is not None:
        name = "key_pools.json" if options.split == "dev" else f"key_pools_{options.split}.json"
        (options.out / name).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def told(values: Floats) -> Floats:
    """Values of the questions for which a measure is defined."""
    return values[~np.isnan(values)]


if __name__ == "__main__":
    main()
