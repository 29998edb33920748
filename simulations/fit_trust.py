"""Fit how likely an answer over evidence is to be right, and show what abstaining by it is worth.

    python simulations/fit_trust.py --data FOLDER [--limit 60] [--out docs/benchmarks/trust.json]

The default generator answers multi-hop questions at a home that holds each paragraph with a chance of two in five, and
then all of them, writing freely and choosing among typed facts. Fitted are training rows; the reader's log-odds are
better on those of HotpotQA and 2WikiMultiHopQA than elsewhere, as it was fitted on them, too. Reported are dev rows:
calibration, and the area under the risk-coverage curve (share of wrong answers among those given, over all shares
that may be given) by trust and by the evidence's nearness. Rows are kept as they come (numbers alone), so that a run
goes on.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.metrics import f1
from fedrag_flwr.evaluation.risk import risk_coverage
from fedrag_flwr.inference.cognizer import Cognizer
from fedrag_flwr.inference.reader import read, shown_facts
from fedrag_flwr.inference.trust import FEATURES, SHIPPED, features_of
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.toolbox import load_toolbox
from simulations.corpora.reader_corpus import candidates_of, rows_of
from simulations.reporting.row_file import RowFile, this_code

SETS = ("hotpotqa", "2wikimultihopqa", "musique")
SHARES = (0.4, 1.0)
RIGHT = 0.6  # F1 from which an answer counts as right
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
Row = dict[str, Any]


def collect(data: Path, limit: int, kept: RowFile) -> list[Row]:
    """The first rows of each set and split: those that are kept, and those that were missing."""
    known = [asked for asked in kept.rows() if asked["number"] < limit]
    done = {(asked["split"], asked["set"], asked["number"]) for asked in known}
    for split in ("train", "dev"):
        for name in SETS:
            for asked in _asked(data / f"{name}.jsonl.gz", split, name, limit, done):
                kept.add(asked)
                known.append(asked)
            print(f"{split} {name}: done", flush=True)
    return [{**asked, **answer} for asked in known for answer in asked["answers"]]


def _asked(path: Path, split: str, name: str, limit: int, done: set[tuple[str, str, int]]) -> Iterator[Row]:
    settings = Settings()
    tools = load_toolbox(settings.models, fedrag_home())
    choosing = replace(Cognizer.of(settings, tools.generator), abstain_below=-1.0)
    rng = np.random.default_rng(settings.seed)
    for number, fields in enumerate(rows_of(path, split, limit)):
        drawn = rng.random((len(SHARES), len(fields["paragraphs"])))
        if (split, name, number) in done:
            continue
        question = fields["question"].strip()
        analysis = tools.pipeline.question(question)
        paragraphs = candidates_of(fields, tools.encoder, tools.pipeline)
        answers = []
        for share, chances in zip(SHARES, drawn, strict=True):
            held = [one for one, chance in zip(paragraphs, chances, strict=True) if chance < share]
            reading = read(question, analysis, [candidate for one in held for candidate in one])
            units = reading.units(settings.inference.evidence_units)
            facts = shown_facts(reading, units)
            for free in (True, False):
                verdict = replace(choosing, free=free).answer(question, analysis, units, (), facts, reading)
                if verdict.text:
                    right = f1(verdict.text, (fields["answer"], *fields["aliases"])) >= RIGHT
                    told = [float(value) for value in features_of(verdict, reading)]
                    answers.append({"share": share, "free": free, "features": told, "right": right})
        yield {"split": split, "set": name, "number": number, "answers": answers}


def fit(rows: Sequence[Row]) -> tuple[NDArray[np.float64], float]:
    """Weights and bias of a logistic model, on these rows."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    model = LogisticRegression(C=1.0, max_iter=1_000)
    model.fit([row["features"] for row in rows], [row["right"] for row in rows])
    return model.coef_[0], float(model.intercept_[0])


def report(rows: Sequence[Row], weights: NDArray[np.float64], bias: float) -> Row:
    """Areas and calibration on rows that were not fitted."""
    matrix = np.array([row["features"] for row in rows])
    wrong = [not row["right"] for row in rows]
    trust = 1.0 / (1.0 + np.exp(-(matrix @ weights + bias)))
    curve, near = risk_coverage(trust.tolist(), wrong), risk_coverage(matrix[:, 0].tolist(), wrong)
    place = np.digitize(trust, BINS[1:-1])
    right = ~np.array(wrong)
    return {
        "answers": len(rows),
        "wrong": round(float(np.mean(wrong)), 3),
        "area by trust": round(curve.area, 3),
        "area by nearness": round(near.area, 3),
        "risk at half": [round(curve.at(0.5), 3), round(near.at(0.5), 3)],
        "calibration": [
            [f"{low:g} to {high:g}", int((place == row).sum()), round(float(right[place == row].mean()), 2)]
            for row, (low, high) in enumerate(itertools.pairwise(BINS))
            if (place == row).any()
        ],
        "brier": round(float(np.mean((trust - right) ** 2)), 3),
    }


def main() -> None:
    """Parse the command line, fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root())
    parser.add_argument("--limit", type=int, default=60, help="rows of a set and split")
    parser.add_argument("--rows", type=Path, default=fedrag_home() / "trust-rows.jsonl")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/trust.json"))
    parser.add_argument("--model", type=Path, default=SHIPPED)
    options = parser.parse_args()
    if options.data is None:
        raise SourceError("is not set", where="FEDRAG_DATA", fix="give --data FOLDER")
    generator_id = load_toolbox(Settings().models, fedrag_home()).generator_id
    rows = collect(options.data, options.limit, RowFile(options.rows, this_code(generator_id)))
    weights, bias = fit([row for row in rows if row["split"] == "train"])
    count = sum(row["split"] == "train" for row in rows)
    told = {
        "features": FEATURES,
        "weights": [round(float(value), 4) for value in weights],
        "bias": round(bias, 4),
        "fitted_on": f"{count} answers to train questions of {', '.join(SETS)}",
    }
    options.model.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    dev = [row for row in rows if row["split"] == "dev"]
    results = {"fitted": count, "all": report(dev, weights, bias)}
    results |= {name: report([row for row in dev if row["set"] == name], weights, bias) for name in SETS}
    print(json.dumps(told | results, indent=1))
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
