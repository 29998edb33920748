"""What HKVM-RAG's key spaces and its controller bring on the three multi-hop sets, and what federation costs it.

    python simulations/bench_controller.py [--data FOLDER] [--train 500] [--dev 500] [--seed 7] [--out docs/benchmarks]

Each question's own paragraphs are ranked by three first stages, a second hop over titles, and five key spaces over the
tuples that the rules over the parse find. Encoding and parsing are kept, so that a stopped run goes on, and a second
one takes some minutes. Controllers are fitted on the first rows with ``split = train`` and applied to the first dev
rows, each set for itself; one row, and the federated table, fit one controller on the training rows of all three. The
row that the target is judged by is the one that is best on the training rows, each ordered by a controller that was
fitted without it. In brackets 95 % paired-bootstrap intervals over questions. Prints Markdown tables and writes
``controller.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from fedrag_flwr.evaluation import Interval, paired_difference
from fedrag_flwr.retrieval import ControllerFeatures
from simulations.corpora.sentences import DATASETS, find_data
from simulations.parts.candidate_rankings import FIRST_STAGES, SECOND_HOP, SPACES, RankedQuestion, ranked_questions
from simulations.parts.controller_federation import ALONE, POOLED, Trained, ways
from simulations.parts.controller_variants import (
    ALL,
    CALIBRATED,
    KEY,
    KEY_SPACES,
    PAIRWISE,
    TOGETHER,
    Floats,
    Order,
    Split,
    ids,
    measures,
    one_for_all,
    variants,
)
from simulations.reporting.folders import out_folder

SHARED = f"{ALL} + {SECOND_HOP}, one controller for all sets"
DEVICES = 5
Measured = dict[str, dict[str, Floats]]  # by row and measure: per cent, one number a question


def ranked_by_all(splits: Mapping[str, Split]) -> tuple[dict[str, Measured], dict[str, Measured]]:
    """Measure every ranker by dataset: on the dev rows, and on the train rows what was not fitted on the row itself."""
    found: dict[str, Measured] = {}
    on_train: dict[str, Measured] = {}
    shared = one_for_all(splits, TOGETHER[f"{ALL} + {SECOND_HOP}"])
    for name, split in splits.items():
        made, (held_out, new) = variants(split), shared[name]
        alone = (*FIRST_STAGES, SECOND_HOP, *SPACES, *KEY_SPACES)
        known = {row: [ids(question.rankings[row]) for question in split.train] for row in alone}
        orders = {**known, **made.on_train, SHARED: held_out}
        on_train[name] = {row: measures(one, split.train) for row, one in orders.items()}
        found[name] = {row: measures(one, split.dev) for row, one in {**made.orders, SHARED: new}.items()}
    return found, on_train


def chosen(on_train: Mapping[str, Measured]) -> str:
    """The controller that the target is judged by: the best one on the training rows, each set counting alike."""
    return max((*TOGETHER, SHARED), key=lambda row: sum(float(one[row]["all@5"].mean()) for one in on_train.values()))


def difference(first: Floats, second: Floats, seed: int) -> Interval:
    """Bootstrap a difference over the questions that both have a number for."""
    known = ~(np.isnan(first) | np.isnan(second))
    return paired_difference(first[known], second[known], rng=np.random.default_rng(seed))


def best_first_stage(found: Measured, measure: str = "all@5") -> str:
    """The first stage that is best on these very rows: what a controller has to beat."""
    return max(FIRST_STAGES, key=lambda name: float(np.nanmean(found[name][measure])))


def gained(measured: Measured, first: str, measure: str, seed: int, second: str = "") -> Interval:
    """The difference of two rows; "" stands for the best first stage."""
    other = second or best_first_stage(measured)
    return difference(measured[first][measure], measured[other][measure], seed)


def means(measured: Measured) -> dict[str, dict[str, float]]:
    """The mean of each row and measure over the questions that have it."""
    return {row: {name: float(np.nanmean(values)) for name, values in one.items()} for row, one in measured.items()}


def shown(gain: Interval) -> str:
    """A difference with its interval."""
    return f"{gain.value:+.1f} ({gain.low:+.1f} to {gain.high:+.1f})"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def of_datasets(rows: Sequence[str], found: Mapping[str, Measured], names: Sequence[str]) -> str:
    """Rows with some measures of each dataset."""
    columns = ["ranker", *(f"{dataset} {measure}" for dataset in found for measure in names)]
    cells = [
        [row, *(f"{np.nanmean(measured[row][name]):.1f}" for measured in found.values() for name in names)]
        for row in rows
    ]
    return table(columns, cells)


def gains(found: Mapping[str, Measured], pairs: Sequence[tuple[str, str]], measure: str, seed: int) -> str:
    """Differences of two rows by dataset; "" stands for the best first stage."""
    rows = []
    for first, second in pairs:
        cells = [shown(gained(measured, first, measure, seed, second)) for measured in found.values()]
        rows.append([f"{first} - {second or 'the best first stage'}", measure, *cells])
    return table(["difference", "measure", *found], rows)


def swaps(found: Mapping[str, Measured], measure: str) -> str:
    """First stages with each key space in the second slot (Tables VIII and IX)."""
    seconds = (*KEY_SPACES, CALIBRATED, SECOND_HOP)
    rows = [
        [
            dataset,
            first,
            f"{np.nanmean(measured[first][measure]):.1f}",
            f"{np.nanmean(measured[f'{first} alone, reordered'][measure]):.1f}",
            *(f"{np.nanmean(measured[f'{first} + {second}'][measure]):.1f}" for second in seconds),
        ]
        for dataset, measured in found.items()
        for first in FIRST_STAGES
    ]
    return table(["dataset", "first stage", "alone", "alone, reordered", *(f"+ {second}" for second in seconds)], rows)


def diagnostics(questions: Mapping[str, Sequence[RankedQuestion]], found: Mapping[str, Measured]) -> str:
    """Where supporting passages are lost, in per cent of the questions."""
    depth = ControllerFeatures(("any",)).depth

    def share(wanted: list[bool]) -> str:
        return f"{100 * np.mean(wanted):.1f}"

    rows: dict[str, list[str]] = {}
    for dataset, asked in questions.items():
        brought = [[set(ids(q.rankings[name])[:depth]) for name in ("late interaction", KEY)] for q in asked]
        gold = [set(q.gold) for q in asked]
        both = [g <= one | other for g, (one, other) in zip(gold, brought, strict=True)]
        top = found[dataset][f"late interaction + {CALIBRATED}"]["all@5"] == 100.0
        values = {
            "the question mentions a vertex": [q.seeded for q in asked],
            "every supporting passage gave a tuple": [g <= set(q.named) for g, q in zip(gold, asked, strict=True)],
            "every one is on an answer path": [g <= set(q.on_paths) for g, q in zip(gold, asked, strict=True)],
            "late interaction's first 10 hold all": [g <= one for g, (one, _) in zip(gold, brought, strict=True)],
            "weighted answer paths' first 10 hold all": [g <= two for g, (_, two) in zip(gold, brought, strict=True)],
            "the controller's candidates hold all": both,
            "and its first 5 do not": [held and not whole for held, whole in zip(both, top, strict=True)],
        }
        for name, wanted in values.items():
            rows.setdefault(name, []).append(share(wanted))
    return table(["diagnostic", *questions], [[name, *cells] for name, cells in rows.items()])


def federation(
    train: Mapping[str, Sequence[RankedQuestion]], dev: Mapping[str, Sequence[RankedQuestion]], seed: int
) -> tuple[str, dict[str, object]]:
    """One controller for all sets: federated, pooled, and each device alone, dealt at random and by set."""
    asked = [question for questions in dev.values() for question in questions]
    everything = [question for questions in train.values() for question in questions]
    order = np.random.default_rng(seed).permutation(len(everything))
    dealt: dict[str, Sequence[Sequence[RankedQuestion]]] = {
        "at random": [[everything[row] for row in part] for part in np.array_split(order, DEVICES)],
        "one set each": list(train.values()),
    }
    rows: list[list[str]] = []
    kept: dict[str, object] = {}
    for how, devices in dealt.items():
        trained = {way.name: way for way in ways(devices, seed)}
        values = {name: _averaged(way, asked) for name, way in trained.items()}
        chances = {name: _probabilities(way, asked) for name, way in trained.items()}
        for name, one in values.items():
            rows.append(
                [
                    *(how, str(len(devices)), name),
                    *(f"{np.nanmean(one[measure]):.1f}" for measure in ("R@5", "all@5", "support@5")),
                    *(shown(difference(one["all@5"], values[other]["all@5"], seed)) for other in (POOLED, ALONE)),
                    f"{np.mean([np.abs(c - chances[POOLED][0]).mean() for c in chances[name]]):.3f}",
                ]
            )
        kept[how] = {name: {k: float(np.nanmean(v)) for k, v in one.items()} for name, one in values.items()}
    columns = ("dealt", "devices", "trained", "R@5", "all@5", "support@5", "all@5 - pooled", "all@5 - alone", "apart")
    return table(columns, rows), kept


def _probabilities(way: Trained, asked: Sequence[RankedQuestion]) -> list[Floats]:
    """What each controller of a way of training gives every candidate, as a probability."""
    found = []
    for controller in way.controllers:
        features = controller.features
        values = [features.of([q.rankings[name] for name in features.sources]).values for q in asked]
        logits = controller.scaling.of(np.concatenate(values)) @ controller.weights + controller.bias
        found.append(1.0 / (1.0 + np.exp(-logits)))
    return found


def _averaged(way: Trained, asked: Sequence[RankedQuestion]) -> dict[str, Floats]:
    """Each question's measures, averaged over the controllers of one way of training."""
    found = []
    for controller in way.controllers:
        orders: list[Order] = [
            ids(controller.rerank([q.rankings[name] for name in controller.features.sources], 10)) for q in asked
        ]
        found.append(measures(orders, asked))
    return {name: np.mean([one[name] for one in found], axis=0) for name in found[0]}


