"""Fit RAGRoute's network and its threshold on training questions, and report on dev questions.

The paragraphs of each multi-hop set are dealt to devices, at random and by topic. For each question it is asked which
devices have a supporting paragraph among their nearest ones. The threshold is the highest at which cross-validation
over training questions still finds nine tenths of those devices.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from pandas import DataFrame
from sklearn.cluster import KMeans  # type: ignore[import-untyped, unused-ignore]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped, unused-ignore]

from fedrag_flwr.retrieval.source_router import (
    ARRAYS,
    FEATURES,
    GROUPS,
    SHIPPED,
    SourceRouter,
    centroids_of,
    features_of,
)
from fedrag_flwr.text.segment import under_title
from simulations.bench.frame import Bench
from simulations.corpora.multihop import Benchmark, read_multihop
from simulations.corpora.sentences import DATASETS, encoded

Floats = NDArray[np.float32]
_SEED = 7
_HITS = 5  # of a device's nearest paragraphs, among which a supporting one counts
_UNITS = 16
_FOLDS = 5
_RECALL = 0.9
_DEVICES = (3, 5, 10)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question in one federation: features, (devices, features), and who had relevant hits, (devices,)."""

    features: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    question: str
    federation: str


def run(
    bench: Bench,
    questions: Annotated[int, typer.Option(help="Of each set and split.")] = 40,
    write: Annotated[bool, typer.Option(help="Put the network into the package.")] = False,
) -> None:
    """Fit on training rows, and print how the network does on dev rows."""
    examples: dict[str, list[Asked]] = {}
    for split in ("train", "dev"):
        rng, examples[split] = np.random.default_rng(_SEED), []
        for name, file in list(DATASETS.items())[: bench.sized(None, 1)]:
            benchmark = read_multihop(bench.data() / f"{file}.jsonl.gz", split, bench.sized(questions, 8))
            examples[split] += asked_of(name, benchmark, rng)
    fitted = fit(examples["train"], _SEED)
    router = replace(fitted, threshold=threshold_of(examples["train"], _SEED))
    write_router(router, SHIPPED if write else bench.out / SHIPPED.name)
    bench.tell(f"{len(FEATURES)} features, threshold {router.threshold:.4f}, fitted on {router.fitted_on}")
    bench.table("rag_route", report(router, examples["dev"]))


def write_router(router: SourceRouter, path: Path) -> None:
    """Write a network as JSON, as `SourceRouter.load` reads it."""
    arrays = {name: getattr(router, name).tolist() for name in ARRAYS}
    rest = {"output_bias": router.output_bias, "threshold": router.threshold, "fitted_on": router.fitted_on}
    path.write_text(json.dumps({"features": FEATURES, **arrays, **rest}, indent=1) + "\n", encoding="utf-8")


def federations(benchmark: Benchmark, vectors: Floats, devices: int, rng: np.random.Generator) -> dict[str, list[int]]:
    """Two ways of dealing paragraphs to devices: the device of each."""

    topics = KMeans(devices, n_init=1, random_state=int(rng.integers(2**31))).fit_predict(vectors)
    return {
        f"random {devices}": rng.integers(devices, size=len(benchmark.documents)).tolist(),
        f"topics {devices}": topics.tolist(),
    }


def asked_of(name: str, benchmark: Benchmark, rng: np.random.Generator) -> list[Asked]:
    """All questions of a dataset in all its federations."""
    vectors = encoded([under_title(one.title, one.text) for one in benchmark.documents], f"paragraphs of {name}")
    questions = encoded([one.text for one in benchmark.questions], f"questions of {name}")
    row = {document.id: number for number, document in enumerate(benchmark.documents)}
    found: list[Asked] = []
    for devices in _DEVICES:
        for kind, dealt in federations(benchmark, vectors, devices, rng).items():
            held = [np.flatnonzero(np.array(dealt) == number) for number in range(devices)]
            told = [(rows, centroids_of(vectors[rows], GROUPS, 0)) for rows in held]
            held = [rows for rows, one in told if len(one.vectors)]  # who tells of nothing is not asked
            centroids = [one for _, one in told if len(one.vectors)]
            for asked, vector in zip(benchmark.questions, questions, strict=True):
                gold = {row[document] for document in asked.documents if document in row}
                nearest = [rows[np.argsort(-(vectors[rows] @ vector))[:_HITS]].tolist() for rows in held]
                relevant = np.array([not gold.isdisjoint(rows) for rows in nearest], dtype=bool)
                if relevant.any():  # else only who tells of nothing has something
                    features = features_of(vector, centroids)
                    found.append(Asked(features, relevant, f"{name} {asked.question_id}", f"{name}, {kind}"))
    return found


def fit(examples: Sequence[Asked], seed: int) -> SourceRouter:
    """The network on these questions, with no threshold yet."""

    values, labels = np.concatenate([one.features for one in examples]), np.concatenate([e.relevant for e in examples])
    mean, deviation = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-6)
    network = MLPClassifier((_UNITS,), alpha=1e-3, max_iter=300, early_stopping=True, random_state=seed)
    network.fit((values - mean) / deviation, labels)
    hidden, output = network.coefs_
    names = sorted({one.federation for one in examples})
    fitted_on = f"{len({one.question for one in examples})} training questions in {len(names)} federations"
    biases = network.intercepts_
    return SourceRouter(mean, deviation, hidden, biases[0], output[:, 0], float(biases[1][0]), 0.5, fitted_on)


def threshold_of(examples: Sequence[Asked], seed: int) -> float:
    """The highest threshold that still finds the promised share of devices, by cross-validation over questions."""
    names = sorted({one.question for one in examples})
    numbers = np.random.default_rng(seed).permutation(len(names)).tolist()
    fold = dict(zip(names, numbers, strict=True))
    chances = []
    for number in range(_FOLDS):
        router = fit([one for one in examples if fold[one.question] % _FOLDS != number], seed)
        held_out = [one for one in examples if fold[one.question] % _FOLDS == number]
        chances += [chance for one in held_out for chance in router.chances_of(one.features)[one.relevant]]
    return float(np.quantile(chances, 1.0 - _RECALL))


def report(router: SourceRouter, examples: Iterable[Asked]) -> DataFrame:
    """Recall of relevant devices and devices asked, beside asking as many by their nearest centroid."""
    found = []
    for one in examples:
        chosen = router.choose(router.chances_of(one.features), len(one.relevant))
        by_cosine = np.argsort(-one.features[:, 0])[: len(chosen)]
        counts = one.relevant.sum(), one.relevant[chosen].sum(), one.relevant[by_cosine].sum()
        found.append((one.federation, *counts, len(chosen), len(one.relevant)))
    columns = ["federation", "relevant", "found", "by cosine", "asked", "devices"]
    groups = DataFrame(found, columns=columns).groupby("federation", sort=False)
    sums = groups.sum()
    table = DataFrame({"relevant devices asked, %": (100 * sums["found"] / sums["relevant"]).round(1)})
    table["by cosine"] = (100 * sums["by cosine"] / sums["relevant"]).round(1)
    table["devices asked"] = groups["asked"].mean().round(2)
    table["of all, %"] = (100 * sums["asked"] / sums["devices"]).round()
    return table.reset_index()
