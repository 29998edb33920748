"""Cutting a graph of a million edges, and finding the nearest of a million summaries.

    python simulations/bench_communities.py [--edges 1000000] [--summaries 1000000] [--out docs/benchmarks]

The graph is a planted partition with communities of sizes from 20 to 200 and three edges in four inside. Quality is
modularity beside Louvain's (networkx, on a tenth of the graph) and, where they are installed, igraph's and leidenalg's
Leiden on the whole one. The summaries are unit vectors around 20,000 centres with the encoder's dimension; questions
lie as far from a centre as summaries do. `--part cut` or `--part routing` does one of the two.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.knowledge_graph.communities import CutSettings, cut, leiden, modularity
from fedrag_flwr.knowledge_graph.routing import SummaryIndex
from fedrag_flwr.processes import peak_rss_mb
from simulations.reporting.folders import out_folder

DIMENSION, CENTRES, DEVICES = 384, 20_000, 1_000
Edges = dict[tuple[str, str], float]


def planted(count: int, rng: np.random.Generator) -> Edges:
    """A graph of about so many edges with communities in it."""
    sizes = rng.integers(20, 201, size=max(2, count // 550))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    vertices = int(starts[-1])
    inside = int(0.75 * count)
    block = rng.integers(0, len(sizes), size=inside)
    pairs = starts[block][:, None] + (rng.random((inside, 2)) * sizes[block][:, None]).astype(np.int64)
    outside = rng.integers(0, vertices, size=(count - inside, 2))
    every = np.sort(np.concatenate([pairs, outside]), axis=1)
    every = np.unique(every[every[:, 0] != every[:, 1]], axis=0)
    return {(f"{one:07d}", f"{other:07d}"): 1.0 for one, other in every.tolist()}


def cutting(count: int, seed: int) -> list[dict[str, object]]:
    """Time and quality of the cut, alone and with the limits on size."""
    rng = np.random.default_rng(seed)
    edges, part = planted(count, rng), planted(max(1_000, count // 10), rng)
    free = CutSettings(most=10**9, least=1, seed=seed)
    rows = []
    for name, graph in (("a tenth", part), ("whole", edges)):
        start = time.perf_counter()
        found = leiden(graph, free)
        rows.append(_row(f"Leiden, {free.iterations} cycles, {name}", graph, found, start))
    rows.append(_louvain(part, seed))
    rows += _igraph(edges, seed, free)
    names = sorted({name for pair in edges for name in pair})
    vectors = {name: np.zeros(4, dtype=np.float32) for name in names}
    start = time.perf_counter()
    rows.append(_row("with limits 6 to 60, whole", edges, cut(edges, vectors, CutSettings(seed=seed)), start))
    return rows


def routing(count: int, seed: int, questions: int = 500) -> dict[str, object]:
    """Seconds, memory and agreement with a full scan of a search among so many summaries."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(CENTRES, DIMENSION)).astype(np.float32)
    vectors = _around(centres, count, rng)
    asked = _around(centres, questions, rng)
    start = time.perf_counter()
    index = SummaryIndex(
        [f"s{row}" for row in range(count)], [f"device-{row % DEVICES}" for row in range(count)], vectors, seed
    )
    made = time.perf_counter() - start
    seconds, same = [], []
    for question in asked:
        start = time.perf_counter()
        found = index.route(question, 5, 1)
        seconds.append(time.perf_counter() - start)
        best = int(np.argmax(vectors @ question))
        same.append(f"s{best}" in {hit.id for hit in index.nearest(question, 5)} and bool(found.owners))
    return {
        "summaries": count,
        "build seconds": round(made, 1),
        "index MB": round(index.bytes / 1e6),
        "ms a question": round(1e3 * float(np.mean(seconds)), 2),
        "p95 ms": round(1e3 * float(np.quantile(seconds, 0.95)), 2),
        "nearest among the five, %": round(100 * float(np.mean(same)), 1),
    }


def _around(centres: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    found: NDArray[np.float32] = centres[rng.integers(0, len(centres), size=count)]
    for start in range(0, count, 100_000):
        part = found[start : start + 100_000]
        part += 0.8 * rng.standard_normal(size=part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return found


def _row(name: str, edges: Edges, found: dict[str, int], start: float) -> dict[str, object]:
    seconds = time.perf_counter() - start
    return {
        "cut": name,
        "edges": len(edges),
        "communities": len(set(found.values())),
        "modularity": round(modularity(edges, found), 4),
        "seconds": round(seconds, 1),
    }


def _louvain(edges: Edges, seed: int) -> dict[str, object]:
    import networkx as nx

    start = time.perf_counter()
    groups = nx.community.louvain_communities(nx.Graph(list(edges)), seed=seed)
    found = {name: number for number, names in enumerate(groups) for name in names}
    return _row("networkx Louvain, a tenth", edges, found, start)


def _igraph(edges: Edges, seed: int, free: CutSettings) -> list[dict[str, object]]:
    if find_spec("igraph") is None:
        return []
    import random

    import igraph

    graph = igraph.Graph.TupleList(edges, directed=False)
    random.seed(seed)
    igraph.set_random_number_generator(random)
    rows = []
    start = time.perf_counter()
    found = graph.community_leiden(objective_function="modularity", n_iterations=free.iterations)
    named = dict(zip(graph.vs["name"], found.membership, strict=True))
    rows.append(_row(f"igraph Leiden, {free.iterations} cycles, whole", edges, named, start))
    if find_spec("leidenalg") is not None:
        import leidenalg

        start = time.perf_counter()
        other = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, n_iterations=2, seed=seed)
        named = dict(zip(graph.vs["name"], other.membership, strict=True))
        rows.append(_row("leidenalg, 2 cycles, whole", edges, named, start))
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """Rows in Markdown."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(str(row[name]) for name in names)} |" for row in rows), ""])


def main() -> None:
    """Measure both, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--summaries", type=int, default=1_000_000)
    parser.add_argument("--part", choices=("both", "cut", "routing"), default="both")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    parts: dict[str, list[dict[str, object]]] = {}
    if arguments.part != "routing":
        parts["communities_cut"] = cutting(arguments.edges, arguments.seed)
    if arguments.part != "cut":
        parts["communities_routing"] = [routing(arguments.summaries, arguments.seed)]
    for name, rows in parts.items():
        (arguments.out / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        (arguments.out / f"{name}.md").write_text(table(rows), encoding="utf-8")
        print(table(rows))
    print(f"peak {peak_rss_mb():.0f} MB")


if __name__ == "__main__":
    main()
