"""How often what home reads without the model is right, by its log-odds, with some and with all evidence at home.

    python simulations/home_certainty.py --data FOLDER [--limit 100]

Training rows only. Of each question home holds every paragraph with a chance of one in five, and then all of them. From
these tables comes `CERTAIN` in `fedrag_flwr/inference/reader.py`, from which `fedrag` asks nobody. The reader was
fitted on HotpotQA's training rows among others, not on MuSiQue's.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.metrics import f1
from fedrag_flwr.inference.reader import read
from fedrag_flwr.models import load_encoder
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text.pipeline import SpacyPipeline
from simulations.corpora.reader_corpus import candidates_of, rows_of

SETS = ("musique", "hotpotqa")
SHARES = (0.2, 1.0)
FROM = (-np.inf, -1.5, -0.9, -0.3, 0.3, 0.9)
RIGHT = 0.6  # F1 from which a span counts as the answer


def outcomes(path: Path, limit: int) -> Iterator[tuple[float, float, bool]]:
    """The share of paragraphs at home, the log-odds of the likeliest span there, and whether it is right."""
    encoder, pipeline, rng = load_encoder("", threads=1), SpacyPipeline("en_core_web_sm"), np.random.default_rng(7)
    for fields in rows_of(path, "train", limit):
        question = fields["question"].strip()
        analysis = pipeline.question(question)
        paragraphs = candidates_of(fields, encoder, pipeline)
        for share in SHARES:
            held = [one for one in paragraphs if rng.random() < share]
            reading = read(question, analysis, [candidate for one in held for candidate in one])
            if reading.spans:
                right = f1(reading.best, (fields["answer"], *fields["aliases"])) >= RIGHT
                yield share, float(reading.likely.max()), right


def main() -> None:
    """Parse the command line and print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root())
    parser.add_argument("--limit", type=int, default=100)
    options = parser.parse_args()
    if options.data is None:
        raise SourceError("is not set", where="FEDRAG_DATA", fix="give --data FOLDER")
    print("| set | at home | " + " | ".join(f"from {low:g}" for low in FROM) + " |")
    print("|---" * (2 + len(FROM)) + "|")
    for name in SETS:
        counted: dict[tuple[float, int], list[bool]] = defaultdict(list)
        for share, odds, right in outcomes(options.data / f"{name}.jsonl.gz", options.limit):
            counted[share, int(np.searchsorted(FROM, odds, side="right")) - 1].append(right)
        for share in SHARES:
            cells = [f"{sum(counted[share, place])} of {len(counted[share, place])}" for place in range(len(FROM))]
            print(f"| {name} | {share:.0%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
