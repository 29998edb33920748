"""Loss curves of hypergraph learning on three datasets (FD-RAG fig. 4).

    python simulations/loss_curves.py [--data FOLDER] [--rows 100] [--out docs/benchmarks]

FOLDER holds ``hotpotqa.jsonl.gz``, ``2wikimultihopqa.jsonl.gz`` and ``musique.jsonl.gz`` (default: $FEDRAG_DATA).
Learns from the sentences of the first dev rows of each, as a device does, and writes ``loss_curves.json`` and
``loss_curves.svg``. Prints, for each dataset, how much of the whole decrease the first steps bring, and two checks of
Appendix A over the recorded run: the least margin by which a step keeps the descent lemma (eq. 20), and the smallest
squared gradient mapping as a share of its bound (eq. 26, with the mean step in place of the constant 1 / L).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from fedrag_flwr.hypergraph import Learning, LearningSettings, learn
from fedrag_flwr.sources.benchmark import read_multihop
from simulations.corpora.sentences import DATASETS, encoded, find_data, sentence_units, sentences_of
from simulations.reporting.folders import out_folder
from simulations.reporting.line_chart import line_chart

SEED = 7
EARLY = (10, 20, 50)


def learn_from(data: Path, name: str, rows: int) -> tuple[int, Learning]:
    """Learn from the sentences of a dataset's first dev rows; also give how many there are."""
    documents = read_multihop(data / f"{DATASETS[name]}.jsonl.gz", "dev", rows, None).documents
    vectors, _ = encoded(sentences_of(documents), f"sentences of {name}")
    return len(vectors), learn([sentence_units(vectors)], LearningSettings(), np.random.default_rng(SEED))


def line(name: str, sentences: int, learnt: Learning) -> str:
    """One dataset's row of the table."""
    loss, steps = np.array(learnt.loss), np.array(learnt.step_sizes)
    squares = np.square(learnt.gradient_mapping)
    drop = loss[0] - loss[-1]
    margin = float((-np.diff(loss) - steps / 2.0 * squares).min())
    bound = 2.0 * drop / (steps.mean() * len(steps))
    shares = [f"{100 * (loss[0] - loss[min(step, len(steps))]) / drop:.0f}" for step in EARLY]
    ends = [f"{loss[0]:.4f}", f"{loss[-1]:.4f}"]
    cells = [name, f"{sentences:,}", f"{len(steps)}", *ends, *shares, f"{margin:.1e}", f"{squares.min() / bound:.1e}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Learn from each dataset, print the table, and write the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder with the datasets")
    parser.add_argument("--rows", type=int, default=100, help="dev rows of each dataset")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    data = find_data(arguments.data)
    learnt = {name: learn_from(data, name, arguments.rows) for name in DATASETS}
    early = " | ".join(f"% of the decrease after {step}" for step in EARLY)
    print(f"| dataset | sentences | steps | first loss | last loss | {early} | least margin | share of the bound |")
    print("|---" * (7 + len(EARLY)) + "|")
    for name, (sentences, run) in learnt.items():
        print(line(name, sentences, run))
    curves = {
        name: {
            "sentences": sentences,
            "loss": [round(value, 6) for value in run.loss],
            "gradient_mapping": [float(f"{value:.4g}") for value in run.gradient_mapping],
            "step_sizes": list(run.step_sizes),
        }
        for name, (sentences, run) in learnt.items()
    }
    (arguments.out / "loss_curves.json").write_text(json.dumps(curves) + "\n", encoding="utf-8")
    chart = line_chart({name: run.loss for name, (_, run) in learnt.items()}, "step", "loss")
    (arguments.out / "loss_curves.svg").write_text(chart, encoding="utf-8")


if __name__ == "__main__":
    main()
