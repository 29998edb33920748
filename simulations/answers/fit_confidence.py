"""Fit the confidence of answers, and the thresholds of memory, on training questions.

    python -m simulations.answers.fit_confidence [--data FOLDER] [--generator NAME] [--write]

Training questions of all sets are answered in one call, and so are questions made of those of `demo` and `guides` that
nothing answers (`simulations.answers.made_up`). A logistic regression over `judge.READ_FEATURES` gives the probability
that an answer is right. Memory is asked on `demo` and `guides`, whose stores have memories. Drafts are kept under
``$FEDRAG_HOME/benchmarks``. Printed is what each level of confidence keeps, of questions left out of the fit in turn.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedrag_flwr.answering.judge import READ_FEATURES, RECALL_FEATURES, SHIPPED, recall_features
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from simulations.answers.made_up import MARK, made_up
from simulations.answers.scoring import judged
from simulations.answers.sets import SETS, read_set
from simulations.answers.tables import markdown
from simulations.answers.world import open_world

ROWS = 60  # questions of each set but those
MADE_UP = {"demo": 40, "guides": 30}
FOLDS = 8
LEVELS = (0.0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
NOTHING = ("unanswerable", "other name", "other relation", "a count")  # kinds of questions that nothing answers
SEED = 11
PULL = 0.1  # inverse strength of the pull of weights towards 0
MADE_UP_WEIGHT = 0.3  # there are more of them than people ask
OTHERS_WEIGHT = 0.25  # of the other sets' questions, most of which take two hops


def drafts(name: str, data: Path, settings: Settings, kept: Path) -> list[dict[str, Any]]:
    """A set's training questions with their drafts' features, and what memory says to them."""
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {row["id"] for row in known}
    asked = read_set(name, data, "train")
    with open_world(asked, settings, memories=name in MADE_UP) as device, kept.open("a", encoding="utf-8") as file:
        questions = list(asked.together().questions)
        if name in MADE_UP:
            questions += made_up(questions, device.models.pipeline, MADE_UP[name], SEED)
        for gold in questions if name in MADE_UP else questions[:ROWS]:
            if gold.kind != "choice" and gold.question_id not in done:  # of listed options each has its share
                row = {"set": name, **_draft(device, gold)}
                file.write(json.dumps(row) + "\n")
                file.flush()
                known.append(row)
    return known


def _draft(device: EdgeDevice, gold: GoldQuestion) -> dict[str, Any]:
    engine = device.engine
    found = engine.drafted(gold.text)
    memories = []
    asked = engine.asked(gold.text)
    for recalled in engine.recall.knowing(gold.text, asked.vector, asked.analysis):
        right = judged(gold, recalled.match.item.answer) == "right"
        memories.append([*recall_features(recalled), right, recalled.match.item.kind])
    verdict = judged(gold, found.draft.text)
    return {
        "id": gold.question_id,
        "kind": gold.kind if gold.answer else "unanswerable",
        "answered": bool(found.draft.text),
        "right": verdict == "right",
        "features": list(found.features),
        "memories": memories,
    }


def fit_reading(rows: Sequence[dict[str, Any]]) -> Logistic:
    """The model of drafts that are answers."""
    given = [row for row in rows if row["answered"]]
    weigh = [
        (MADE_UP_WEIGHT if MARK in row["id"] else 1.0) * (1.0 if row["set"] in MADE_UP else OTHERS_WEIGHT)
        for row in given
    ]
    return fit_logistic(READ_FEATURES, [row["features"] for row in given], [row["right"] for row in given], weigh)


def fit_logistic(
    features: Sequence[str], values: Sequence[Sequence[float]], right: Sequence[bool], weigh: Sequence[float] | None
) -> Logistic:
    """A logistic regression over values of shape (n, features)."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, unused-ignore]

    x = np.array(values, dtype=np.float64)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    model = LogisticRegression(C=PULL, max_iter=2_000).fit((x - mean) / deviation, np.array(right), sample_weight=weigh)
    weights = model.coef_[0] / deviation
    bias = round(float(model.intercept_[0] - weights @ mean), 5)
    return Logistic(features=tuple(features), weights=tuple(weights.round(5).tolist()), bias=bias)


def left_out(rows: Sequence[dict[str, Any]]) -> list[float]:
    """The confidence of each answered row by a model that was fitted without its fold; 0 where there is no answer."""
    found = [0.0] * len(rows)
    for fold in range(FOLDS):
        model = fit_reading([row for at, row in enumerate(rows) if at % FOLDS != fold])
        for at, row in enumerate(rows):
            if at % FOLDS == fold and row["answered"]:
                found[at] = model.of(row["features"])
    return found


def level_table(rows: Sequence[dict[str, Any]], confidence: Sequence[float]) -> str:
    """What each level of confidence keeps."""
    lines = []
    for level in LEVELS:
        kept = [one >= level for one in confidence]
        cells = []
        for answerable in (True, False):
            of = [keep for row, keep in zip(rows, kept, strict=True) if (row["kind"] in NOTHING) != answerable]
            cells.append(f"{100 - 100 * float(np.mean(of)):.0f} %")
        right = sum(bool(row["right"]) for row, keep in zip(rows, kept, strict=True) if keep)
        lines.append((f"{level:.2f}", str(right), str(sum(kept) - right), *cells))
    return markdown(("level", "right", "wrong", "answerable declined", "unanswerable declined"), lines)


def main() -> None:
    """Draft, fit, and write on demand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder of evaluation data")
    parser.add_argument("--generator", default=Settings().models.generator)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.data is None:
        raise SourceError("there is no data", where="--data", fix="name the data folder, or set FEDRAG_DATA")
    settings = Settings.from_config(
        {
            "models.generator": arguments.generator,
            "models.generation-cache": False,
            "memory.delta": 0.3,
            "memory.told": 0.0,
        }
    )
    rows: list[dict[str, Any]] = []
    for name in SETS:
        key = hashlib.sha256(f"{READ_FEATURES}{arguments.generator}{settings.inference.words}".encode()).hexdigest()
        kept = fedrag_home() / "benchmarks" / f"confidence-{name}-{key[:8]}.jsonl"
        kept.parent.mkdir(parents=True, exist_ok=True)
        rows += drafts(name, arguments.data, settings, kept)
    confidence = left_out(rows)
    print(level_table(rows, confidence))
    own = [(one, row) for one, row in zip(confidence, rows, strict=True) if row["set"] in MADE_UP]
    print(f"\n{' and '.join(MADE_UP)} alone:\n\n{level_table([row for _, row in own], [one for one, _ in own])}")
    if arguments.write:
        write(rows)


def write(rows: Sequence[dict[str, Any]]) -> None:
    """Fit on all rows, and put the models in the place of the shipped ones."""
    file = json.loads(SHIPPED.read_text(encoding="utf-8"))
    file["reading"] = fit_reading(rows).model_dump()
    known = [one for row in rows for one in row["memories"]]
    values = [one[: len(RECALL_FEATURES)] for one in known]
    file["recall"] = fit_logistic(RECALL_FEATURES, values, [one[-2] for one in known], None).model_dump()
    on = ", ".join(f"{name} {sum(row['set'] == name for row in rows)}" for name in SETS)
    file["fitted_on"] = f"training questions, some made so that nothing answers them: {on}"
    replace_file(SHIPPED, (json.dumps(file, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
