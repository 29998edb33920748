"""Fit the confidence of answers, and the thresholds of memory, on training questions.

Training questions of all sets are answered in one call, and so are questions made of those of `demo` and `guides` that
nothing answers (`simulations.answers.made_up`). A logistic regression over `judge.READ_FEATURES` gives the probability
that an answer is right. Memory is asked on `demo` and `guides`, whose stores have memories. Printed is what each level
of confidence keeps, of questions left out of the fit in turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from pandas import DataFrame

from fedrag_flwr.answering.judge import READ_FEATURES, RECALL_FEATURES, SHIPPED, recall_features
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.settings import Plain, Settings
from simulations.answers.made_up import MARK, made_up
from simulations.answers.sets import SETS, judged, open_set, read_set
from simulations.bench.frame import Bench

Row = Mapping[str, Any]

QUICK_QUESTIONS = 2
ROWS = 60  # questions of each set but those
MADE_UP = {"demo": 40, "guides": 30}
FOLDS = 8
LEVELS = (0.0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
NOTHING = ("unanswerable", "other name", "other relation", "a count")  # kinds of questions that nothing answers
SEED = 11
PULL = 0.1  # inverse strength of the pull of weights towards 0
MADE_UP_WEIGHT = 0.3  # there are more of them than people ask
OTHERS_WEIGHT = 0.25  # of the other sets' questions, most of which take two hops


def run(
    bench: Bench, write: Annotated[bool, typer.Option(help="Put the fitted models into the package.")] = False
) -> None:
    """Answer training questions, fit, and print what each level of confidence keeps."""
    own: dict[str, Plain] = {"models.generation-cache": False, "memory.delta": 0.3, "memory.told": 0.0}
    settings = Settings.from_config({**bench.settings.flat(), **own})
    rows = [row for name in bench.sized(tuple(SETS), ("guides",)) for row in answered(name, bench, settings)]
    if bench.quick:
        if len({bool(row["right"]) for row in rows if row["answered"]}) == 2:
            bench.tell(str(fit_reading(rows)))
        return
    confidence = left_out(rows)
    bench.table("levels", level_table(rows, confidence), "All sets")
    pairs = [(row, one) for row, one in zip(rows, confidence, strict=True) if row["set"] in MADE_UP]
    bench.table("levels_with_memory", level_table(*zip(*pairs, strict=True)), f"{' and '.join(MADE_UP)} alone")
    if write:
        put(rows)


def answered(name: str, bench: Bench, settings: Settings) -> list[Row]:
    """A set's training questions with the features of their answers, and what memory says to them."""
    asked = read_set(name, bench.data(), "train")
    asked = bench.sized(asked, asked.small(QUICK_QUESTIONS, 1))
    with open_set(asked, settings, memories=name in MADE_UP) as device:
        rows = bench.rows(f"answers-{name}", device.models.generator_id, str(settings.digest()))
        questions = list(asked.together().questions)
        if name in MADE_UP:
            questions += made_up(questions, device.models.pipeline, bench.sized(MADE_UP[name], 1), SEED)
        else:
            questions = questions[:ROWS]
        return [
            rows.row(gold.question_id, lambda gold=gold: {"set": name, **_answer(device, gold)})  # type: ignore[misc]
            for gold in questions
            if gold.kind != "choice"  # of listed options each has its share
        ]


def _answer(device: EdgeDevice, gold: GoldQuestion) -> Row:
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


def fit_reading(rows: Sequence[Row]) -> Logistic:
    """The model of what was answered."""
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


def left_out(rows: Sequence[Row]) -> list[float]:
    """The confidence of each answered row by a model that was fitted without its fold; 0 where there is no answer."""
    found = [0.0] * len(rows)
    for fold in range(FOLDS):
        model = fit_reading([row for at, row in enumerate(rows) if at % FOLDS != fold])
        for at, row in enumerate(rows):
            if at % FOLDS == fold and row["answered"]:
                found[at] = model.of(row["features"])
    return found


def level_table(rows: Sequence[Row], confidence: Sequence[float]) -> DataFrame:
    """What each level of confidence keeps."""
    right = np.array([bool(row["right"]) for row in rows])
    nothing = np.array([row["kind"] in NOTHING for row in rows])
    lines = []
    for level in LEVELS:
        kept = np.array(confidence) >= level
        lines.append(
            {
                "level": level,
                "right": int((kept & right).sum()),
                "wrong": int((kept & ~right).sum()),
                "answerable declined, %": round(100 * float((~kept)[~nothing].mean())),
                "unanswerable declined, %": round(100 * float((~kept)[nothing].mean())),
            }
        )
    return DataFrame(lines)


def put(rows: Sequence[Row]) -> None:
    """Fit on all rows, and put the models in the place of the shipped ones."""
    file = json.loads(SHIPPED.read_text(encoding="utf-8"))
    file["reading"] = fit_reading(rows).model_dump()
    known = [one for row in rows for one in row["memories"]]
    values = [one[: len(RECALL_FEATURES)] for one in known]
    file["recall"] = fit_logistic(RECALL_FEATURES, values, [one[-2] for one in known], None).model_dump()
    on = ", ".join(f"{name} {sum(row['set'] == name for row in rows)}" for name in SETS)
    file["fitted_by"] = "fedrag bench fit confidence --write"
    file["fitted_on"] = f"training questions, some made so that nothing answers them: {on}"
    replace_file(SHIPPED, (json.dumps(file, indent=1) + "\n").encode())
