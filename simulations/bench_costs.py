"""What answers of a benchmark cost so far, also of a run that was stopped: one line a system.

python simulations/bench_costs.py RESULTS
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedrag_flwr.records import Answer, failed
from simulations.baselines.reading import evidence_words
from simulations.bench.construction import construction_table
from simulations.bench.rows import read_rows

_HEADS = ("system", "questions", "seconds", "LLM calls", "tokens in", "tokens out", "evidence units", "evidence words")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the means of each system's answers, then what construction took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the --out folder of `fedrag bench`")
    rows = read_rows(parser.parse_args(arguments).results)
    answers: defaultdict[str, list[Answer]] = defaultdict(list)
    for row in rows:
        if row.answer is not None and not failed(row.answer):
            answers[row.system].append(row.answer)
    lines = [_HEADS, ("---",) * len(_HEADS), *(_line(name, given) for name, given in answers.items())]
    print("".join(f"| {' | '.join(line)} |\n" for line in lines))
    print(construction_table(rows))


def _line(name: str, answers: Sequence[Answer]) -> tuple[str, ...]:
    costs = np.array(
        [
            (
                one.cost.seconds,
                one.cost.llm_calls,
                one.cost.tokens_in,
                one.cost.tokens_out,
                len(one.evidence),
                evidence_words(one.evidence),
            )
            for one in answers
        ]
    )
    return (name, str(len(answers)), *(f"{mean:.1f}" for mean in costs.mean(axis=0)))


if __name__ == "__main__":
    main()
