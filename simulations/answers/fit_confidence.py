"""Fit the confidence of answers, and the thresholds of memory, on training questions.

    python -m simulations.answers.fit_confidence [--data FOLDER] [--generator NAME] [--write]

Each training question of `demo` and `guides` is answered in one call, and so are questions made of them that nothing
answers (`simulations.answers.made_up`). A logistic regression over `judge.READ_FEATURES` gives the probability that an
answer is right; questions that the adapter was fitted on weigh less. Drafts are kept under ``$FEDRAG_HOME/benchmarks``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedrag_flwr.answering.judge import ANY, READ_FEATURES, RECALL_FEATURES, SHIPPED, recall_features
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from simulations.answers.made_up import made_up
from simulations.answers.scoring import judged
from simulations.answers.sets import read_set
from simulations.answers.world import open_world

SETS = ("demo", "guides")
MADE_UP = {"demo": 40, "guides": 30}
SEED = 11
PULL = 0.05  # inverse strength of the pull of weights towards 0


def drafts(name: str, data: Path, settings: Settings, kept: Path) -> list[dict[str, Any]]:
    """A set's training questions with their drafts' features, and what memory says to them."""
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {row["id"] for row in known}
    asked = read_set(name, data, "train")
    with open_world(asked, settings) as device, kept.open("a", encoding="utf-8") as file:
        questions = list(asked.together().questions)
        for gold in [*questions, *made_up(questions, device.toolbox.pipeline, MADE_UP[name], SEED)]:
            if gold.question_id not in done:
                row = {"set": name, **_draft(device, gold)}
                file.write(json.dumps(row) + "\n")
                file.flush()
                known.append(row)
    return known


def _draft(device: EdgeDevice, gold: GoldQuestion) -> dict[str, Any]:
    engine = device.engine
    found = engine.drafted(gold.text)
    memories = []
    [vector] = device.toolbox.encoder.encode([gold.text])
    analysis = device.toolbox.pipeline.question(gold.text)
    for recalled in engine.recall.knowing(gold.text, vector, analysis):
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


def fit_logistic(values: Sequence[Sequence[float]], right: Sequence[bool]) -> tuple[list[float], float]:
    """Weights and bias of a logistic regression over features of shape (n, features)."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, unused-ignore]

    x = np.array(values, dtype=np.float64)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    model = LogisticRegression(C=PULL, max_iter=2_000).fit((x - mean) / deviation, np.array(right))
    weights = model.coef_[0] / deviation
    return weights.round(5).tolist(), round(float(model.intercept_[0] - weights @ mean), 5)


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
        key = hashlib.sha256(f"{arguments.generator}{settings.inference.words}".encode()).hexdigest()[:8]
        kept = fedrag_home() / "benchmarks" / f"confidence-{name}-{key}.jsonl"
        kept.parent.mkdir(parents=True, exist_ok=True)
        rows += drafts(name, arguments.data, settings, kept)
    given = [row for row in rows if row["answered"]]
    weights, bias = fit_logistic([row["features"] for row in given], [bool(row["right"]) for row in given])
    told = [0.0 + bias + float(np.dot(weights, row["features"])) for row in given]
    for level in (0.2, 0.3, 0.4, 0.5, 0.6):
        kept_rows = [row for row, odds in zip(given, told, strict=True) if 1 / (1 + np.exp(-odds)) >= level]
        right = sum(bool(row["right"]) for row in kept_rows)
        print(f"level {level}: {len(kept_rows)} of {len(rows)} answered, {right} right")
    if arguments.write:
        model = {"features": READ_FEATURES, "weights": weights, "bias": bias}
        file = json.loads(SHIPPED.read_text(encoding="utf-8"))
        file["reading"][ANY] = model
        known = [one for row in rows for one in row["memories"]]
        weights, bias = fit_logistic([one[: len(RECALL_FEATURES)] for one in known], [one[-2] for one in known])
        file["recall"] = {"features": RECALL_FEATURES, "weights": weights, "bias": bias}
        on = ", ".join(f"{name} {sum(row['set'] == name for row in rows)}" for name in SETS)
        file["fitted_on"] = f"training questions, some made so that nothing answers them: {on}"
        replace_file(SHIPPED, (json.dumps(file, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
