"""BM25: parity with two libraries and the textbook, and what has no word."""

import math
from collections import Counter
from collections.abc import Sequence

import bm25s  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest
import rank_bm25  # type: ignore[import-untyped, unused-ignore]
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.base import ranked, searchable_text
from fedrag_flwr.retrieval.sparse import Bm25Retriever, Bm25Settings, words

QUESTIONS = (
    "Which rocket launched the telescope that observes in the infrared?",
    "who was the first woman in space",
    "Which moons of Jupiter were seen in 1610?",
    "zzzz qqqq",
)
TEXTS = st.lists(st.text("ab cd", max_size=12), min_size=1, max_size=6)


def corpus_of(passages: Sequence[Passage]) -> list[list[str]]:
    return [words(searchable_text(passage)) for passage in passages]


def textbook(corpus: list[list[str]], question: list[str], k1: float, b: float) -> list[float]:
    """Robertson's formula with an inverse document frequency that cannot fall below zero."""
    mean = sum(map(len, corpus)) / len(corpus)
    holders = Counter(word for document in corpus for word in set(document))
    scores = []
    for document in corpus:
        count, norm = Counter(document), k1 * (1 - b + b * len(document) / mean) if mean else 0.0
        scores.append(
            sum(
                math.log(1 + (len(corpus) - holders[word] + 0.5) / (holders[word] + 0.5))
                * (count[word] * (k1 + 1) / (count[word] + norm))
                for word in question
                if count[word]
            )
        )
    return scores


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("method", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
def test_scores_are_those_of_bm25s(passages: list[Passage], method: str, question: str) -> None:
    theirs = bm25s.BM25(method=method, dtype="float64")
    theirs.index(corpus_of(passages), show_progress=False)
    ours = Bm25Retriever(passages, Bm25Settings(frequency=method, inverse_frequency=method))  # type: ignore[arg-type]
    known = [word for word in words(question) if word in theirs.vocab_dict]
    wanted = theirs.get_scores(known) if known else np.zeros(len(passages))
    assert ours.scores(question) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("question", QUESTIONS)
def test_scores_are_those_of_rank_bm25(passages: list[Passage], question: str) -> None:
    corpus = corpus_of(passages)
    plus = Bm25Retriever(passages, Bm25Settings(frequency="bm25+", inverse_frequency="bm25+", delta=1.0))
    assert plus.scores(question) == pytest.approx(rank_bm25.BM25Plus(corpus).get_scores(words(question)), rel=1e-9)
    theirs = rank_bm25.BM25Okapi(corpus)
    rare = [word for word in words(question) if sum(word in document for document in corpus) < len(corpus) / 2]
    okapi = Bm25Retriever(passages, Bm25Settings(frequency="atire", inverse_frequency="robertson"))
    assert okapi.scores(" ".join(rare)) == pytest.approx(theirs.get_scores(rare), rel=1e-9)


@given(TEXTS, st.text("ab cdz", max_size=8), st.floats(0.0, 3.0), st.floats(0.0, 1.0))
@settings(deadline=None)
def test_scores_are_the_textbooks(texts: list[str], question: str, k1: float, b: float) -> None:
    passages = [Passage(f"p{number}", "d", "", text, ()) for number, text in enumerate(texts)]
    ours = Bm25Retriever(passages, Bm25Settings(k1=k1, b=b)).scores(question)
    assert ours == pytest.approx(textbook(corpus_of(passages), words(question), k1, b), rel=1e-9)


def test_only_passages_that_share_a_word_are_ranked(passages: list[Passage]) -> None:
    retriever = Bm25Retriever(passages)
    assert retriever.rank("zzzz qqqq", 5) == ()
    assert retriever.rank("", 5) == ()
    held = sum("spacecraft" in words(searchable_text(passage)) for passage in passages)
    assert 0 < len(retriever.rank("spacecraft", len(passages))) == held < len(passages)
    assert Bm25Retriever([]).rank("spacecraft", 5) == ()


def test_words_of_any_script_match_whatever_their_case() -> None:
    passages = [Passage("p", "d", "", "ÉCOLE Straße Ночь", ())]
    for question in ("école", "ecole", "STRASSE", "ночь"):
        assert [found.passage_id for found in Bm25Retriever(passages).rank(question, 1)] == ["p"]


def test_an_index_is_built_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    Bm25Retriever([Passage("p", "d", "", "The mill stands by the river.", ())])
    assert caplog.records == []


SCORES = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 2)), max_size=30)


@given(SCORES, st.integers(-1, 40), st.sampled_from([-np.inf, 0.0]))
def test_ranking_is_the_sorted_head(scores: list[float], k: int, above: float) -> None:
    ids = [f"p{number:02d}" for number in range(len(scores))][::-1]
    wanted = sorted((-score, name) for name, score in zip(ids, scores, strict=True) if score > above)[: max(k, 0)]
    found = ranked(ids, np.array(scores), k, above=above)
    assert [(one.passage_id, one.score) for one in found] == [(name, -score) for score, name in wanted]


def test_the_last_bit_of_a_sum_does_not_decide() -> None:
    first, second = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert first != second
    for scores in ([first, second], [second, first]):
        assert [one.passage_id for one in ranked(["a", "b"], np.array(scores), 1)] == ["a"]


def test_a_passage_is_searched_with_its_title() -> None:
    assert searchable_text(Passage("p", "d", "Luna 9", "It landed.", ())) == "Luna 9\nIt landed."
    assert searchable_text(Passage("p", "d", "", "It landed.", ())) == "It landed."
