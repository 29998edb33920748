"""MMLU's 57 subjects with 20 to 100 peers: messages, hits and learning of all walks (DRAG table 1, figures 3 to 5, 7).

    python simulations/bench_overlay.py [--data FOLDER] [--questions 10000] [--out docs/benchmarks]

FOLDER holds ``mmlu.jsonl.gz`` (default: $FEDRAG_DATA). Vectors are made once and kept in ``$FEDRAG_HOME/overlay``, as
measured rows are: a stopped run goes on. Each size is drawn three times; walks of one draw share network and
holdings. Settings were chosen on the 4,042 test rows that are not asked here.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fedrag_flwr.overlay.simulator import Asked
from fedrag_flwr.records import WalkKind
from fedrag_flwr.settings import fedrag_home
from simulations.fixtures.overlay_world import EPSILON, QUESTIONS, Means, MmluWorld, SubjectKnowledge, ask_all
from simulations.reporting.folders import out_folder
from simulations.reporting.kept_rows import KeptRows, Row
from simulations.reporting.line_chart import line_chart
from simulations.reporting.privacy_table import markdown
from simulations.reporting.row_file import this_code

SIZES = (20, 40, 60, 80, 100)
KINDS: tuple[WalkKind, ...] = ("topic", "sketch", "random", "flooding")
SEEDS = (0, 1, 2)
FANOUT = {"topic": 4, "sketch": 8, "random": 1, "flooding": 0}  # a sketch walk names more and queries no more for it
VARIED = (2, 4, 6, 8)
EPSILONS = (0.1, 0.3, 1.0, 3.0, math.inf)
FEW = (20, 60, 100)  # sizes at which connectivity, k and epsilon vary, over one draw
VARIED_QUESTIONS = 2_000  # and so many questions
STEP = 500


def measured(
    world: MmluWorld,
    kind: WalkKind,
    peers: int,
    questions: int,
    *,
    connectivity: int = 4,
    fanout: int | None = None,
    seeds: Iterable[int] = SEEDS,
    epsilon: float = 1.0,
) -> Row:
    """Means over all questions and draws, over the first 500, the last 500, and over all so far in steps of 500."""
    runs: list[list[Asked]] = []
    right = []
    for seed in seeds:
        k = FANOUT[kind] if fanout is None else fanout
        simulator = world.simulator(kind, peers, connectivity=connectivity, fanout=k, seed=seed, epsilon=epsilon)
        runs.append(ask_all(simulator, questions, seed))
        assert isinstance(simulator.knowledge, SubjectKnowledge)
        held = simulator.knowledge.of
        subject = world.rows.subject[world.chosen]
        right.append(np.mean([subject[row] in held.get(one.answered_by, ()) for row, one in enumerate(runs[-1])]))
    every = Means.of([one for run in runs for one in run])
    first = Means.of([one for run in runs for one in run[:STEP]])
    last = Means.of([one for run in runs for one in run[-STEP:]])
    return {
        "hops": every.hops,
        "queried": every.queried,
        "wire": every.wire,
        "hit": every.hit,
        "right": 100 * float(np.mean(right)),
        "first": first.queried,
        "first hit": first.hit,
        "last": last.queried,
        "spread": float(np.std([Means.of(run).queried for run in runs])),
        "steps": json.dumps([round(value, 2) for value in so_far(runs)]),
    }


def so_far(runs: Sequence[Sequence[Asked]]) -> list[float]:
    """Peers queried a question, over all questions so far, in steps of 500."""
    ends = range(STEP, len(runs[0]) + STEP, STEP)
    return [Means.of([one for run in runs for one in run[:end]]).queried for end in ends]


def pages(world: MmluWorld, kept: KeptRows, questions: int, out: Path) -> str:
    """All tables, and the chart of figure 4 beside them."""

    def row(kind: WalkKind, peers: int, **varied: float) -> Row:
        told = "".join(f" {name}={value:g}" for name, value in varied.items())
        asked = min(questions, VARIED_QUESTIONS) if varied else questions
        return kept.row(
            f"{kind} peers={peers}{told} questions={asked}",
            lambda: measured(
                world,
                kind,
                peers,
                asked,
                connectivity=int(varied.get("connectivity", 4)),
                fanout=int(varied["k"]) if "k" in varied else None,
                epsilon=varied.get("epsilon", EPSILON),
                seeds=SEEDS[:1] if varied else SEEDS,
            ),
        )

    main = [(kind, peers, row(kind, peers)) for peers in SIZES for kind in KINDS]
    curves = {f"{peers} peers": json.loads(str(one["steps"])) for kind, peers, one in main if kind == "topic"}
    across = [STEP * (place + 1) for place in range(len(next(iter(curves.values()))))]
    chart = line_chart(curves, "questions", "peers queried a question so far, topic walk", across)
    (out / "overlay_convergence.svg").write_text(chart, encoding="utf-8")
    tables: dict[str, dict[float, list[Row]]] = {
        "sketch walk, epsilon of a document": {e: [row("sketch", n, epsilon=e) for n in FEW] for e in EPSILONS},
        "topic walk, connectivity": {m: [row("topic", n, connectivity=m) for n in FEW] for m in VARIED},
        "topic walk, k": {k: [row("topic", n, k=k) for n in FEW] for k in VARIED},
    }
    lines = _walks(main)
    for title, rows in tables.items():
        cells = [
            [f"{value:g}", *(f"{one['queried']:.2f} / {one['hit']:.2f}" for one in found)]
            for value, found in rows.items()
        ]
        lines += ["", *markdown([title, *(f"{peers} peers: queried / hits, %" for peers in FEW)], cells)]
    return "\n".join([*lines, ""])


def _walks(rows: Sequence[tuple[str, int, Row]]) -> list[str]:
    names = ("hops", "queried", "wire", "hit", "right", "first", "last", "spread")
    flooding = {peers: float(one["queried"]) for kind, peers, one in rows if kind == "flooding"}
    cells = [
        [
            str(peers),
            kind,
            *(f"{one[name]:.2f}" for name in names),
            f"{100 * float(one['queried']) / flooding[peers]:.1f}",
        ]
        for kind, peers, one in rows
    ]
    headings = ["peers", "walk", "hops", "queried", "on the wire", "hits, %", "right, %", "first 500", "last 500"]
    return markdown([*headings, "± between draws", "of flooding, %"], cells)


def main() -> None:
    """Measure what is not kept, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    kept = KeptRows(fedrag_home() / "overlay" / "mmlu-rows.jsonl", this_code())
    text = pages(MmluWorld(arguments.data), kept, arguments.questions, arguments.out)
    (arguments.out / "overlay_mmlu.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
