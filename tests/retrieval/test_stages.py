"""Dense retrieval, late interaction and rank fusion over the demo corpus with the real encoder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError, StoreMismatchError
from fedrag_flwr.models.encoder import LateInteractionReranker
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.base import RankedPassage, Ranking, searchable_text
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.late import LateInteractionRetriever, TokenTable
from fedrag_flwr.retrieval.sparse import Bm25Retriever
from simulations.bench.rank_fusion import ReciprocalRankFusion, fuse
from simulations.corpora.candidates import dense_over

QUESTION = "Which telescope studies the early universe in microwaves?"
RANKINGS = st.lists(st.permutations(["a", "b", "c", "d"]).flatmap(lambda p: st.integers(0, 4).map(lambda n: p[:n])))


@pytest.fixture(scope="module")
def dense(passages: list[Passage], questions: QuestionVectors) -> DenseRetriever:
    return dense_over(passages, questions)


@pytest.fixture(scope="module")
def tokens(passages: list[Passage], questions: QuestionVectors) -> TokenTable:
    return TokenTable.of(passages, questions)


def names(ranking: Ranking) -> list[str]:
    return [found.passage_id for found in ranking]


def ranking_of(ids: list[str]) -> Ranking:
    return tuple(RankedPassage(name, -float(rank)) for rank, name in enumerate(ids))


def test_dense_ranks_by_cosine(dense: DenseRetriever, passages: list[Passage]) -> None:
    encoder = load_encoder()
    cosines = encoder.encode([searchable_text(p) for p in passages]) @ encoder.encode([QUESTION])[0]
    found = dense.rank(QUESTION, 5)
    assert names(found) == [passages[row].id for row in np.argsort(-cosines)[:5]]
    assert [one.score for one in found] == pytest.approx(sorted(cosines, reverse=True)[:5], abs=1e-5)
    assert dense.scores(QUESTION) == pytest.approx(cosines, abs=1e-5)


def test_it_agrees_with_the_reranker(tokens: TokenTable, passages: list[Passage], questions: QuestionVectors) -> None:
    wanted = LateInteractionReranker(load_encoder()).score(QUESTION, [searchable_text(p) for p in passages])
    every = LateInteractionRetriever(tokens, questions)
    assert every.scores(QUESTION, range(len(passages))) == pytest.approx(wanted, abs=5e-3)  # eight bits
    assert names(every.rank(QUESTION, 1)) == [passages[int(np.argmax(wanted))].id]


def test_it_scores_candidates_alone(tokens: TokenTable, questions: QuestionVectors, dense: DenseRetriever) -> None:
    every, few = (LateInteractionRetriever(tokens, questions, first, depth=8) for first in (None, dense))
    candidates = set(names(dense.rank(QUESTION, 8)))
    assert names(few.rank(QUESTION, 8)) == [name for name in names(every.rank(QUESTION, 99)) if name in candidates]


def test_a_question_is_encoded_once(passages: list[Passage]) -> None:
    kept = QuestionVectors(load_encoder(), most=2)
    first = kept.whole("one")
    assert kept.whole("one") is first
    for text in ("two", "three"):
        kept.whole(text)
    assert kept.whole("one") is not first
    assert kept.tokens("one").shape[1] == kept.encoder.dimension


@given(RANKINGS)
def test_fusion_sums_reciprocal_ranks(orders: list[list[str]]) -> None:
    rankings = [ranking_of(order) for order in orders]
    scores = {n: sum(1 / (60 + o.index(n) + 1) for o in orders if n in o) for o in orders for n in o}
    found = fuse(rankings, [1.0] * len(rankings), 10)
    assert names(found) == sorted(scores, key=lambda name: (-round(scores[name], 14), name))
    assert [one.score for one in found] == pytest.approx([scores[one.passage_id] for one in found])


@given(st.permutations(["a", "b", "c", "d"]))
def test_a_weightless_ranking_decides_nothing(order: list[str]) -> None:
    assert names(fuse([ranking_of(["c", "a"]), ranking_of(order)], [1.0, 0.0], 4)) == ["c", "a"]


def test_fusion_over_retrievers(dense: DenseRetriever, passages: list[Passage]) -> None:
    sparse = Bm25Retriever(passages)
    fusion = ReciprocalRankFusion([dense, sparse])
    wanted = fuse([dense.rank(QUESTION, 100), sparse.rank(QUESTION, 100)], [1.0, 1.0], 3)
    assert fusion.rank(QUESTION, 3) == wanted


def test_what_does_not_fit_is_refused(
    dense: DenseRetriever, questions: QuestionVectors, tokens: TokenTable, passages: list[Passage]
) -> None:
    with pytest.raises(StoreMismatchError):
        DenseRetriever(["only one"], dense.vectors, questions)
    with pytest.raises(StoreMismatchError):
        TokenTable(tokens.ids[:-1], tokens.codes, tokens.scales, tokens.bounds)
    with pytest.raises(StoreMismatchError):
        TokenTable(("a", "b"), tokens.codes[:3], tokens.scales[:3], np.array([0, 0, 3]))
    with pytest.raises(StoreMismatchError):
        tokens.rows(["absent"])
    for weights in ([1.0], [1.0, -1.0]):
        with pytest.raises(SettingError):
            ReciprocalRankFusion([dense, dense], weights)
    with pytest.raises(SettingError):
        ReciprocalRankFusion([])
