"""How often the nearest summaries belong to the device that holds the answer (DGRAG figure 2).

    python simulations/bench_routing_hits.py --set openstax --documents 25 [--data FOLDER] [--out docs/benchmarks]

Builds the devices' graphs where they are not built yet (a stopped build goes on), shares their summaries at each level
of detail, and routes every question of the split `dev`. A question is a hit at m if one of the m nearest summaries is
its own device's, and rightly routed if that device is the first of the route over m.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.knowledge_graph.routing import SummaryIndex
from fedrag_flwr.records import Progress
from simulations.corpora.domain_data import DomainQuestion
from simulations.fixtures.summary_world import SummaryWorld, texts_of, world
from simulations.reporting.folders import out_folder

LEVELS = ("full", "erased")
MOST = 5


def build(made: SummaryWorld) -> list[dict[str, object]]:
    """Bring all devices up to date, and say what each holds."""
    rows = []
    for name in made.devices:
        start = time.perf_counter()
        with made.device(name) as device:
            report = device.build(memories=False)
            graph = device.graph.refresh(_told(name))
            rows.append(
                {
                    "device": name,
                    "documents": report.documents,
                    "passages": report.passages,
                    "statements": graph.statements,
                    "entities": graph.entities,
                    "relations": graph.relations,
                    "communities": graph.communities,
                    "largest": graph.largest,
                    "modularity": round(graph.modularity, 3),
                    "seconds": round(time.perf_counter() - start, 1),
                }
            )
        print(rows[-1], flush=True)
    return rows


def hits(index: SummaryIndex, questions: list[DomainQuestion], vectors: NDArray[np.float32]) -> dict[str, list[float]]:
    """Hit rates and rightly routed questions in per cent, for m = 1 .. 5; and by domain the hit rate at m = 1."""
    hit: defaultdict[int, list[bool]] = defaultdict(list)
    right: defaultdict[int, list[bool]] = defaultdict(list)
    by_domain: defaultdict[str, list[bool]] = defaultdict(list)
    for one, vector in zip(questions, vectors, strict=True):
        near = index.nearest(vector, MOST)
        for m in range(1, MOST + 1):
            hit[m].append(any(found.owner == one.domain for found in near[:m]))
            right[m].append(index.route(vector, m, 1).owners == (one.domain,))
        by_domain[one.domain].append(near[0].owner == one.domain)
    return {
        "hit": [_per_cent(hit[m]) for m in sorted(hit)],
        "routed": [_per_cent(right[m]) for m in sorted(right)],
        **{name: [_per_cent(found)] for name, found in sorted(by_domain.items())},
    }


def table(result: dict[str, object]) -> str:
    """The result in Markdown."""
    built, levels = result["built"], result["levels"]
    assert isinstance(built, list)
    assert isinstance(levels, dict)
    names = list(built[0])
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    lines += [f"| {' | '.join(str(row[name]) for name in names)} |" for row in built]
    lines += ["", "| summaries | measure | m = 1 | 2 | 3 | 4 | 5 |", "|---|---|---|---|---|---|---|"]
    for level, found in levels.items():
        lines += [
            f"| {level} | {name} | {' | '.join(str(value) for value in found[name])} |" for name in ("hit", "routed")
        ]
    return "\n".join([*lines, "", f"{result['questions']} questions.", ""])


def _per_cent(found: list[bool]) -> float:
    return round(100 * float(np.mean(found)), 1)


def _told(name: str) -> Progress:
    last = [0.0]

    def told(phase: str, done: int, total: int) -> None:
        if time.monotonic() - last[0] > 30:
            last[0] = time.monotonic()
            print(f"{name}: {phase} {done}/{total}", flush=True)

    return told


def main() -> None:
    """Build, route, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("openstax", "medquad"), default="openstax")
    parser.add_argument("--documents", type=int, default=0, help="of a device, those with most questions; 0: all")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    made = world(arguments.set, arguments.documents, arguments.data)
    built = build(made)
    questions = [one for one in made.domains.questions if one.split == "dev"]
    vectors = made.models.encoder.encode(texts_of(questions))
    levels = {}
    for level in LEVELS:
        settings = made.settings(graph__detail=level)
        index = made.index(settings, made.home / "shelves" / f"{arguments.set}-{arguments.documents}-{level}")
        levels[level] = {"summaries": [len(index)], **hits(index, questions, vectors)}
        print(level, levels[level], flush=True)
    made.index(made.settings(), made.home / "shelves" / f"{arguments.set}-{arguments.documents}-full")
    result: dict[str, object] = {"built": built, "levels": levels, "questions": len(questions)}
    target = arguments.out / f"routing_hits_{arguments.set}"
    target.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    target.with_suffix(".md").write_text(table(result), encoding="utf-8")
    print(table(result))


if __name__ == "__main__":
    main()
