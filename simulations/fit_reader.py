"""Fit the trees that choose sentences and spans, on training questions, and say how well they do on ones left out.

    python simulations/fit_reader.py --data FOLDER [--limit 500] [--out fedrag_flwr/inference/weights]

FOLDER holds the multi-hop files (default: $FEDRAG_DATA). Rows of ``split = train`` only: the 100 of HotpotQA, with
weight 2, and the first `--limit` of 2WikiMultihopQA. A second stage always sees scores that the first gave to questions
it was not fitted on (five folds by question), and so are the printed figures.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.metrics import f1
from fedrag_flwr.inference.agreeing import agree
from fedrag_flwr.inference.reader import READ
from fedrag_flwr.inference.reading import LINK_FEATURES, NEAR_FEATURES, link_features, near_features
from fedrag_flwr.inference.spans import SPAN_FEATURES, span_features, spans_of
from fedrag_flwr.inference.support import is_yes_no
from fedrag_flwr.inference.trees import SCHEMA, WEIGHTS
from fedrag_flwr.models import load_encoder
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text.pipeline import SpacyPipeline
from simulations.corpora.reader_corpus import Row, rows

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingClassifier  # type: ignore[import-untyped]

TARGET, OTHER = "hotpotqa", "2wikimultihopqa"
WEIGHTS_OF = {TARGET: 2.0}
FOLDS = 5
RATE = 0.06
SEED = 7
READ_FROM = (-1.5, -1.2, -0.9, -0.6, -0.3, 0.0)  # log-odds from which the model might not be asked
RIGHT = 0.6  # F1 from which a span counts as the answer
SENTENCE_TREES = {"n_estimators": 120, "max_depth": 4, "min_samples_leaf": 8}
SPAN_TREES = {"n_estimators": 120, "max_depth": 3, "min_samples_leaf": 8}


def classifier(shape: dict[str, int]) -> GradientBoostingClassifier:
    """Unfitted trees; few features and rows to each, as the questions are few."""
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(learning_rate=RATE, subsample=0.6, max_features=0.4, random_state=SEED, **shape)


@dataclass(frozen=True, slots=True)
class Stacked:
    """The rows of several questions in one: features, which are right, and each row's question and weight."""

    features: NDArray[np.float64]
    right: NDArray[np.bool_]
    question: NDArray[np.int64]
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        asked: Sequence[Row],
        features: Sequence[NDArray[np.float64]],
        right: Sequence[NDArray[np.bool_]],
        left: Sequence[int] = (),
    ) -> Stacked:
        """Stack what belongs to each question, without those at the numbers `left` out."""
        kept = [number for number in range(len(asked)) if number not in set(left)]
        sizes = [len(right[number]) for number in kept]
        weights = [WEIGHTS_OF.get(asked[number].source, 1.0) for number in kept]
        return cls(
            np.concatenate([features[number] for number in kept]),
            np.concatenate([right[number] for number in kept]),
            np.repeat(kept, sizes),
            np.repeat(weights, sizes),
        )

    def split(self, scores: NDArray[np.float64], count: int) -> list[NDArray[np.float64]]:
        """Scores of each question's rows; none for a question that was left out."""
        return [scores[self.question == number] for number in range(count)]


def left_out(stacked: Stacked, shape: dict[str, int]) -> NDArray[np.float64]:
    """Log-odds of each row by trees that were fitted on other questions, shape (n,)."""
    from sklearn.model_selection import GroupKFold  # type: ignore[import-untyped]

    scores = np.zeros(len(stacked.right))
    for fitted, held in GroupKFold(FOLDS).split(stacked.features, stacked.right, stacked.question):
        model = classifier(shape)
        model.fit(stacked.features[fitted], stacked.right[fitted], sample_weight=stacked.weight[fitted])
        scores[held] = model.decision_function(stacked.features[held])
    return scores


def ship(
    path: Path, names: Sequence[str], stacked: Stacked, shape: dict[str, int], manifest: dict[str, object]
) -> None:
    """Fit on all rows and write the trees as JSON."""
    model = classifier(shape).fit(stacked.features, stacked.right, sample_weight=stacked.weight)
    prior = model.init_.class_prior_[1]
    trees = []
    for (one,) in model.estimators_:
        tree = one.tree_
        nodes = zip(
            tree.feature, tree.threshold, tree.children_left, tree.children_right, tree.value[:, 0, 0], strict=True
        )
        trees.append(
            [
                [max(int(feature), -1), round(float(at), 6), int(left), int(right), round(float(v) * RATE, 6)]
                for feature, at, left, right, v in nodes
            ]
        )
    fields = {
        "schema": SCHEMA,
        "manifest": manifest | {"rows": len(stacked.right), "right": int(stacked.right.sum())},
        "features": list(names),
        "base": math.log(prior / (1.0 - prior)),
        "depth": shape["max_depth"],
        "trees": trees,
    }
    path.write_text(json.dumps(fields, separators=(",", ":")) + "\n", encoding="utf-8")


