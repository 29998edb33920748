"""Audit randomised response: exact ratios over every pair of every group, and what draws alone show.

    python simulations/privacy_audit.py [--draws 100000] [--out docs/benchmarks]

The draws are the operating system's, as in use. It fails if a bound lies above epsilon.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

import numpy as np

from fedrag_flwr.demo import PARTITION, PARTITION_STRONG
from fedrag_flwr.evaluation import share_interval
from fedrag_flwr.privacy import load_partition, probabilities, respond
from fedrag_flwr.privacy.attack import best_possible, empirical_epsilon, largest_log_ratio
from simulations.reporting.folders import out_folder

EPSILONS = (0.1, 0.5, 1.0, 2.0)
HEADINGS = (
    *("partition", "groups", "pairs", "epsilon", "largest log-ratio", "lower bound from draws", "chi-square p"),
    *("restored by the best guess, per cent", "best possible"),
)


def audit(path: Path, epsilon: float, draws: int) -> tuple[list[str], float]:
    """One line of the table, and the larger of both findings less epsilon."""
    from scipy import stats  # type: ignore[import-untyped, unused-ignore]

    sizes = [len(group.members) for group in load_partition(path).groups]
    exact = max(
        largest_log_ratio(np.stack([probabilities(size, index, epsilon) for index in range(size)]))
        for size in set(sizes)
    )
    source, size = secrets.SystemRandom(), min(sizes)
    first, second = (
        np.bincount([respond(index, size, epsilon, source) for _ in range(draws)], minlength=size)
        for index in (0, size - 1)
    )
    bound = empirical_epsilon(first, second)
    fits = float(stats.chisquare(first, probabilities(size, 0, epsilon) * draws).pvalue)
    pairs = sum(size * (size - 1) // 2 for size in sizes)
    restored = int(first[0] + second[-1])  # the likeliest name behind a surrogate is the surrogate
    low, high = share_interval(restored, 2 * draws)
    line = [path.stem, str(len(sizes)), str(pairs), f"{epsilon:g}", f"{exact:.12f}", f"{bound:.4f}", f"{fits:.2f}"]
    line.append(f"{50 * restored / draws:.1f} [{100 * low:.1f}, {100 * high:.1f}]")
    line.append(f"{100 * best_possible(size, epsilon):.1f}")
    return line, max(exact - 1e-12, bound) - epsilon


def main() -> None:
    """Audit both shipped partitions at each epsilon, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100_000, help="for each of two names of a smallest group")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    audits = [audit(path, epsilon, arguments.draws) for path in (PARTITION, PARTITION_STRONG) for epsilon in EPSILONS]
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(line for line, _ in audits)]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    (arguments.out / "privacy_audit.md").write_text(text, encoding="utf-8")
    print(text)
    if max(excess for _, excess in audits) > 0:
        sys.exit("a bound lies above epsilon")


if __name__ == "__main__":
    main()
