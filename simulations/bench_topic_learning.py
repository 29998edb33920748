"""Walks by topics that peers learn together, beside walks by public headings: MMLU's 57 subjects with 100 peers.

    python simulations/bench_topic_learning.py [--data FOLDER] [--every 5]

FOLDER holds ``mmlu.jsonl.gz`` (default: $FEDRAG_DATA). What peers add up is added up here in the open: tests show that
encrypted sums give the same topics. Each row is the mean over three draws of network and holdings, and over one of
every five test rows: each is a document of its subject's peer, and a question.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedrag_flwr.overlay import Topics, noisy_sketch
from fedrag_flwr.overlay.learning import Floats, Values, first_centroids, moved, topic_counts, topic_sums
from fedrag_flwr.overlay.sketches import counts_of
from fedrag_flwr.records import WalkKind
from simulations.fixtures.overlay_world import EPSILON, Means, MmluWorld, ask_all

PEERS, SEEDS = 100, (0, 1, 2)
FANOUT: dict[WalkKind, int] = {"topic": 4, "sketch": 8}
LEARNT = ((32, 0, 0.0), (32, 5, 0.0), (64, 5, 0.0), (128, 5, 0.0), (200, 5, 0.0), (64, 5, 0.02), (64, 5, 0.1))


def learnt(headings: Topics, held: Sequence[Floats], count: int, rounds: int, noise: float, seed: int) -> Topics:
    """The topics that peers with these documents learn."""
    rng = np.random.default_rng(seed)
    sketches = [counts_of(noisy_sketch(headings.counts(documents), EPSILON, rng)) for documents in held]
    centroids = first_centroids(headings.centroids, np.sum(sketches, axis=0), count)
    for _ in range(rounds):
        counts = _noised([topic_counts(documents, centroids) for documents in held], noise, rng)
        sums = _noised([topic_sums(documents, centroids, counts) for documents in held], noise, rng)
        centroids = moved(centroids, counts, sums, noise * np.sqrt(len(held)))
    return Topics(tuple(map(str, range(count))), centroids)


def _noised(parts: Sequence[Values], noise: float, rng: np.random.Generator) -> Values:
    return np.asarray(np.sum([part + rng.normal(0.0, noise, part.shape) for part in parts], axis=0))


def row(world: MmluWorld, name: str, topics: Sequence[Topics]) -> str:
    """A line of the table; `topics` by seed."""
    told = [name]
    known = world.rows.known
    told.append(f"{np.mean([(known @ one.centroids.T).max(axis=1).mean() for one in topics]):.3f}")
    for kind, fanout in FANOUT.items():
        asked = []
        for seed, one in zip(SEEDS, topics, strict=True):
            world.topics = one
            for made in ("question_topics", "counts"):
                world.__dict__.pop(made, None)
            asked += ask_all(world.simulator(kind, PEERS, fanout=fanout, seed=seed), len(world.chosen), seed)
        means = Means.of(asked)
        told += [f"{means.queried:.2f}", f"{means.hit:.2f}"]
    return f"| {' | '.join(told)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--every", type=int, default=5)
    given = parser.parse_args()
    world = MmluWorld(given.data, every=given.every)
    headings, subject = world.topics, world.rows.subject
    held = [world.rows.known[subject == one] for one in range(len(world.rows.subjects))]
    print("| topics | closeness | topic walk: queried | hits, % | sketch walk: queried | hits, % |")
    print("|---|---|---|---|---|---|")
    print(row(world, f"{len(headings)} headings", [headings] * len(SEEDS)), flush=True)
    for count, rounds, noise in LEARNT:
        name = f"{count} learnt, {rounds} rounds" + (f", noise {noise}" if noise else "")
        made = [learnt(headings, held, count, rounds, noise, seed) for seed in SEEDS]
        print(row(world, name, made), flush=True)


if __name__ == "__main__":
    main()
