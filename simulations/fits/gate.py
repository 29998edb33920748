"""From which of home's signals does the gate know that a question is beyond home (DGRAG 3.3 step 5)?

Each device is asked train questions of its own domain and of each other. Signals are kept as they are measured. Five
folds; an answer at home counts as wrong if home lacks the answer's document.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
import typer
from pandas import DataFrame, Index
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, unused-ignore]
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped, unused-ignore]

from fedrag_flwr.answering.gate import ALONE, INFORMED, GateModel
from fedrag_flwr.answering.gate_signals import SIGNALS, Signals
from fedrag_flwr.answering.graph_answers import GraphAnswers
from fedrag_flwr.errors import SettingError
from fedrag_flwr.records import Vector
from simulations.bench.frame import Bench
from simulations.bench.ranking import RiskCoverage, risk_coverage
from simulations.corpora.domain_devices import DomainDevices, as_asked, build

DOMAINS = "openstax"
ASKED = (30, 10)  # questions of its own domain, and of each other, for each device
LEAST_SENT = 0.97  # share of foreign questions that must be sent
FOLDS, SEED = 5, 7
COVERAGES = tuple(round(0.02 * step, 2) for step in range(1, 51))  # at which the risk is drawn
KINDS = {
    "confidence": ("certain",),
    "similarity": ("cosine", "jaccard", "claims"),
    "evidence": ("supported", "nearness", "coverage"),
    "lead": ("lead",),
}
PAPER = "the paper's: confidence and similarity"
DRAWN = ("all", "without evidence", "without lead", PAPER)


@dataclass(frozen=True, slots=True)
class Measured:
    """One question asked at one device: its signals, and whether its domain is the device's."""

    at_home: bool
    signals: Signals


def run(bench: Bench, save: Annotated[bool, typer.Option("--save", help="Replace the shipped gates.")] = False) -> None:
    """Measure signals, fit with all and without each kind, and draw the risk of answering at home."""
    made = DomainDevices(DOMAINS, bench.sized(0, 1), bench.data(), bench.changes)
    build(made, bench.tell)
    rows = measure(bench, made, *bench.sized(ASKED, (2, 1)))
    variants = {"all": SIGNALS} | {
        f"without {kind}": tuple(name for name in SIGNALS if name not in names) for kind, names in KINDS.items()
    }
    variants[PAPER] = (*KINDS["confidence"], *KINDS["similarity"])
    judged = {name: assess(rows, signals) for name, signals in variants.items()}
    bench.table("gate", DataFrame([{"signals": name, **one} for name, (one, _) in judged.items()]))
    curves = {name.partition(":")[0]: [100 * judged[name][1].at(share) for share in COVERAGES] for name in DRAWN}
    across = Index([100 * share for share in COVERAGES])
    bench.chart("risk", DataFrame(curves, across), "% of questions answered at home, surest first", "% of them wrong")
    if save and not bench.quick:
        told = f"{len(rows)} train questions of {DOMAINS}, {made.models.generator_id}"
        fitted(rows, SIGNALS, LEAST_SENT, told).save(INFORMED)
        fitted(rows, SIGNALS[:-1], LEAST_SENT, told).save(ALONE)


def measure(bench: Bench, made: DomainDevices, home: int, foreign: int) -> list[Measured]:
    """Signals of the train questions dealt to all devices."""
    kept = bench.rows("signals", made.models.generator_id, made.name, str(made.most))
    made.hand_out()
    rows = []
    for name, questions in made.domains.dealt("train", home, foreign, SEED).items():
        with made.device(name) as device:
            answering = device.graph.answering()

            def signals(text: str, vector: Vector, answering: GraphAnswers = answering) -> dict[str, float]:
                units = answering.evidence(vector)
                texts, _, _ = answering.draw(text, units)
                read, _ = answering.gate.reader.measure(made.models.pipeline.question(text), texts, units)
                return asdict(read)

            for one in questions:
                asked = as_asked(one, name)
                [vector] = made.models.encoder.encode([asked.text])
                row = {**kept.row(asked.id, signals, asked.text, vector), "lead": device.graph.lead(vector)}
                rows.append(Measured(one.domain == name, Signals(**row)))
    return rows


def assess(rows: Sequence[Measured], signals: tuple[str, ...]) -> tuple[dict[str, float], RiskCoverage]:
    """Fit on four folds, judge on the fifth, for all folds together: the measures, and the risk-coverage curve."""

    fold = np.random.default_rng(SEED).permutation(len(rows)) % FOLDS
    confidence, sent = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    for number in range(FOLDS):
        model = fitted([row for row, own in zip(rows, fold, strict=True) if own != number], signals, LEAST_SENT)
        for place in np.flatnonzero(fold == number).tolist():
            confidence[place] = model.confidence(rows[place].signals)
            silent = "certain" in signals and not rows[place].signals.certain
            sent[place] = silent or confidence[place] < model.threshold
    at_home = np.array([row.at_home for row in rows])
    curve = risk_coverage(confidence.tolist(), (~at_home).tolist())
    measures = {
        "sent home %": round(100 * float(sent[at_home].mean()), 1),
        "sent foreign %": round(100 * float(sent[~at_home].mean()), 1),
        "auc": round(float(roc_auc_score(at_home, confidence)), 3),
        "risk-coverage area": round(curve.area, 3),
    }
    return measures, curve


def fitted(rows: Sequence[Measured], signals: Sequence[str], least_sent: float, on: str = "") -> GateModel:
    """Fit weights by logistic regression; the threshold is the lowest that sends a share of what home cannot answer.

    Raises SettingError: all questions are of one kind.
    """

    at_home = np.array([row.at_home for row in rows])
    if len(set(at_home.tolist())) != 2:
        raise SettingError("the gate needs questions within and beyond home", where="gate")
    values = np.array([row.signals.values for row in rows])[:, [SIGNALS.index(name) for name in signals]]
    model = LogisticRegression(class_weight="balanced", max_iter=10_000).fit(values, at_home)
    weights = tuple(round(float(weight), 4) for weight in model.coef_[0])
    bias = round(float(model.intercept_[0]), 4)
    gate = GateModel(features=tuple(signals), weights=weights, bias=bias, threshold=0.5, fitted_on=on)
    beyond = sorted(gate.confidence(row.signals) for row in rows if not row.at_home)
    place = min(int(np.ceil(least_sent * len(beyond))), len(beyond)) - 1
    return gate.model_copy(update={"threshold": float(np.nextafter(beyond[place], 1.0))})
