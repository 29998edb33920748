"""Walks over vertices and passages on a two-hop question with the real encoder."""

from collections.abc import Sequence

import pytest

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import Ranking
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from simulations.corpora import passage_walk
from simulations.corpora.candidates import dense_over
from simulations.corpora.page_rank import PassageGraph
from simulations.corpora.passage_walk import FactTable, PassageWalkRetriever, normalised

TEXTS = {
    "harbour": ("Lindholm Harbour", "Lindholm Harbour was built by the engineer Maren Tolk."),
    "tolk": ("Maren Tolk", "Maren Tolk was born in the village of Ostrava Bay in 1871."),
    "harbours": ("Harbours", "A harbour is a sheltered place where ships moor, often built by the state."),
    "quay": ("Lindholm Quay", "Lindholm Quay lies beside Lindholm Harbour and was built later."),
    "bread": ("Rye bread", "Rye bread is baked from rye flour and keeps for a week."),
}
TUPLES = [
    EvidenceTuple("Lindholm Harbour", "was built by", "Maren Tolk", "harbour"),
    EvidenceTuple("Maren Tolk", "was born in", "Ostrava Bay", "tolk"),
    EvidenceTuple("Lindholm Quay", "lies beside", "Lindholm Harbour", "quay"),
    EvidenceTuple("Harbour", "is", "a sheltered place", "harbours"),
    EvidenceTuple("Rye bread", "is baked from", "rye flour", "bread"),
    EvidenceTuple("…", "is", "nothing", "bread"),
]
QUESTION = "Where was the engineer born who built Lindholm Harbour?"


@pytest.fixture(scope="module")
def corpus() -> list[Passage]:
    return [Passage(name, name, title, text, ()) for name, (title, text) in TEXTS.items()]


@pytest.fixture(scope="module")
def dense(corpus: list[Passage], questions: QuestionVectors) -> DenseRetriever:
    return dense_over(corpus, questions)


@pytest.fixture(scope="module")
def walk(corpus: list[Passage], dense: DenseRetriever, questions: QuestionVectors) -> PassageWalkRetriever:
    return make_walk(corpus, dense, questions)


def make_walk(
    corpus: list[Passage], dense: DenseRetriever, questions: QuestionVectors, told: Sequence[EvidenceTuple] = TUPLES
) -> PassageWalkRetriever:
    tuples = normalised(told)
    table = TupleTable.of(tuples, [passage.id for passage in corpus])
    facts = FactTable.of(tuples, table)
    encoder = load_encoder()
    graph = PassageGraph(table, encoder.encode(table.vertices))
    return PassageWalkRetriever(graph, facts, encoder.encode(facts.texts), dense, questions)


def names(ranking: Ranking) -> list[str]:
    return [found.passage_id for found in ranking]


def test_normal_tuples_have_plain_names_and_two_ends() -> None:
    assert [(one.head, one.tail) for one in normalised(TUPLES)][:1] == [("lindholm harbour", "maren tolk")]
    assert all(one.tail != "nothing" for one in normalised(TUPLES))


def test_a_walk_reaches_what_is_joined_to_the_nearest_fact_and_nothing_else(
    walk: PassageWalkRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_walk, "FACTS", 1)
    monkeypatch.setattr(passage_walk, "PASSAGE_SHARE", 0.0)
    found = names(walk.rank(QUESTION, 5))
    assert found[0] == "harbour"
    assert {"tolk", "quay"} <= set(found)
    assert "bread" not in found


def test_without_facts_nearness_leads(corpus: list[Passage], dense: DenseRetriever, questions: QuestionVectors) -> None:
    plain = make_walk(corpus, dense, questions, ())
    assert names(plain.rank(QUESTION, 1)) == names(dense.rank(QUESTION, 1))


def test_other_passages_than_the_graphs_are_refused(
    corpus: list[Passage], dense: DenseRetriever, questions: QuestionVectors
) -> None:
    with pytest.raises(StoreMismatchError):
        make_walk(list(reversed(corpus)), dense, questions)
