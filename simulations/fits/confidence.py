"""Fit the confidence of answers, and the thresholds of memory, on training questions.

Training questions of all sets are answered in one call, and so are questions made of those of `demo` and `guides` that
nothing answers (`simulations.answers.made_up`). A logistic regression over `judge.READ_FEATURES` gives the probability
that what the generator says is right, one over `judge.SPAN_FEATURES` that a passage's own words are. Memory is asked on
`demo` and `guides`, whose stores have memories. Printed is what each level of confidence keeps, of questions left out
of the fit in turn.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer
from pandas import DataFrame

from fedrag_flwr.answering.judge import (
    LEAST_TOLD,
    READ_FEATURES,
    RECALL_FEATURES,
    SHIPPED,
    SPAN_FEATURES,
    read_features,
    recall_features,
    span_features,
)
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.settings import Plain, Settings
from simulations.answers.made_up import MARK, made_up
from simulations.answers.sets import SETS, judged, open_set, read_set
from simulations.bench.fitting import fit_logistic
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.benchmarks.answers import level_table

QUICK_QUESTIONS = 2
ROWS = 60  # questions of each set but those
MADE_UP = {"demo": 40, "guides": 30}
FOLDS = 8
LEVELS = (0.0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
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
    found = left_out(rows)
    bench.table("levels", level_table(found, LEVELS), "All sets")
    both = found[found["set"].isin(list(MADE_UP))]
    bench.table("levels_with_memory", level_table(both, LEVELS), f"{' and '.join(MADE_UP)} alone")
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
        asked_of = [gold for gold in questions if gold.kind != "choice"]  # of listed options each has its share
        return [rows.row(gold.question_id, _answer, name, device, gold) for gold in asked_of]


def _answer(name: str, device: EdgeDevice, gold: GoldQuestion) -> Row:
    engine = device.engine
    found = replace(engine, reader=replace(engine.reader, spans=None)).drafted(gold.text)
    memories = []
    asked = engine.asked(gold.text)
    extract = engine.reader.extract(gold.text, found.units)
    for recalled in engine.recall.knowing(gold.text, asked.vector, asked.analysis):
        right = judged(gold, recalled.match.item.answer) == "right"
        memories.append([*recall_features(recalled), right, recalled.match.item.kind])
    verdict = judged(gold, found.draft.text)
    return {
        "set": name,
        "id": gold.question_id,
        "kind": gold.kind if gold.answer else "unanswerable",
        "answered": bool(found.draft.text),
        "right": verdict == "right",
        "verdict": verdict,
        "features": list(read_features(gold.text, asked.analysis, found.draft, found.units, extract)),
        "span": list(span_features(gold.text, asked.analysis, extract, found.units)),
        "span right": judged(gold, extract.text) == "right",
        "memories": memories,
    }


def fit_reading(rows: Sequence[Row]) -> Logistic:
    """The model of what the generator answered."""
    return _fitted(READ_FEATURES, [row for row in rows if row["answered"]], "features", "right")


def fit_spans(rows: Sequence[Row]) -> Logistic:
    """The model of passages' own words."""
    return _fitted(SPAN_FEATURES, [row for row in rows if row["span"]], "span", "span right")


def _fitted(names: Sequence[str], rows: Sequence[Row], features: str, right: str) -> Logistic:
    weigh = [
        (MADE_UP_WEIGHT if MARK in row["id"] else 1.0) * (1.0 if row["set"] in MADE_UP else OTHERS_WEIGHT)
        for row in rows
    ]
    return fit_logistic(names, [row[features] for row in rows], [row[right] for row in rows], weigh, C=PULL)


def left_out(rows: Sequence[Row]) -> DataFrame:
    """The rows with each answer's confidence by models that were fitted without its fold; 0 where there is none."""
    found = DataFrame([{**row, "path": "", "confidence": 0.0} for row in rows])
    for fold in range(FOLDS):
        others = [row for at, row in enumerate(rows) if at % FOLDS != fold]
        reading, spans = fit_reading(others), fit_spans(others)
        for at, row in enumerate(rows):
            if at % FOLDS != fold:
                continue
            told = spans.of(row["span"]) if row["span"] else 1.0
            if row["answered"] and told >= LEAST_TOLD:
                found.loc[at, "confidence"] = reading.of(row["features"])
    return found


def put(rows: Sequence[Row]) -> None:
    """Fit on all rows, and put the models in the place of the shipped ones."""
    file = json.loads(SHIPPED.read_text(encoding="utf-8"))
    file["reading"], file["spans"] = fit_reading(rows).model_dump(), fit_spans(rows).model_dump()
    known = [one for row in rows for one in row["memories"]]
    values = [one[: len(RECALL_FEATURES)] for one in known]
    file["recall"] = fit_logistic(RECALL_FEATURES, values, [one[-2] for one in known], C=PULL).model_dump()
    on = ", ".join(f"{name} {sum(row['set'] == name for row in rows)}" for name in SETS)
    file["fitted_by"] = "fedrag bench fit confidence --write"
    file["fitted_on"] = f"training questions, some made so that nothing answers them: {on}"
    replace_file(SHIPPED, (json.dumps(file, indent=1) + "\n").encode())
