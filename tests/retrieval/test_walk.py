"""Walks over vertices and passages, and coverage, on a two-hop question with the real encoder."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError, StoreMismatchError
from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import RankedPassage, Ranking
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.late import TokenTable
from simulations.baselines import passage_walk
from simulations.baselines.page_rank import PassageGraph
from simulations.baselines.passage_walk import (
    CoverageRetriever,
    CoverageSettings,
    FactTable,
    PassageWalkRetriever,
    _choose,
    normalised,
)
from simulations.corpora.candidates import dense_over

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


def test_coverage_keeps_the_candidates_and_the_first_choice_weighs_both(
    walk: PassageWalkRetriever, corpus: list[Passage], questions: QuestionVectors
) -> None:
    tokens = TokenTable.of(corpus, questions)
    first = walk.rank(QUESTION, 5)
    alone = CoverageRetriever(walk, tokens, questions, CoverageSettings(weight=0.0)).rank(QUESTION, 5)
    assert names(alone) == names(first)
    assert [one.score for one in alone] == pytest.approx(np.log([one.score for one in first]))
    chosen = CoverageRetriever(walk, tokens, questions).rank(QUESTION, 5)
    assert set(names(chosen)) == set(names(first))


def test_coverage_prefers_what_is_new_to_what_is_said_again(corpus: list[Passage], questions: QuestionVectors) -> None:
    harbour, tolk = corpus[0], corpus[1]
    again = Passage("again", "again", harbour.title, harbour.text, ())
    tokens = TokenTable.of([harbour, again, tolk], questions)
    equal = Fixed({"harbour": 0.4, "again": 0.4, "tolk": 0.4})
    assert names(CoverageRetriever(equal, tokens, questions).rank(QUESTION, 3))[2] in {"harbour", "again"}


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 8), st.floats(0.0, 100.0))
@settings(deadline=None)
def test_greedy_choice_is_that_of_its_definition(seed: int, tokens: int, count: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    own, matches = rng.normal(size=count), rng.normal(size=(tokens, count)).astype(np.float32)
    order, scores = _choose(own, matches, weight, count)
    assert sorted(order) == list(range(count))
    for step, row in enumerate(order):
        before = np.maximum(matches[:, order[:step]].max(axis=1, initial=0.0), 0.0)
        totals = {
            other: own[other] + weight * float((np.maximum(matches[:, other], before) - before).mean())
            for other in order[step:]
        }
        assert scores[step] == pytest.approx(totals[row], abs=1e-4)
        assert totals[row] >= max(totals.values()) - 1e-4
    assert all(later <= earlier + 1e-4 for earlier, later in pairwise(scores))


class Fixed:
    """A first stage with given scores."""

    def __init__(self, scores: dict[str, float]) -> None:
        self._ranking = tuple(RankedPassage(name, score) for name, score in scores.items())

    def rank(self, question: str, k: int) -> Ranking:
        """The given ranking, whatever is asked."""
        return self._ranking[:k]


def test_what_does_not_fit_is_refused(
    corpus: list[Passage], dense: DenseRetriever, questions: QuestionVectors, walk: PassageWalkRetriever
) -> None:
    tokens = TokenTable.of(corpus[:2], questions)
    with pytest.raises(StoreMismatchError):
        CoverageRetriever(walk, tokens, questions).rank(QUESTION, 2)
    with pytest.raises(SettingError):
        CoverageRetriever(Fixed({"harbour": 0.0}), tokens, questions).rank(QUESTION, 2)
    assert CoverageRetriever(Fixed({}), tokens, questions).rank(QUESTION, 2) == ()
    with pytest.raises(StoreMismatchError):
        make_walk(list(reversed(corpus)), dense, questions)
    with pytest.raises(SettingError):
        CoverageSettings(candidates=0)
