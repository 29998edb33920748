"""Fit the Memorizer's weight and threshold and the abstention threshold on training questions, and say what was fitted.

    python simulations/fit_thresholds.py [--home DIR] [--out docs/benchmarks]

Runs `memory-fusion` once over the training half of the demo with the Memorizer and abstention switched off, so that
every question gets a Cognizer's answer; then replays the choice of path for each setting. Nothing is asked twice.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from client_app.app import app
from client_app.devices import store_root
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.results import read_answers
from fedrag_flwr.evaluation.scoring import is_unanswerable, judge
from fedrag_flwr.records import Answer, Match
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.toolbox import load_toolbox
from server_app.run import questions_of, run_systems
from simulations.local_grid import LocalGrid

ALPHAS = (0.6, 0.7, 0.8, 0.9)
DELTAS = tuple(round(0.5 + 0.02 * step, 2) for step in range(21))
FLOORS = tuple(round(0.3 + 0.02 * step, 2) for step in range(26))


# Of one alpha: score of the best fitting memory and whether it is right; the same with the first hop taken.
Recalled = tuple[float, bool, float, bool]


@dataclass(frozen=True, slots=True)
class Observed:
    """What both paths would say to one training question; memory's part depends on alpha."""

    kind: str
    unanswerable: bool
    nearness: float
    reasoned: bool  # whether the Cognizer gave an answer
    reasoned_right: bool
    recalled: dict[float, Recalled]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a choice of settings does on the training questions; shares of all, or of the group named."""

    alpha: float
    delta: float
    abstain_below: float
    right: float
    memorizer_of_answered: float
    unanswerable_abstained: float
    answerable_abstained: float


def observe(settings: Settings) -> list[Observed]:
    """Run the federation over the training questions and look at both paths for each."""
    gold = {question.question_id: question for question in questions_of(settings)}
    nodes = [{"partition-id": number, "num-partitions": 5} for number in range(settings.federation.devices)]
    grid = LocalGrid(app, nodes, settings.flat())
    folder = run_systems(grid, str(grid.run.run_id), settings)
    rows = {row.question_id: row for row in read_answers(folder)}
    recalled = _recall(settings, list(gold.values()))
    return [
        Observed(
            kind=question.kind,
            unanswerable=is_unanswerable(question),
            nearness=rows[question_id].score or 0.0,
            reasoned=rows[question_id].path not in ("abstained", "missing"),
            reasoned_right=rows[question_id].right,
            recalled=recalled[question_id],
        )
        for question_id, question in gold.items()
    ]


def _recall(settings: Settings, gold: Sequence[GoldQuestion]) -> dict[str, dict[float, Recalled]]:
    toolbox = load_toolbox(settings.models, fedrag_home(settings.home))
    found: dict[str, dict[float, Recalled]] = {question.question_id: {} for question in gold}
    for alpha, home in itertools.product(ALPHAS, sorted({question.home for question in gold})):
        settings = Settings.from_config(settings.flat() | {"memory.alpha": alpha, "memory.delta": 0.0})
        with EdgeDevice(home, None, store_root(settings, home), settings, toolbox) as device:
            leads = device.engine.leads
            for question in (question for question in gold if question.home == home):
                [asked] = leads.read([question.text])
                matches = leads.recall(asked)
                first = leads.memorizer.answer(question.text, asked.analysis, matches)
                lead = leads.second_hop(asked, matches)
                second = lead.known if lead else None
                found[question.question_id][alpha] = (*_judged(question, first), *_judged(question, second))
    return found


def _judged(question: GoldQuestion, match: Match | None) -> tuple[float, bool]:
    if match is None:
        return 0.0, False
    answer = Answer(question.question_id, match.item.answer, "memorizer", match.score, "")
    return match.score, bool(judge(question, answer).acc)


def outcome(observed: Sequence[Observed], alpha: float, delta: float, floor: float) -> Outcome:
    """What a choice of settings would have answered."""
    right = memorizer = answered = 0
    abstained = {True: 0, False: 0}
    for seen in observed:
        first, first_right, second, second_right = seen.recalled[alpha]
        if max(first, second) >= delta:
            memorizer += 1
            answered += 1
            right += first_right if first >= delta else second_right
        elif seen.nearness >= floor and seen.reasoned:
            answered += 1
            right += seen.reasoned_right
        else:
            abstained[seen.unanswerable] += 1
            right += seen.unanswerable
    unanswerable = sum(seen.unanswerable for seen in observed)
    return Outcome(
        alpha,
        delta,
        floor,
        right=right / len(observed),
        memorizer_of_answered=memorizer / max(answered, 1),
        unanswerable_abstained=abstained[True] / max(unanswerable, 1),
        answerable_abstained=abstained[False] / max(len(observed) - unanswerable, 1),
    )


def choose(outcomes: Sequence[Outcome]) -> Outcome:
    """The most right answers among the choices that keep the promises; of equal ones the higher thresholds.

    The promises: memory gives at least half of the answers, at least 70 % of unanswerable questions are declined, and
    at most 15 % of answerable ones. Where no choice keeps them all, the one that breaks them least.
    """

    def broken(o: Outcome) -> float:
        lack = max(0.0, 0.5 - o.memorizer_of_answered) + max(0.0, 0.7 - o.unanswerable_abstained)
        return round(lack + max(0.0, o.answerable_abstained - 0.15), 6)

    return min(outcomes, key=lambda o: (broken(o), -o.right, -o.delta, -o.abstain_below))


def main() -> None:
    """Fit, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", default="", help="where models and stores are kept")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"), help="where the result is written")
    arguments = parser.parse_args()
    settings = Settings.from_config(
        {
            "home": arguments.home,
            "baselines": "",
            "data.split": "train",
            "data.limit": 0,
            "memory.delta": 1.0,
            "inference.abstain-below": -1.0,
            "results": str(fedrag_home(arguments.home) / "fitting"),
        }
    )
    observed = observe(settings)
    tried = [outcome(observed, *choice) for choice in itertools.product(ALPHAS, DELTAS, FLOORS)]
    best = choose(tried)
    arguments.out.mkdir(parents=True, exist_ok=True)
    curve = [outcome(observed, best.alpha, delta, best.abstain_below) for delta in DELTAS]
    report = {
        "fitted_on": {"split": "train", "questions": len(observed)},
        "chosen": asdict(best),
        "delta_curve": [asdict(point) for point in curve],
        "observed": [asdict(seen) for seen in observed],
    }
    (arguments.out / "thresholds.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report["chosen"], indent=1))


if __name__ == "__main__":
    main()