def main() -> None:
    """Parse the command line, rank, fit, print the tables and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--train", type=int, default=500, help="training rows of each set, at most")
    parser.add_argument("--dev", type=int, default=500, help="dev rows of each set, at most")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    data = find_data(options.data)
    train = {name: ranked_questions(data, name, "train", options.train) for name in DATASETS}
    dev = {name: ranked_questions(data, name, "dev", options.dev) for name in DATASETS}
    for name in DATASETS:
        print(f"{name}: {len(train[name])} train rows, {len(dev[name])} dev rows")
    splits = {name: Split(train[name], dev[name], options.seed) for name in DATASETS}
    found, on_train = ranked_by_all(splits)
    best = chosen(on_train)
    steps = ("oracle: answer paths", "oracle: tuples", "support scorer", "calibration")
    late = f"late interaction + {CALIBRATED}"
    rest = ("late interaction alone, reordered", "rank fusion: late interaction, calibration", late)
    together = (*TOGETHER, SHARED)
    parts = {
        "key spaces": of_datasets((*SPACES, *KEY_SPACES), found, ("R@5", "all@5", "all@10", "support@5")),
        "key spaces on the training rows": of_datasets((*SPACES, *KEY_SPACES), on_train, ("R@5", "all@5")),
        "answer paths against pairwise PageRank": "\n\n".join(
            gains(found, [(SPACES[-1], SPACES[0]), (KEY, PAIRWISE)], measure, options.seed)
            for measure in ("all@5", "all@10", "support@5")
        ),
        "controllers on the training rows, out of fold": (
            of_datasets((*FIRST_STAGES, SECOND_HOP, *together), on_train, ("R@5", "all@5"))
            + f"\n\nbest, by the mean all@5 over the sets: {best}"
        ),
        "controller": of_datasets(
            (*FIRST_STAGES, SECOND_HOP, KEY, *steps, *rest, *together), found, ("R@5", "all@5", "all@10", "support@5")
        ),
        "controller against the best first stage": gains(
            found, [(row, "") for row in ("calibration", *rest, SECOND_HOP, *together)], "all@5", options.seed
        ),
        "second sources, all@5": swaps(found, "all@5"),
        "second sources, support@5": swaps(found, "support@5"),
        "diagnostics": diagnostics(dev, found),
    }
    parts["federated"], federated = federation(train, dev, options.seed)
    for title, text in parts.items():
        print(f"\n## {title}\n\n{text}", flush=True)
    if options.out is not None:
        gain = {name: asdict(gained(measured, best, "all@5", options.seed)) for name, measured in found.items()}
        kept = {
            "rows": {name: [len(train[name]), len(dev[name])] for name in DATASETS},
            "means": {name: means(measured) for name, measured in found.items()},
            "means on the training rows": {name: means(measured) for name, measured in on_train.items()},
            "chosen on the training rows": best,
            "controller gain all@5": gain,
            "federated": federated,
        }
        (options.out / "controller.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
