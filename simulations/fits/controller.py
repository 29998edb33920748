"""Which weights let the learned reranker find most in pools as large as a device's (HKVM-RAG IV-F)?

For each multi-hop set the paragraphs of its first training rows are put into one pool, and the rows' questions are
ranked over it by a device's own sources. Shown are these, and rerankers that were fitted without the question's fold,
with 95 % paired-bootstrap intervals. Vectors and tuples are kept under the project's home.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pandas import DataFrame

from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.base import searchable_text
from fedrag_flwr.retrieval.controller import ControllerFeatures
from fedrag_flwr.retrieval.controller_fitting import FittingSettings, LabelledRankings
from fedrag_flwr.retrieval.dense import QuestionVectors
from fedrag_flwr.retrieval.device_controller import SHIPPED_WEIGHTS
from fedrag_flwr.retrieval.evidence_sources import FEATURES, PathKeys, Sources
from simulations.bench.fitting import fit_controller, out_of_fold
from simulations.bench.frame import Bench
from simulations.bench.tables import gained, ids, recalls
from simulations.corpora.retrieval_pool import by_blocks
from simulations.corpora.sentences import DATASETS, encoded, rows_of

SEED = 7
ROWS = 100  # of each set
SETTINGS = FittingSettings()
ONE_HOP = ControllerFeatures(FEATURES.sources[:-1])
RERANKERS = {"reranker, out of fold": FEATURES, "reranker without second hop, out of fold": ONE_HOP}


def run(
    bench: Bench,
    write: Annotated[bool, typer.Option("--write", help="Put the fitted weights into the package.")] = False,
) -> None:
    """Rank, compare out of fold, and fit on all questions."""
    pools = {
        name: ranked_pool(bench.data() / f"{file}.jsonl.gz", bench.sized(ROWS, 2)) for name, file in DATASETS.items()
    }
    rows = [row for name, questions in pools.items() for row in compared(name, questions)]
    bench.table("controller", DataFrame(rows))
    everything = [question for questions in pools.values() for question in questions]
    told = f"{len(everything)} training questions of {', '.join(pools)}, each set's paragraphs in one pool"
    controller = fit_controller(FEATURES, everything, SETTINGS, np.random.default_rng(SEED), told)
    bench.tell(controller.fitted_on)
    if write and not bench.quick:
        controller.save(SHIPPED_WEIGHTS)


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
    vectors = encoded([searchable_text(passage) for passage in passages], "passages")
    keys = PathKeys.of([passage.id for passage in passages], dict(by_blocks(passages)))
    sources = Sources.over(passages, vectors, keys, QuestionVectors(load_encoder(threads=1))).retrievers
    return [
        LabelledRankings(tuple(source.rank(text, FEATURES.depth) for source in sources), gold) for text, gold in asked
    ]


def compared(name: str, questions: Sequence[LabelledRankings]) -> list[dict[str, object]]:
    """A table's rows for one set: each source alone, and rerankers fitted on the other folds."""
    orders = {source: [ids(one.rankings[place]) for one in questions] for place, source in enumerate(FEATURES.sources)}
    for row, features in RERANKERS.items():
        seen = [LabelledRankings(one.rankings[: len(features.sources)], one.supporting) for one in questions]
        orders[row] = list(map(ids, out_of_fold(features, seen, SETTINGS, np.random.default_rng(SEED))))
    found = {row: recalls(one, [q.supporting for q in questions], (2, 5)) for row, one in orders.items()}
    best = max(ONE_HOP.sources, key=lambda source: float(found[source]["R@5"].mean()))
    return [
        {"set": name, "ranker": row, **one.mean().round(1), "R@5 - best source": gained(one, found[best], "R@5", SEED)}
        for row, one in found.items()
    ]
