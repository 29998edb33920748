"""Units for the tests: clouds of vectors made by hand, and real sentences of the demo corpus."""

import functools
import re
from importlib import resources

import numpy as np

from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units
from fedrag_flwr.hypergraph.objective import Entries
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.records import Granularity
from simulations.benchmarks.hypergraph import hard_objective


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cloud(
    count: int, *, dimension: int = 16, topics: int = 0, seed: int = 0, granularity: Granularity = "sentence"
) -> Units:
    """Unit vectors scattered around some topics (default: one for every five)."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(topics or max(1, count // 5), dimension))
    vectors = centres[rng.integers(len(centres), size=count)] + 0.5 * rng.normal(size=(count, dimension))
    return units(vectors, granularity)


def units(vectors: np.ndarray, granularity: Granularity = "sentence") -> Units:
    """Name the rows of a matrix after scaling them to length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    return Units(granularity, tuple(f"{granularity[0]}{i:05d}" for i in range(len(rows))), rows)


def objective_of(learnt: Learning, group: Units, settings: LearningSettings) -> float:
    """Eq. 8 of one granularity, over as many candidate hyperedges as learning begins with."""
    place = {unit: row for row, unit in enumerate(group.ids)}
    edges = [edge for edge in learnt.hyperedges if edge.granularity == group.granularity]
    rows = np.array([place[unit] for edge in edges for unit in edge.members], dtype=np.int64)
    homes = np.repeat(np.arange(len(edges), dtype=np.int64), [len(edge.members) for edge in edges])
    weights = np.array([weight for edge in edges for weight in edge.weights])
    count = -(-len(group.ids) // settings.units_per_edge)
    return hard_objective(group.vectors, weights, Entries(rows, homes, count), settings)


@functools.cache
def real_sentences(count: int) -> Units:
    """Sentences of the demo corpus, roughly split, encoded by the default encoder."""
    texts: list[str] = []
    folders = [resources.files("fedrag_flwr.demo") / "corpus"]
    while folders:
        for entry in sorted(folders.pop().iterdir(), key=lambda item: item.name):
            if entry.is_dir():
                folders.append(entry)
            elif entry.name.endswith((".txt", ".md")):
                parts = re.split(r"(?<=[.!?])\s+", entry.read_text(encoding="utf-8"))
                texts += [part for part in parts if len(part) > 20]
    return units(SentenceEncoder(threads=1).encode(texts[:count]))
