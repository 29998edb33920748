"""How fast and how good is the cut of a million edges, and the search among a million summaries?

The graph is a planted partition with communities of sizes from 20 to 200 and three edges in four inside. Modularity
stands beside that of igraph's Leiden, where it is installed. Summaries are unit vectors around 20,000 centres;
questions lie as far from a centre as summaries do.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from fedrag_flwr.knowledge_graph.communities import ITERATIONS, CutSettings, cut, leiden, modularity
from fedrag_flwr.knowledge_graph.routing import SummaryIndex
from simulations.bench.frame import Bench
from simulations.bench.measure import seconds_of

EDGES, SUMMARIES = 1_000_000, 1_000_000
DIMENSION, CENTRES, DEVICES, QUESTIONS, SEED = 384, 20_000, 1_000, 500, 7
Edges = dict[tuple[str, str], float]


def run(bench: Bench) -> None:
    """Cut a planted graph, and route questions among made-up summaries."""
    bench.table("cut", DataFrame(cuts(bench.sized(EDGES, 4_000))))
    bench.table("search", DataFrame([search(bench.sized(SUMMARIES, 500), bench.sized(QUESTIONS, 20))]))


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


def cuts(count: int) -> list[dict[str, Any]]:
    """Time and quality of the cut, alone, with the limits on size, and of other libraries."""
    rng = np.random.default_rng(SEED)
    whole, free = planted(count, rng), CutSettings(most=10**9, least=1, seed=SEED)
    vectors = {name: np.zeros(4, np.float32) for edge in whole for name in edge}
    rows = [timed("Leiden", whole, lambda: leiden(whole, free))]
    if find_spec("igraph") is not None:
        rows.append(timed("igraph Leiden", whole, lambda: _igraph(whole, ITERATIONS)))
    return [*rows, timed("with limits 6 to 60", whole, lambda: cut(whole, vectors, CutSettings(seed=SEED)))]


def timed(name: str, edges: Edges, made: Callable[[], dict[str, int]]) -> dict[str, Any]:
    """One cut's row."""
    start = time.perf_counter()
    found = made()
    seconds = round(time.perf_counter() - start, 1)
    counts = {"edges": len(edges), "communities": len(set(found.values()))}
    return {"cut": name, **counts, "modularity": round(modularity(edges, found), 4), "seconds": seconds}


def _igraph(edges: Edges, cycles: int) -> dict[str, int]:
    import random

    import igraph

    graph = igraph.Graph.TupleList(edges, directed=False)
    random.seed(SEED)
    igraph.set_random_number_generator(random)
    found = graph.community_leiden(objective_function="modularity", n_iterations=cycles)
    return dict(zip(graph.vs["name"], found.membership, strict=True))


def search(count: int, questions: int) -> dict[str, Any]:
    """Seconds, memory and agreement with a full scan of a search among so many summaries."""
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(min(CENTRES, count), DIMENSION)).astype(np.float32)
    vectors, asked = _around(centres, count, rng), _around(centres, questions, rng)
    start = time.perf_counter()
    names = [f"s{row}" for row in range(count)]
    index = SummaryIndex(names, [f"device-{row % DEVICES}" for row in range(count)], vectors, SEED)
    made = time.perf_counter() - start
    seconds, same = [], []
    for question in asked:
        seconds.append(seconds_of(index.route, question, 5, 1))
        same.append(names[int(np.argmax(vectors @ question))] in {hit.id for hit in index.nearest(question, 5)})
    ms = 1e3 * np.array(seconds)
    row = {"summaries": count, "build seconds": round(made, 1), "index MB": round(index.bytes / 1e6)}
    row |= {"ms a question": round(float(ms.mean()), 2), "p95 ms": round(float(np.quantile(ms, 0.95)), 2)}
    return {**row, "nearest among the five, %": round(100 * float(np.mean(same)), 1)}


def _around(centres: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    found: NDArray[np.float32] = centres[rng.integers(0, len(centres), size=count)]
    for start in range(0, count, 100_000):
        part = found[start : start + 100_000]
        part += 0.8 * rng.standard_normal(size=part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return found