def ranked(asked: Sequence[Row]) -> tuple[Stacked, Stacked, list[NDArray[np.float64]]]:
    """Both stages' rows, and the log-odds of each question's sentences by trees fitted on other questions."""
    count, gold = len(asked), [row.gold for row in asked]
    near = [near_features(row.pool) for row in asked]
    first = Stacked.of(asked, near, gold)
    alone = first.split(left_out(first, SENTENCE_TREES), count)
    linked = [
        np.concatenate([by_itself, link_features(row.pool, scores)], axis=1)
        for row, by_itself, scores in zip(asked, near, alone, strict=True)
    ]
    second = Stacked.of(asked, linked, gold)
    return first, second, second.split(left_out(second, SENTENCE_TREES), count)


def fit(asked: Sequence[Row], out: Path, manifest: dict[str, object]) -> dict[str, object]:
    """Fit all three stages, write them, and give the figures on questions left out."""
    count = len(asked)
    first, second, scores = ranked(asked)
    orders = [[int(row) for row in np.argsort(-own, kind="stable")] for own in scores]
    offered = [spans_of(row.question, row.pool, order[:READ]) for row, order in zip(asked, orders, strict=True)]
    spans = [
        span_features(row.question, row.pool, order[:READ], own, found)
        for row, order, own, found in zip(asked, orders, scores, offered, strict=True)
    ]
    quality = [
        np.array([f1(span.text, row.answers) for span in found]) for row, found in zip(asked, offered, strict=True)
    ]
    closed = [number for number, row in enumerate(asked) if is_yes_no(row.answers[0])]
    third = Stacked.of(asked, spans, [own >= RIGHT for own in quality], closed)
    likely = third.split(left_out(third, SPAN_TREES), count)
    agrees = [
        agree(asked[number].question, asked[number].pool, scores[number]) == (asked[number].answers[0].lower() == "yes")
        for number in closed
    ]
    figures = {
        "questions": count,
        "yes_or_no": {"asked": len(closed), "right": round(float(np.mean(agrees)), 3)},
        "sentences": _recall(asked, orders),
        "span_f1": _mean(asked, [_chosen(own, told) for own, told in zip(quality, likely, strict=True)]),
        "span_f1_if_chosen_rightly": _mean(asked, [float(max(own, default=0.0)) for own in quality]),
        "read_from": [_read_from(asked, quality, likely, least) for least in READ_FROM],
    }
    manifest = manifest | {"left_out": figures}
    ship(out / "near.json", NEAR_FEATURES, first, SENTENCE_TREES, manifest)
    ship(out / "link.json", NEAR_FEATURES + LINK_FEATURES, second, SENTENCE_TREES, manifest)
    ship(out / "span.json", SPAN_FEATURES, third, SPAN_TREES, manifest)
    return figures


def _recall(asked: Sequence[Row], orders: Sequence[Sequence[int]]) -> dict[str, list[float]]:
    """Share of HotpotQA's gold sentences among the likeliest 2, 3, 4 and 6, and of questions with all of them."""
    found: dict[str, list[float]] = {"of gold": [], "all gold": []}
    for most in (2, 3, 4, 6):
        held = [row.gold[order[:most]].sum() / max(row.gold.sum(), 1) for row, order in zip(asked, orders, strict=True)]
        own = [share for row, share in zip(asked, held, strict=True) if row.source == TARGET]
        found["of gold"].append(round(float(np.mean(own)), 3))
        found["all gold"].append(round(float(np.mean([share == 1.0 for share in own])), 3))
    return found


def _read_from(
    asked: Sequence[Row], quality: Sequence[NDArray[np.float64]], likely: Sequence[NDArray[np.float64]], least: float
) -> dict[str, float]:
    """How many of HotpotQA's questions have a span of at least such log-odds, and how right the likeliest is."""
    sure = [
        _chosen(own, told)
        for row, own, told in zip(asked, quality, likely, strict=True)
        if row.source == TARGET and len(told) and float(told.max()) >= least
    ]
    return {"log_odds": least, "questions": len(sure), "f1": round(float(np.mean(sure)), 3) if sure else 0.0}


def _chosen(quality: NDArray[np.float64], likely: NDArray[np.float64]) -> float:
    return float(quality[int(np.argmax(likely))]) if len(likely) else 0.0


def _mean(asked: Sequence[Row], values: Sequence[float]) -> float:
    return round(float(np.mean([value for row, value in zip(asked, values, strict=True) if row.source == TARGET])), 3)


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the datasets")
    parser.add_argument("--limit", type=int, default=500, help="questions of 2WikiMultihopQA")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    if arguments.data is None:
        raise SourceError("there is no data", where="--data", fix="name the data folder, or set FEDRAG_DATA")
    encoder, pipeline = load_encoder(threads=1), SpacyPipeline()
    asked = [
        row
        for name, limit in ((TARGET, 100), (OTHER, arguments.limit))
        for row in rows(arguments.data / f"{name}.jsonl.gz", "train", limit, encoder, pipeline)
    ]
    manifest: dict[str, object] = {
        "fitted_by": "python simulations/fit_reader.py",
        "questions": {name: sum(row.source == name for row in asked) for name in (TARGET, OTHER)},
        "split": "train",
        "seed": SEED,
        "encoder": encoder.id,
        "pipeline": pipeline.id,
    }
    print(json.dumps(fit(asked, arguments.out, manifest), indent=1))


if __name__ == "__main__":
    main()
