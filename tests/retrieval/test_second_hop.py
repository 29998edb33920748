"""The second hop over titles: what it scores, and what must not change it."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import StoreMismatchError
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval import structured
from fedrag_flwr.retrieval.base import Ranking, searchable_text
from fedrag_flwr.retrieval.controller import ControlledRetriever, Controller, ControllerFeatures, Scaling
from fedrag_flwr.retrieval.sparse import Bm25Retriever, words
from fedrag_flwr.retrieval.structured import SecondHopRetriever

QUESTION = "In which village was the builder of the lighthouse at Skarn Point born?"
CORPUS = {
    "point": ("Skarn Point", "The lighthouse at Skarn Point was finished by Ilse Varga in 1902."),
    "varga": ("Ilse Varga", "Ilse Varga grew up among the mill workers of Tornau."),
    "village": ("Hollen", "Hollen is a village in which the builder of a lighthouse was born."),
    "light": ("Lighthouse", "A lighthouse is a tower with a lamp at the coast."),
}
TEXTS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join)
TITLES = st.lists(st.sampled_from("abcdef"), max_size=2).map(" ".join)
PAGES = st.lists(st.tuples(TITLES, TEXTS), min_size=1, max_size=7)


def corpus_of(pages: list[tuple[str, str]]) -> list[Passage]:
    return [Passage(f"p{number}", f"p{number}", title, text, ()) for number, (title, text) in enumerate(pages)]


def second_hop(passages: list[Passage]) -> SecondHopRetriever:
    return SecondHopRetriever(Bm25Retriever(passages), passages)


def scores(ranking: Ranking) -> dict[str, float]:
    return {found.passage_id: found.score for found in ranking}


@pytest.fixture(scope="module")
def lighthouse() -> list[Passage]:
    return [Passage(name, name, title, text, ()) for name, (title, text) in CORPUS.items()]


def test_a_passage_that_another_names_moves_up(lighthouse: list[Passage]) -> None:
    first, hop = Bm25Retriever(lighthouse), second_hop(lighthouse)
    alone, led = scores(first.rank(QUESTION, 4)), scores(hop.rank(QUESTION, 4))
    assert list(alone).index("varga") == 3
    assert list(led).index("varga") == 2
    assert led["varga"] == pytest.approx(led["point"], abs=0.1)  # the whole title is new, and told by that seed


def test_a_title_that_the_question_tells_leads_nowhere(
    lighthouse: list[Passage], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"{QUESTION} Ilse Varga"
    led = second_hop(lighthouse).rank(named, 4)
    monkeypatch.setattr(structured, "WEIGHT", 0.0)
    own = second_hop(lighthouse).rank(named, 4)
    assert scores(led)["varga"] == scores(own)["varga"]


@given(PAGES, TEXTS, st.integers(0, 2**32 - 1))
def test_the_order_of_the_passages_changes_no_score(pages: list[tuple[str, str]], question: str, seed: int) -> None:
    passages = corpus_of(pages)
    shuffled = [passages[row] for row in np.random.default_rng(seed).permutation(len(passages))]
    one, other = (scores(second_hop(order).rank(question, 9)) for order in (passages, shuffled))
    assert one == pytest.approx(other)


@given(PAGES, TEXTS, st.integers(1, 4), st.floats(0.0, 3.0))
def test_scores_are_by_the_definition(pages: list[tuple[str, str]], question: str, seeds: int, weight: float) -> None:
    passages = corpus_of(pages)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SEEDS": seeds, "WEIGHT": weight, "DEPTH": 4}.items():
            patch.setattr(structured, name, value)
        found = second_hop(passages).rank(question, 9)
    first = Bm25Retriever(passages).rank(question, 4)
    told = {passage.id: set(words(searchable_text(passage))) for passage in passages}
    low, high = min((one.score for one in first), default=0.0), max((one.score for one in first), default=0.0)
    own = {one.passage_id: (one.score - low) / (high - low) if high > low else 1.0 for one in first}

    def rarity(word: str) -> float:
        holders = sum(word in said for said in told.values())
        return math.log(1 + (len(told) - holders + 0.5) / (holders + 0.5))

    def lead(seed: str, passage: Passage) -> float:
        title = set(words(passage.title))
        new = (title & told[seed]) - set(words(question))
        return own[seed] * sum(map(rarity, new)) / sum(map(rarity, title)) if title and seed != passage.id else 0.0

    wanted = {}
    for passage in passages:
        best = max((lead(one.passage_id, passage) for one in first[:seeds]), default=0.0)
        if passage.id in own or best > 0.0:
            wanted[passage.id] = own.get(passage.id, 0.0) + weight * best
    assert scores(found) == pytest.approx(wanted)
    assert all(later.score <= earlier.score + 1e-9 for earlier, later in pairwise(found))


@pytest.mark.parametrize("question", ["", "  ", "unheard words"])
def test_where_the_first_stage_finds_nothing_there_is_no_second_hop(lighthouse: list[Passage], question: str) -> None:
    assert second_hop(lighthouse).rank(question, 3) == ()


def test_without_passages_nothing_is_ranked() -> None:
    assert second_hop([]).rank(QUESTION, 3) == ()


def test_a_controller_takes_it_as_a_source(lighthouse: list[Passage]) -> None:
    features = ControllerFeatures(("BM25", "second hop"))
    zeros, ones = np.zeros(len(features.names)), np.ones(len(features.names))
    weights = np.array([name == "second hop.score" for name in features.names], dtype=np.float64)
    controller = Controller(features, Scaling(zeros, ones), weights, 0.0)
    hop = second_hop(lighthouse)
    ordered = ControlledRetriever([Bm25Retriever(lighthouse), hop], controller).rank(QUESTION, 2)
    assert list(scores(ordered)) == list(scores(hop.rank(QUESTION, 2)))


def test_what_does_not_fit_is_refused(lighthouse: list[Passage]) -> None:
    with pytest.raises(StoreMismatchError):
        SecondHopRetriever(Bm25Retriever(lighthouse), lighthouse[1:]).rank(QUESTION, 3)
