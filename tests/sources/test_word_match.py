"""Words that a document holds of a question: shares between 0 and 1, rare words first, repetition for little."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.records import Document
from fedrag_flwr.retrieval.sparse import content_words
from fedrag_flwr.sources.text_search import held_share

SPLIT = [
    ("When was Odile Varro diagnosed with gout?", ["odile", "varro", "diagnosed", "gout"]),
    ("started 2020-11-05", ["started", "2020", "11", "05", "2020-11-05"]),
    ("Full-time work, 2.5 MG/ML", ["time", "full-time", "work", "2", "5", "2.5", "mg", "ml", "mg/ml"]),
    ("What is it that they are?", []),
    ("Straße -- x- .y", ["strasse", "x", "y"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), SPLIT)
def test_content_words(text: str, expected: list[str]) -> None:
    assert content_words(text) == expected


def corpus(texts: Sequence[str]) -> list[Document]:
    return [Document(str(place), "", text, "") for place, text in enumerate(texts)]


ORDER = [  # question, texts from best to worst
    ("gout in 2018", ["gout 2018", "gout 2019", "asthma 2017"]),
    ("diagnosed on 2018-02-03", ["diagnosed 2018-02-03 2019-01-01", "diagnosed 2018-03-02 2019-01-01", "asthma"]),
    ("serval hunts", ["a serval hunts", "serval serval serval serval serval", "a cat sleeps"]),
    ("rare common", ["rare x y", "common x y", "common x z", "x y z"]),
]


@pytest.mark.parametrize(("question", "texts"), ORDER)
def test_more_and_rarer_words_are_worth_more(question: str, texts: list[str]) -> None:
    shares = held_share(corpus(texts))(question)
    assert shares.argmax() == 0
    assert np.all(np.diff(shares) <= 0.0)


def test_repetition_is_worth_little_against_another_word() -> None:
    shares = held_share(corpus(["gout " * 40, "gout wrist", "asthma knee"]))("gout wrist")
    assert shares[1] > 1.2 * shares[0] > 0.0 == shares[2]


HOSTILE = ["", "the of and", "zzzz", "\x00 \ud800", "gout " * 200_000, "a-" * 200_000, "x" * 1_000_000]


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("texts", [[], ["the of"], ["gout", "x" * 1_000_000, "-./" * 100_000]], ids=range(3))
def test_any_question_over_any_text_has_a_share(question: str, texts: list[str]) -> None:
    shares = held_share(corpus(texts))(question)
    assert shares.shape == (len(texts),)
    assert np.all((shares >= 0.0) & (shares <= 1.0))


some_text = st.text("ab 1-", max_size=12)


@given(st.lists(some_text, min_size=1, max_size=6), some_text)
def test_shares_do_not_depend_on_the_order_of_documents(texts: list[str], question: str) -> None:
    shares = held_share(corpus(texts))(question)
    assert np.all((shares >= 0.0) & (shares <= 1.0))
    np.testing.assert_allclose(held_share(corpus(texts[::-1]))(question)[::-1], shares, atol=1e-12)
    asked = set(content_words(question))
    assert [share > 0.0 for share in shares] == [bool(asked.intersection(content_words(text))) for text in texts]
