"""How many of a question's passages does each retriever find in one large pool?

``pool`` ranks HippoRAG's: 1,890 passages, 100 questions of MuSiQue, GPT-3.5's tuples. Rerankers are fitted in five
folds; each question is ranked by what was fitted on the other four. Times leave out encoding the question. ``sets``
pools all paragraphs of a set's dev questions, with the tuples of the rules over the parse, for HKVM-RAG's key spaces.
Vectors and tuples are kept under the project's home.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from pandas import DataFrame

from fedrag_flwr.evaluation.bootstrap import mean_interval
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import accuracy
from fedrag_flwr.hypergraph.answer_paths import DiffusionSettings, HyperedgeKeys
from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import Retriever, searchable_text
from fedrag_flwr.retrieval.controller import ControlledRetriever, ControllerFeatures
from fedrag_flwr.retrieval.controller_fitting import FittingSettings, LabelledRankings
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.late import LateInteractionRetriever
from fedrag_flwr.retrieval.sparse import Bm25Retriever
from simulations.bench.fitting import fit_controller, out_of_fold
from simulations.bench.frame import Bench
from simulations.bench.plan import named
from simulations.bench.rank_fusion import ReciprocalRankFusion
from simulations.bench.tables import Order, gained, ids, recalls
from simulations.corpora.candidates import PAIRWISE, PATHS, RARE, by_key_spaces, key_spaces
from simulations.corpora.key_spaces import pruned
from simulations.corpora.multihop import read_multihop
from simulations.corpora.page_rank import PassageGraph
from simulations.corpora.passage_walk import FactTable, PassageWalkRetriever, normalised
from simulations.corpora.retrieval_pool import Pool, by_blocks, hipporag_pool, own_tuples, question_vectors, token_table
from simulations.corpora.sentences import DATASETS, encoded, pooled_documents

SEED, DEEPEST = 7, 10
LATE, WALK = "late interaction over 100 dense", "walk over vertices and passages"
RERANKERS: Mapping[str, tuple[str, ...]] = {
    "reranker: dense, BM25, answer paths": ("dense", "BM25", f"{PATHS}{RARE}"),
    "reranker: first stages": ("dense", "BM25", LATE),
    "reranker: first stages, answer paths": ("dense", "BM25", LATE, f"{PATHS}{RARE}"),
}


def run(
    bench: Bench,
    parts: Annotated[str, typer.Option(help="pool, sets: separated by commas.")] = "pool,sets",
    own: Annotated[bool, typer.Option(help="Walk over the tuples of the rules, too.")] = False,
) -> None:
    """Rank pools by every retriever."""
    chosen = named(parts, ("pool", "sets"), "part")
    if "pool" in chosen:
        pool = hipporag_pool(bench.data())
        _rank_pool(bench, pool.first(2) if bench.quick else pool, own)
    if "sets" in chosen:
        _rank_sets(bench)


def _rank_pool(bench: Bench, pool: Pool, own: bool) -> None:
    """HippoRAG's pool, by every retriever and by rerankers over some of them."""
    supporting = [question.documents for question in pool.questions]
    made = retrievers(pool, question_vectors(pool), own)
    runs = {name: rank_all(one, pool) for name, one in made.items()}
    runs |= {name: _reranked(pool, made, sources) for name, sources in RERANKERS.items()}
    found = {name: recalls(one.orders, supporting, (2, 5, 10)) for name, one in runs.items()}
    rows = []
    for name, measured in found.items():
        interval = mean_interval(measured["R@5"].to_numpy(), rng=np.random.default_rng(SEED))
        told = {"R@5 95 %": f"{interval.low:.0f}-{interval.high:.0f}"}
        told["R@5 - dense"] = gained(measured, found["dense"], "R@5", SEED)
        rows.append({"ranker": name, **measured.mean().round(1), **told, "cpu ms": round(runs[name].ms, 1)})
    bench.table("pool", DataFrame(rows), f"{len(pool.questions)} questions over {len(pool.passages)} passages")


@dataclass(frozen=True, slots=True)
class Ranked:
    """One retriever's orders of all questions, and the mean milliseconds of this thread's own time for one."""

    orders: list[Order]
    ms: float


def rank_all(retriever: Retriever, pool: Pool) -> Ranked:
    """Rank all questions."""
    retriever.rank(pool.questions[0].text, DEEPEST)
    start = time.thread_time()
    orders = [ids(retriever.rank(question.text, DEEPEST)) for question in pool.questions]
    return Ranked(orders, 1e3 * (time.thread_time() - start) / len(orders))


