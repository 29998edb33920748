"""Dual-level retrieval over a small made-up graph: what each level leads to, and the order of what comes back."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.knowledge_graph import retrieval
from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph
from fedrag_flwr.knowledge_graph.retrieval import GraphIndex, GraphRetriever, Level, VectorTable
from fedrag_flwr.knowledge_graph.statements import End, Statement
from fedrag_flwr.records import Passage, Sentence

# The question stands nearest to the entity "ferry"; p1 tells "ferry" and "harbour" together, p2 "harbour" alone.
QUESTION = np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32)
AXES = np.eye(4, dtype=np.float32)


def end(text: str) -> End:
    return End(text, text, "CONCEPT")


def told(head: str, tail: str, passage: str) -> Statement:
    return Statement(end(head), "joins", end(tail), passage, f"{passage}#0", f"{passage}#0.0", 1.0)


def passage(name: str) -> Passage:
    sentences = tuple(Sentence(f"{name}#0.{n}", f"{name}#0", f"{name} sentence {n}.") for n in range(2))
    return Passage(f"{name}#0", name, name.title(), " ".join(s.text for s in sentences), sentences)


NAMES = ("p1", "p2", "p3", "p4")
GRAPH = KnowledgeGraph.of(
    [told("ferry", "harbour", "p1"), told("harbour", "salt", "p2"), told("mill", "river", "p3")],
    {f"{name}#0": AXES[0] for name in NAMES},
    {},
)


@pytest.fixture(autouse=True, scope="module")
def _one_of_each() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrieval, "NEAREST", 1)
        yield


def retriever(*levels: Level) -> GraphRetriever:
    entities = {name: AXES[0] if name == "ferry" else AXES[1] for name in GRAPH.entities}
    relations = {name: AXES[0] if name.startswith("mill") else AXES[1] for name in GRAPH.relations}
    passages = [passage(name) for name in NAMES]
    sentences = {s.id: AXES[0] * 0.8 if s.id.endswith(".1") else AXES[2] for p in passages for s in p.sentences}
    index = GraphIndex(
        GRAPH,
        VectorTable.of(entities),
        VectorTable.of(relations),
        VectorTable.of({p.id: AXES[0] if p.id == "p4#0" else AXES[3] for p in passages}),
        VectorTable.of(sentences),
    )
    return GraphRetriever("home", index, passages, frozenset(levels))


# (level, the passages that it leads to)
CASES: list[tuple[Level, set[str]]] = [("entity", {"p1#0", "p2#0"}), ("relation", {"p3#0"}), ("chunk", {"p4#0"})]


@pytest.mark.parametrize(("level", "passages"), CASES)
def test_each_level_leads_elsewhere(level: Level, passages: set[str]) -> None:
    assert {one.id for one, _ in retriever(level).passages(QUESTION)} == passages


def test_all_levels_lead_to_all() -> None:
    found = retriever("entity", "relation", "chunk").passages(QUESTION)
    assert {one.id for one, _ in found} == {"p1#0", "p2#0", "p3#0", "p4#0"}


def test_a_neighbour_s_passages_come_after_the_entity_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.id for one, _ in retriever("entity").passages(QUESTION)] == ["p1#0", "p2#0"]
    monkeypatch.setattr(retrieval, "NEIGHBOURS", 0)
    assert [one.id for one, _ in retriever("entity").passages(QUESTION)] == ["p1#0"]


@given(st.integers(1, 12))
def test_the_nearest_sentences_of_those_passages_come_back(budget: int) -> None:
    units = retriever("entity", "relation", "chunk").retrieve(QUESTION, budget)
    assert len(units) == min(budget, 8)
    assert [unit.score for unit in units] == sorted((unit.score for unit in units), reverse=True)
    assert all(unit.id.endswith(".1") for unit in units[: min(budget, 4)])
    assert {unit.origin for unit in units} == {"home"}


def test_an_empty_graph_finds_nothing() -> None:
    nothing = VectorTable.of({})
    index = GraphIndex(KnowledgeGraph.of([], {}, {}), nothing, nothing, nothing, nothing)
    assert GraphRetriever("home", index, []).retrieve(QUESTION, 3) == []
