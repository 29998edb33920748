"""How near a dataset's questions come to the nearest memory question, as a distribution (FD-RAG fig. 5).

    python simulations/question_similarity.py [--data FOLDER] [--rows 100] [--other-rows 100] [--tokens 20]
                                              [--out docs/benchmarks]

The memories are those of `bench_construction.py` (same options; what is not kept yet is built): one device with the
paragraphs of the first dev rows of a dataset. Each of these rows' questions is compared with all memory questions by
the cosine of their vectors. Prints quantiles and the share above 0.8, and writes ``question_similarity.json`` and
``question_similarity.svg``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulations.bench_construction import add_options, memory_of
from simulations.corpora.sentences import DATASETS, find_data
from simulations.dataset_memory import Row, benchmark_of, open_device
from simulations.reporting.line_chart import line_chart

NEAR = 0.8
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
GRID = tuple(round(0.3 + 0.01 * step, 2) for step in range(71))


def nearest(data: Path, row: Row) -> NDArray[np.float64]:
    """The cosine of each dev question to its nearest memory question, sorted, shape (questions,)."""
    questions = benchmark_of(data, row["dataset"], row["rows"]).questions
    with open_device(row) as device:
        memories = np.stack([item.embedding for item in device.store.items()])
        asked = device.models.encoder.encode([question.text for question in questions])
    return np.sort((asked @ memories.T).max(axis=1).astype(np.float64))


def line(row: Row, cosines: NDArray[np.float64]) -> str:
    """One dataset's row of the table."""
    quantiles = (f"{value:.3f}" for value in np.quantile(cosines, QUANTILES))
    counts = f"{len(cosines)}", f"{row['items']:,}"
    cells = [row["dataset"], *counts, *quantiles, f"{100 * np.mean(cosines > NEAR):.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Compare the questions of each dataset, print the table, and write the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    arguments = parser.parse_args()
    data = find_data(arguments.data)
    head = " | ".join(f"{100 * quantile:.0f} %" for quantile in QUANTILES)
    print(f"| dataset | questions | memories | {head} | % above {NEAR} |")
    print("|---" * (len(QUANTILES) + 4) + "|")
    curves: dict[str, list[float]] = {}
    found: dict[str, object] = {}
    for name in DATASETS:
        row = memory_of(data, name, arguments)
        cosines = nearest(data, row)
        print(line(row, cosines), flush=True)
        curves[name] = [float(np.mean(cosines <= value)) for value in GRID]
        found[name] = {"memories": row["items"], "cosines": [round(float(value), 4) for value in cosines]}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "question_similarity.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
    chart = line_chart(curves, "cosine to the nearest memory question", "share of questions at or below", GRID)
    (arguments.out / "question_similarity.svg").write_text(chart, encoding="utf-8")


if __name__ == "__main__":
    main()
