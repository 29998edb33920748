"""What searchers found, row by row: rankings at any weight between two scores, and the tables of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from fedrag_flwr.evaluation.bootstrap import mean_interval, paired_difference
from fedrag_flwr.models.base import TextEncoder
from fedrag_flwr.retrieval.base import RankedPassage
from fedrag_flwr.sources.source_search import TextVectors
from fedrag_flwr.sources.text_search import word_weight
from simulations.bench.kept_rows import KeptRows
from simulations.bench.rank_fusion import fuse
from simulations.bench.ranking import hit_at, ndcg_at, precision_at, reciprocal_rank
from simulations.bench.tables import with_interval
from simulations.corpora.synthea import RecordQuestion

WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))
_RESAMPLING = 7
LABELS = {
    "bm25": "text: BM25",
    "dense": "text: dense",
    "tfidf": "text: TF-IDF",
    "held": "text: words held",
    "fused": "text: BM25 and dense by rank fusion",
    "eq1": "text: eq. 1, cosine",
    "text": "text: hybrid",
    "sql": "SQL",
    "graph": "graph",
}
TEXTS = ("bm25", "dense", "tfidf", "held", "fused", "eq1", "text")
ONE_SIDED = {"bm25": 1.0, "dense": 0.0, "tfidf": 1.0, "held": 1.0, "fused": 1.0}  # nothing to weigh


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit before weighting: its record, whether it is relevant, and its two scores."""

    record: str
    relevant: bool
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class Row:
    """What one searcher found for one question, and in how many seconds."""

    question: str
    split: str
    seconds: float
    candidates: tuple[Candidate, ...]
    lead_cost: float = 0.0  # 0: the same weight for every question

    def ranking(self, alpha: float) -> list[bool]:
        """Which places are relevant, each record once, by falling weighted score."""
        weight = word_weight(np.array([one.second for one in self.candidates]), alpha, self.lead_cost)
        scored = [(-(weight * one.first + (1 - weight) * one.second), one.record, one) for one in self.candidates]
        best: dict[str, bool] = {}
        for _, record, one in sorted(scored, key=lambda each: each[:2]):
            best.setdefault(record, one.relevant)
        return list(best.values())


Forms = dict[str, list[Row]]  # by searcher
Search = Callable[[RecordQuestion], list[Candidate]]


class CorpusOnce:
    """An encoder that several searches share: it encodes a corpus once, single questions each time."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.id, self.dimension = encoder.id, encoder.dimension
        self.token_embeddings = encoder.token_embeddings
        self._encoder, self._corpus = encoder, TextVectors(encoder)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to (n, dimension), unit rows."""
        return self._encoder.encode(texts) if len(texts) < 2 else self._corpus.of(texts)


def searched(kept: KeptRows, questions: Sequence[RecordQuestion], search: Search) -> list[Row]:
    """Search for the questions that are not in the file yet; the first of them pays for models and indexes."""
    todo = [question for question in questions if question.id not in kept]
    if todo:
        search(todo[0])
    for question in todo:
        start = time.perf_counter()
        found = search(question)
        seconds = time.perf_counter() - start
        told = [(one.record, one.relevant, round(one.first, 6), round(one.second, 6)) for one in found]
        kept.keep(question.id, {"question": question.id, "split": question.split, "seconds": seconds, "found": told})
    rows = [dict(kept[question.id]) for question in questions]
    return [Row(candidates=tuple(Candidate(*one) for one in row.pop("found")), **row) for row in rows]


def with_derived(rows: Mapping[str, Sequence[Row]], lead_cost: float) -> Forms:
    """Add what follows from rows of BM25, eq. 1 and the hybrid: each half alone, and rank fusion."""
    halves = list(rows["text"])
    return {
        **{form: list(each) for form, each in rows.items()},
        "dense": halves,
        "held": halves,
        "tfidf": list(rows["eq1"]),
        "fused": [_fused(*pair) for pair in zip(rows["bm25"], halves, strict=True)],
        "text": [replace(row, lead_cost=lead_cost) for row in halves],
    }


def _fused(by_words: Row, by_meaning: Row) -> Row:
    """Fuse the first 20 by BM25 and by meaning, equal weights."""
    near = sorted(by_meaning.candidates, key=lambda one: (-one.second, one.record))[:20]
    rankings = [tuple(RankedPassage(one.record, one.first) for one in each) for each in (by_words.candidates, near)]
    ranking = fuse(rankings, (1.0, 1.0), 40)
    relevant = {one.record: one.relevant for one in (*by_words.candidates, *by_meaning.candidates)}
    found = tuple(Candidate(one.passage_id, relevant[one.passage_id], one.score, 0.0) for one in ranking)
    return replace(by_meaning, seconds=by_words.seconds + by_meaning.seconds, candidates=found)


def pooled(results: Mapping[str, Mapping[str, Sequence[Row]]]) -> Forms:
    """The text rows of several sets as those of one; each question counts alike."""
    return {
        form: [replace(row, question=f"{name} {row.question}") for name, rows in results.items() for row in rows[form]]
        for form in TEXTS
    }


def sweep(rows: Sequence[Row], split: str) -> list[tuple[float, float]]:
    """MRR and nDCG@10 at each weight."""
    rankings = [[row.ranking(weight) for row in rows if row.split == split] for weight in WEIGHTS]
    return [
        (float(np.mean([*map(reciprocal_rank, each)])), float(np.mean([ndcg_at(one, 10) for one in each])))
        for each in rankings
    ]


def fitted_weights(results: Sequence[Forms]) -> dict[str, float]:
    """Of each searcher the weight with the highest MRR on train questions, each set of records counting alike."""
    chosen = dict(ONE_SIDED)
    for form in {form for rows in results for form in rows} - chosen.keys():
        sweeps = [[mrr for mrr, _ in sweep(rows[form], "train")] for rows in results if form in rows]
        chosen[form] = WEIGHTS[int(np.argmax(np.round(np.mean(sweeps, axis=0), 6)))]
    return chosen


def dev_table(rows: Forms, weights: Mapping[str, float]) -> DataFrame:
    """One line for each searcher, on dev questions, in per cent."""
    draw = np.random.default_rng(_RESAMPLING)
    hybrid = _reciprocal_ranks(rows["text"], weights["text"])
    lines: list[dict[str, object]] = []
    for form in (name for name in LABELS if name in rows):
        dev = [row for row in rows[form] if row.split == "dev"]
        rankings = [row.ranking(weights[form]) for row in dev]
        ranks = _reciprocal_ranks(rows[form], weights[form])
        more = paired_difference([hybrid[one] for one in ranks], list(ranks.values()), rng=draw)
        means = {f"P@{k}": [precision_at(one, k) for one in rankings] for k in (1, 5, 10)}
        means |= {"nDCG@10": [ndcg_at(one, 10) for one in rankings], "Hit@5": [hit_at(one, 5) for one in rankings]}
        line: dict[str, object] = {"source": LABELS[form], "weight": weights[form]}
        line["MRR"] = with_interval(mean_interval(list(ranks.values()), rng=draw), times=100)
        line |= {name: round(100 * float(np.mean(values)), 1) for name, values in means.items()}
        line["hybrid's MRR more"] = with_interval(more, "+", 100)
        lines.append(line | {"ms": round(1000 * median(row.seconds for row in dev)), "questions": len(dev)})
    return DataFrame(lines)


def _reciprocal_ranks(rows: Sequence[Row], weight: float) -> dict[str, float]:
    return {row.question: reciprocal_rank(row.ranking(weight)) for row in rows if row.split == "dev"}
