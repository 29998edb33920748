"""What searchers found, row by row: rankings at any weight between two scores, and the tables of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.evaluation import mean_interval, paired_difference
from fedrag_flwr.evaluation.ranking import hit_at, ndcg_at, precision_at, reciprocal_rank

WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))
_RESAMPLING = 7
LABELS = {
    "bm25": "text: BM25",
    "dense": "text: dense",
    "tfidf": "text: TF-IDF",
    "text": "text: hybrid, cosine",
    "text-maxsim": "text: hybrid, late interaction",
    "sql": "SQL",
    "sql-entities": "SQL, by entities alone",
    "graph": "graph",
    "graph-entities": "graph, by entities alone",
}


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

    def ranking(self, weight: float) -> list[bool]:
        """Which places are relevant, each record once, by falling weighted score."""
        scored = [(-(weight * one.first + (1 - weight) * one.second), one.record, one) for one in self.candidates]
        best: dict[str, bool] = {}
        for _, record, one in sorted(scored, key=lambda each: each[:2]):
            best.setdefault(record, one.relevant)
        return list(best.values())


def read_row(line: str) -> Row:
    """Read a row of a kept file."""
    question, split, seconds, found = json.loads(line)
    return Row(question, split, seconds, tuple(Candidate(*one) for one in found))


def sweep(rows: Sequence[Row], split: str) -> list[tuple[float, float]]:
    """MRR and nDCG@10 at each weight."""
    chosen = [row for row in rows if row.split == split]
    rankings = [[row.ranking(weight) for row in chosen] for weight in WEIGHTS]
    return [
        (float(np.mean([*map(reciprocal_rank, each)])), float(np.mean([ndcg_at(one, 10, 1) for one in each])))
        for each in rankings
    ]


def fitted_weights(results: Sequence[dict[str, list[Row]]]) -> dict[str, float]:
    """Of each searcher the weight with the highest MRR on train questions, each set of records counting alike."""
    chosen = {"bm25": 1.0, "dense": 0.0, "tfidf": 1.0}
    for form in {form for rows in results for form in rows} - chosen.keys():
        sweeps = [[mrr for mrr, _ in sweep(rows[form], "train")] for rows in results if form in rows]
        chosen[form] = WEIGHTS[int(np.argmax(np.round(np.mean(sweeps, axis=0), 6)))]
    return chosen


def dev_table(rows: dict[str, list[Row]], weights: dict[str, float]) -> list[dict[str, object]]:
    """One line for each searcher, on dev questions."""
    draw = np.random.default_rng(_RESAMPLING)
    forms = {"bm25": rows["bm25"], "dense": rows["text"], "tfidf": rows["text"], **rows}
    hybrid = _reciprocal_ranks(forms["text"], weights["text"])
    lines: list[dict[str, object]] = []
    for form in (name for name in LABELS if name in forms):
        dev = [row for row in forms[form] if row.split == "dev"]
        rankings = [row.ranking(weights[form]) for row in dev]
        ranks = _reciprocal_ranks(forms[form], weights[form])
        mean = mean_interval(list(ranks.values()), rng=draw)
        more = paired_difference([hybrid[one] for one in ranks], list(ranks.values()), rng=draw)
        lines.append(
            {
                "source": LABELS[form],
                "weight": weights[form],
                "MRR": f"{100 * mean.value:.1f} [{100 * mean.low:.1f}, {100 * mean.high:.1f}]",
                **{f"P@{k}": f"{100 * np.mean([precision_at(one, k) for one in rankings]):.1f}" for k in (1, 5, 10)},
                "nDCG@10": f"{100 * np.mean([ndcg_at(one, 10, 1) for one in rankings]):.1f}",
                "Hit@5": f"{100 * np.mean([hit_at(one, 5) for one in rankings]):.1f}",
                "hybrid's MRR more": f"{100 * more.value:+.1f} [{100 * more.low:+.1f}, {100 * more.high:+.1f}]",
                "ms": f"{1000 * np.median([row.seconds for row in dev]):.0f}",
                "questions": len(dev),
            }
        )
    return lines


def _reciprocal_ranks(rows: Sequence[Row], weight: float) -> dict[str, float]:
    return {row.question: reciprocal_rank(row.ranking(weight)) for row in rows if row.split == "dev"}


def markdown(lines: Sequence[dict[str, object]]) -> str:
    """Give a table as Markdown."""
    heads = list(lines[0])
    body = [heads, ["---"] * len(heads), *([str(value) for value in line.values()] for line in lines)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in body)
