"""Fits the gate on train questions: what home's candidates and evidence look like where home has the answer, and not.

    python simulations/fit_gate.py --set openstax --documents 25 [--home 15] [--foreign 5] [--save]

Each device is asked train questions of its own domain and of each other. The signals of every question are kept as they
are measured, so that a stopped run goes on. Printed are the share of questions sent, how well trust tells home from
foreign (area under the ROC curve, five folds) and the area under the risk-coverage curve, where an answer at home is
wrong if home lacks the answer's document; for all signals and without each part. The table goes to ``gate.md``, the
curves to ``gate_risk.svg``. `--save` writes the packaged gates.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.evaluation.metrics import RiskCoverage, risk_coverage
from fedrag_flwr.knowledge_graph.gate import ALONE, INFORMED, GateModel, fit_gate
from fedrag_flwr.knowledge_graph.gate_signals import PARTS, SIGNALS, Signals
from simulations.fixtures.summary_world import SummaryWorld, as_asked, world
from simulations.reporting.folders import out_folder
from simulations.reporting.line_chart import line_chart
from simulations.reporting.row_file import RowFile, this_code

FOLDS = 5
COVERAGES = tuple(round(0.02 * step, 2) for step in range(1, 51))  # at which the risk is drawn
DRAWN = ("all", "without evidence", "without lead", "the paper's: confidence and similarity")


@dataclass(frozen=True, slots=True)
class Measured:
    """One question asked at one device: its signals, and whether its domain is the device's."""

    id: str
    at_home: bool
    signals: Signals


def measure(made: SummaryWorld, split: str, home: int, foreign: int, seed: int) -> list[Measured]:
    """Signals of the questions dealt to all devices; those measured before are read back."""
    path = made.home / f"signals-{made.name}-{made.most}-{split}-{seed}.jsonl"
    kept = RowFile(path, this_code(made.models.generator_id))
    known = {row["id"]: row for row in kept.rows()}
    rows = []
    made.hand_out()
    for name, questions in made.domains.dealt(split, home, foreign, seed).items():
        with made.device(name) as device:
            answering = device.graph.answering()
            for one in questions:
                asked = as_asked(one, name)
                if asked.id not in known:
                    [vector] = made.models.encoder.encode([asked.text])
                    units = answering.evidence(vector)
                    texts, _, _ = answering.draw(asked.text, units)
                    analysis = made.models.pipeline.question(asked.text)
                    signals, _ = answering.gate.reader.measure(analysis, texts, units)
                    known[asked.id] = {"id": asked.id, "at_home": one.domain == name, **asdict(signals)}
                    kept.add(known[asked.id])
                row = dict(known[asked.id])
                [vector] = made.models.encoder.encode([asked.text])
                row["lead"] = device.graph.lead(vector)
                rows.append(Measured(str(row.pop("id")), bool(row.pop("at_home")), Signals(**row)))
        print(f"{name}: {len(rows)} measured", flush=True)
    return rows


def variants() -> dict[str, tuple[str, ...]]:
    """All signals, all without each part, and the paper's own."""
    chosen = {"all": SIGNALS}
    for part, names in PARTS.items():
        chosen[f"without {part}"] = tuple(name for name in SIGNALS if name not in names)
    chosen[DRAWN[-1]] = (*PARTS["confidence"], *PARTS["similarity"])
    return chosen


def assess(
    rows: Sequence[Measured], signals: tuple[str, ...], least_sent: float, seed: int
) -> tuple[dict[str, float], RiskCoverage]:
    """Fit on four folds, judge on the fifth, for all folds together: the measures, and the risk-coverage curve."""
    rng = np.random.default_rng(seed)
    fold = rng.permutation(len(rows)) % FOLDS
    trust, sent = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    for number in range(FOLDS):
        fitting = [row for row, own in zip(rows, fold, strict=True) if own != number]
        model = fit(fitting, signals, least_sent)
        for place in np.flatnonzero(fold == number).tolist():
            trust[place] = model.trust(rows[place].signals)
            silent = "certain" in signals and not rows[place].signals.certain
            sent[place] = silent or trust[place] < model.threshold
    at_home = np.array([row.at_home for row in rows])
    curve = risk_coverage(trust.tolist(), (~at_home).tolist())
    measures = {
        "sent home": _per_cent(sent[at_home]),
        "sent foreign": _per_cent(sent[~at_home]),
        "auc": round(_auc(trust, at_home), 3),
        "risk-coverage area": round(curve.area, 3),
    }
    return measures, curve


def fit(rows: Sequence[Measured], signals: Sequence[str], least_sent: float, fitted_on: str = "") -> GateModel:
    """Fit a gate on measured questions."""
    return fit_gate(
        [row.signals for row in rows],
        [row.at_home for row in rows],
        signals,
        least_sent=least_sent,
        fitted_on=fitted_on,
    )


def drawn(curves: Mapping[str, RiskCoverage]) -> str:
    """The curves as an SVG: how many of the answers given at home are wrong, for each share of questions answered."""
    lines = {name.partition(":")[0]: [100 * curve.at(share) for share in COVERAGES] for name, curve in curves.items()}
    across = [100 * share for share in COVERAGES]
    return line_chart(lines, "% of questions answered at home, the most trusted first", "% of them wrong", across)


def _auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped, unused-ignore]

    return float(roc_auc_score(positive, scores))


def _per_cent(found: NDArray[np.bool_]) -> float:
    return round(100 * float(found.mean()), 1)


def main() -> None:
    """Measure, fit, print, and save where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("openstax", "medquad"), default="openstax")
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--home", type=int, default=15, help="questions of its own domain for each device")
    parser.add_argument("--foreign", type=int, default=5, help="of each other domain")
    parser.add_argument("--least-sent", type=float, default=0.97, help="share of foreign questions that must be sent")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--save", action="store_true", help="write the packaged gates")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    made = world(arguments.set, arguments.documents, arguments.data)
    rows = measure(made, "train", arguments.home, arguments.foreign, arguments.seed)
    judged = {name: assess(rows, signals, arguments.least_sent, arguments.seed) for name, signals in variants().items()}
    found = {name: measures for name, (measures, _) in judged.items()}
    columns = list(found["all"])
    lines = [f"| signals | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(str(row[column]) for column in columns)} |" for name, row in found.items()]
    print("\n".join(lines))
    (arguments.out / "gate.md").write_text("\n".join([*lines, "", f"{len(rows)} questions.", ""]), encoding="utf-8")
    (arguments.out / "gate_risk.svg").write_text(drawn({name: judged[name][1] for name in DRAWN}), encoding="utf-8")
    if arguments.save:
        told = f"{len(rows)} train questions of {arguments.set}, {made.models.generator().id}"
        fit(rows, SIGNALS, arguments.least_sent, told).save(INFORMED)
        fit(rows, SIGNALS[:-1], arguments.least_sent, told).save(ALONE)


if __name__ == "__main__":
    main()
