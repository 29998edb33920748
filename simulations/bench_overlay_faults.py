"""Walks over MMLU with dead and lying peers, and against a central store that lacks a part of all knowledge.

    python simulations/bench_overlay_faults.py [--data FOLDER] [--questions 5000] [--out docs/benchmarks]

100 peers. A dead peer never answers. A liar claims to know everything, in its sketch, too, and returns junk; home sees
that half the time (the question then walks on), and somebody says so of a tenth of the junk that was taken.
Incomplete stores (DRAG figure 2): a central one with 70 or 50 % of all rows (S) or subjects (T), and 20 peers that hold
everything.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.overlay import LearningRules
from fedrag_flwr.overlay.simulator import Asked, Faults
from fedrag_flwr.records import WalkKind
from fedrag_flwr.settings import fedrag_home
from simulations.bench_overlay import FANOUT, STEP, measured
from simulations.fixtures.overlay_world import THRESHOLD, Means, MmluWorld, SubjectKnowledge, ask_all
from simulations.reporting.folders import out_folder
from simulations.reporting.kept_rows import KeptRows, Row
from simulations.reporting.privacy_table import markdown
from simulations.reporting.row_file import this_code

PEERS = 100
WALKS: tuple[WalkKind, ...] = ("topic", "sketch", "flooding")
DEAD = (0.1, 0.3, 0.5)
LIARS = (0.1, 0.3)


def faulty(world: MmluWorld, kind: WalkKind, questions: int, *, dead: float, liars: float, reputation: bool) -> Row:
    """Ask a network of which some peers are dead or liars; means over all questions, in per cent where shares."""
    draw = np.random.default_rng(11).permutation(PEERS)
    bad = frozenset(int(peer) for peer in draw[: round(PEERS * (dead + liars))])
    faults = Faults(dead=bad if dead else frozenset(), liars=bad if liars else frozenset())
    simulator = world.simulator(
        kind, PEERS, fanout=FANOUT[kind], faults=faults, learning=LearningRules(reputation=reputation)
    )
    asked = ask_all(simulator, questions)
    assert isinstance(simulator.knowledge, SubjectKnowledge)
    honest = [subject for peer, held in simulator.knowledge.of.items() if peer not in bad for subject in held]
    there = simulator.knowledge.best[: len(asked)][:, honest].max(axis=1) >= THRESHOLD
    means = Means.of(asked)
    return {
        "queried": means.queried,
        "wire": means.wire,
        "answered": means.hit - means.junk,
        "there": 100 * float(there.mean()),
        "junk": means.junk,
        "last junk": Means.of(asked[-STEP:]).junk,
        "last answered": _answered(asked[-STEP:]),
    }


def _answered(asked: Sequence[Asked]) -> float:
    return 100 * float(np.mean([one.count.hit and not one.junk for one in asked]))


def central(world: MmluWorld, kept: NDArray[np.bool_]) -> Row:
    """Hits and right hits of a central store that holds some of the rows; a hit is right where it is the row itself."""
    rows = world.rows
    known, numbers = rows.known[kept], np.flatnonzero(kept)
    hits = right = 0
    for start in range(0, len(world.chosen), 1_000):
        part = world.chosen[start : start + 1_000]
        scores = rows.asked[part] @ known.T
        best = scores.argmax(axis=1)
        hit = scores[np.arange(len(part)), best] >= THRESHOLD
        hits += int(hit.sum())
        right += int((hit & (numbers[best] == part)).sum())
    return {"hit": 100 * hits / len(world.chosen), "right": 100 * right / len(world.chosen)}


def stores(world: MmluWorld) -> dict[str, NDArray[np.bool_]]:
    """Which rows each central store holds, by its name."""
    rng, subject = np.random.default_rng(5), world.rows.subject
    order, subjects = rng.permutation(len(subject)), rng.permutation(len(world.rows.subjects))
    found = {"CRAG": np.ones(len(subject), dtype=bool)}
    for share in (0.7, 0.5):
        found[f"CRAG-{share:g}S"] = np.isin(np.arange(len(subject)), order[: round(share * len(order))])
    for share in (0.7, 0.5):
        found[f"CRAG-{share:g}T"] = np.isin(subject, subjects[: round(share * len(subjects))])
    return found


def pages(world: MmluWorld, kept: KeptRows, questions: int) -> str:
    """All tables."""
    cells = []
    for dead, liars in [(0.0, 0.0), *((share, 0.0) for share in DEAD), *((0.0, share) for share in LIARS)]:
        for kind in WALKS:
            for reputation in (True, False) if kind != "flooding" and (dead or liars) else (True,):
                told = "-" if kind == "flooding" else "yes" if reputation else "no"
                key = f"{kind} dead={dead} liars={liars} reputation={reputation} questions={questions}"
                row = kept.row(
                    key,
                    lambda kind=kind, dead=dead, liars=liars, reputation=reputation: faulty(  # type: ignore[misc]
                        world, kind, questions, dead=dead, liars=liars, reputation=reputation
                    ),
                )
                what = f"{100 * dead:g} % dead" if dead else f"{100 * liars:g} % liars" if liars else "none"
                cells.append(
                    [what, kind, told, *(f"{value:.2f}" for value in row.values() if isinstance(value, float))]
                )
    headings = ["faults", "walk", "reputation", "queried", "on the wire", "answered, %", "honest peers know, %"]
    lines = markdown([*headings, "junk taken, %", "junk, last 500", "answered, last 500"], cells)
    compared = [
        [name, *(f"{value:.2f}" for value in kept.row(name, lambda rows=rows: central(world, rows)).values())]  # type: ignore[misc]
        for name, rows in stores(world).items()
    ]
    for kind in ("topic", "sketch", "random", "flooding"):
        row = kept.row(f"20 peers {kind}", lambda kind=kind: measured(world, kind, 20, len(world.chosen)))  # type: ignore[misc]
        compared.append([f"{kind} walk" if kind != "flooding" else kind, f"{row['hit']:.2f}", f"{row['right']:.2f}"])
    compared.append(["no-RAG", "0.00", "0.00"])
    return "\n".join([*lines, "", *markdown(["system", "hits, %", "right, %"], compared), ""])


def main() -> None:
    """Measure what is not kept, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--questions", type=int, default=5_000)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    kept = KeptRows(fedrag_home() / "overlay" / "fault-rows.jsonl", this_code())
    text = pages(MmluWorld(arguments.data), kept, arguments.questions)
    (arguments.out / "overlay_faults.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