def retrievers(pool: Pool, questions: QuestionVectors, own: bool) -> dict[str, Retriever]:
    """The retrievers of which nothing is fitted."""
    vectors = encoded([searchable_text(passage) for passage in pool.passages], "passages")
    tokens, sparse = token_table(pool.passages, questions), Bm25Retriever(pool.passages)
    dense = DenseRetriever([passage.id for passage in pool.passages], vectors, questions)
    late = LateInteractionRetriever(tokens, questions, dense)
    table = TupleTable.of(pool.tuples, [passage.id for passage in pool.passages])
    rows: dict[str, Retriever] = {
        "BM25": sparse,
        "dense": dense,
        "late interaction": LateInteractionRetriever(tokens, questions),
        LATE: late,
        "rank fusion: BM25, dense, late": ReciprocalRankFusion([sparse, dense, late]),
        **by_key_spaces(table, key_spaces(table), sparse),
        WALK: walk(pool, pool.tuples, dense, questions),
    }
    if own:
        rows[f"{WALK}, rule tuples"] = walk(pool, own_tuples(pool.passages), dense, questions)
    return rows


def walk(
    pool: Pool, extracted: Sequence[EvidenceTuple], dense: DenseRetriever, questions: QuestionVectors
) -> PassageWalkRetriever:
    """PageRank over vertices and passages."""
    tuples = normalised(extracted)
    table = TupleTable.of(tuples, [passage.id for passage in pool.passages])
    facts = FactTable.of(tuples, table)
    vertices = encoded(table.vertices, "vertices")
    statements = encoded(facts.texts, "facts")
    return PassageWalkRetriever(PassageGraph(table, vertices), facts, statements, dense, questions)


def _reranked(pool: Pool, made: Mapping[str, Retriever], sources: tuple[str, ...]) -> Ranked:
    """A learned reranker over some sources, out of fold; timed is one that was fitted on all questions."""
    features, settings = ControllerFeatures(sources), FittingSettings()
    brought = [
        LabelledRankings(
            tuple(made[name].rank(question.text, DEEPEST) for name in sources), frozenset(question.documents)
        )
        for question in pool.questions
    ]
    found = out_of_fold(features, brought, settings, np.random.default_rng(SEED))
    controller = fit_controller(features, brought, settings, np.random.default_rng(SEED))
    timed = rank_all(ControlledRetriever([made[name] for name in sources], controller), pool)
    return Ranked([ids(ranking) for ranking in found], timed.ms)


def _rank_sets(bench: Bench) -> None:
    """HKVM-RAG's key spaces over the pooled dev paragraphs of each set."""
    documents = pooled_documents(bench.data())
    tuples = dict(by_blocks([Passage(one.id, one.id, one.title, one.text, ()) for one in documents]))
    means, gains = [], []
    for dataset, file in DATASETS.items():
        pool = read_multihop(bench.data() / f"{file}.jsonl.gz", "dev")
        passages = [Passage(one.id, one.id, one.title, one.text, ()) for one in pool.documents]
        found = rank_by_spaces(pool.questions, passages, [one for p in passages for one in tuples[p.id]])
        told = {"set": dataset, "questions": len(pool.questions), "passages": len(passages)}
        means += [{**told, "key space": name, **measured.mean().round(1)} for name, measured in found.items()]
        for kind in ("", RARE):
            first, second = found[f"{PATHS}{kind}"], found[f"{PAIRWISE}{kind}"]
            apart = {measure: gained(first, second, measure, SEED) for measure in ("all@10", "all@20", "support@5")}
            gains.append({"set": dataset, "difference": f"{PATHS} - {PAIRWISE}{kind}", **apart})
        bench.tell(f"{dataset}: {len(pool.questions)} questions over {len(passages):,} passages")
    bench.table("sets", DataFrame(means))
    bench.table("sets_difference", DataFrame(gains))


def rank_by_spaces(
    questions: Sequence[GoldQuestion], passages: Sequence[Passage], tuples: Sequence[EvidenceTuple]
) -> dict[str, DataFrame]:
    """Each key space with both kinds of seeds, whole, deeper and pruned (section VII): its measures by question."""
    table = TupleTable.of(tuples, [passage.id for passage in passages])
    spaces = key_spaces(table)
    paths = spaces[PATHS]
    if isinstance(paths, HyperedgeKeys):
        spaces[f"{PATHS}, two steps"] = HyperedgeKeys("deeper", table, paths.edges, DiffusionSettings(depth=2))
        spaces[f"{PATHS}, heaviest half"] = HyperedgeKeys("pruned", table, pruned(paths.edges, 0.5))
    text_of = {passage.id: searchable_text(passage) for passage in passages}
    supporting = [question.documents for question in questions]
    answering = [
        [name for name in question.documents if accuracy(text_of[name], (question.answer, *question.aliases))]
        for question in questions
    ]
    made = by_key_spaces(table, spaces, Bm25Retriever(passages))
    return {
        name: recalls([ids(one.rank(q.text, 20)) for q in questions], supporting, (5, 10, 20), answering)
        for name, one in made.items()
    }
