"""The graph of vertices and passages: its edges, and where walks over it end."""

import networkx  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest

from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.records import EvidenceTuple
from simulations.corpora.page_rank import PassageGraph, synonyms

PASSAGES = ("p0", "p1", "p2", "p3")


def table() -> TupleTable:
    """Ada joins p0 to nobody else; Bell and bells, near in meaning, join p1 and p2; p3 has no tuple."""
    return TupleTable.of(
        [
            EvidenceTuple("ada", "taught", "bell", "p0"),
            EvidenceTuple("bell", "met", "curie", "p1", confidence=0.5),
            EvidenceTuple("bells", "met", "dirac", "p2"),
            EvidenceTuple("dirac", "is", "dirac", "p2"),
        ],
        PASSAGES,
    )


def vectors(names: tuple[str, ...], cosine: float = 0.9) -> np.ndarray:
    """Unit vectors at right angles, but for bell and bells."""
    rows = np.eye(len(names), dtype=np.float32)
    bell, bells = names.index("bell"), names.index("bells")
    rows[bells] = cosine * rows[bell] + np.sqrt(1 - cosine**2) * rows[bells]
    return rows


def test_scores_are_networkx_pagerank_over_all_edges() -> None:
    tuples = table()
    graph = PassageGraph(tuples, vectors(tuples.vertices))
    same = networkx.Graph()
    same.add_nodes_from([*tuples.vertices, *PASSAGES])
    same.add_weighted_edges_from([("ada", "bell", 1.0), ("bell", "curie", 0.5), ("bells", "dirac", 1.0)])
    same.add_weighted_edges_from([("bell", "bells", 0.9)])
    held = {"p0": ("ada", "bell"), "p1": ("bell", "curie"), "p2": ("bells", "dirac")}
    same.add_weighted_edges_from([(passage, name, 0.5) for passage, names in held.items() for name in names])
    seeds = np.array([float(name == "ada") for name in tuples.vertices])
    wanted = networkx.pagerank(same, alpha=0.5, personalization={"ada": 1.0, "p1": 0.25}, tol=1e-13, max_iter=500)
    found = graph.scores(seeds, np.array([0.0, 0.25, 0.0, 0.0]))
    assert found == pytest.approx([wanted[name] for name in PASSAGES], abs=1e-7)
    assert found[2] > 0.0 == found[3]


def test_without_synonyms_a_walk_stays_apart() -> None:
    tuples = table()
    graph = PassageGraph(tuples, vectors(tuples.vertices, cosine=0.7))
    seeds = np.array([float(name == "ada") for name in tuples.vertices])
    assert graph.scores(seeds, np.zeros(4))[2] == 0.0


def test_synonyms_are_near_names_of_three_letters_or_more() -> None:
    rng = np.random.default_rng(3)
    names = (*(f"name {number}" for number in range(60)), "ab", "a b")
    rows = rng.normal(size=(len(names), 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[-1] = rows[-2] = rows[0]
    first, second, cosines = synonyms(names, rows)
    near = rows[:60] @ rows[:60].T
    wanted = {(i, j) for i, j in zip(*np.nonzero(np.triu(near >= 0.8, 1)), strict=True)}
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == wanted
    assert cosines == pytest.approx(near[first, second], abs=1e-6)


def test_a_corpus_without_tuples_still_ranks_its_seeds() -> None:
    graph = PassageGraph(TupleTable.of([], PASSAGES), np.zeros((0, 4), dtype=np.float32))
    assert graph.scores(np.zeros(0), np.array([0.0, 1.0, 0.0, 0.0])).argmax() == 1
