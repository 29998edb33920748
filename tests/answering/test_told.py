"""What people are told of an answer: where it comes from, how sure it is, why there is none, and what bears it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.explain import (
    NO_BEARER,
    NOTHING_READ,
    bearing_first,
    in_words,
    marked,
    told_of,
    why_declined,
)
from fedrag_flwr.records import Decision, EvidenceUnit, because, failure

PLACE = "Lease › Deposit"
ORIGINS = [
    (("memorizer", 0.9, "Who signed the lease?"), "From memory: Who signed the lease? (sure)"),
    (("memorizer", 0.6), "From memory (likely)"),
    (("memorizer", 0.9, "Who signed it?", "", ("desk",)), "From what desk shared: Who signed it? (sure)"),
    (("cognizer", 0.5, "", PLACE, ("desk",)), "Read in Lease › Deposit (likely)"),
    (("cognizer", 0.4, "", "", ("desk",)), "Read in the documents (unsure)"),
    (("cognizer", 0.0, "", PLACE, ("desk",)), "Read in Lease › Deposit"),
    (("cognizer", 0.3), "Said by the model alone (unsure)"),
    (("remote", 0.8, "", PLACE, ("people", "desk", "people")), "From what these devices hold: people, desk (sure)"),
    (("cache", 0.8), "As it was answered before (sure)"),
]


@pytest.mark.parametrize(("answered", "told"), ORIGINS, ids=[told for _, told in ORIGINS])
def test_where_an_answer_comes_from(answered: tuple[str, float], told: str) -> None:
    assert str(told_of(*answered)) == told


@pytest.mark.parametrize(
    ("confidence", "word"),
    [(1.0, "sure"), (0.75, "sure"), (0.7, "likely"), (0.5, "likely"), (0.49, "unsure"), (0.0, "unsure")],
)
def test_confidence_in_words(confidence: float, word: str) -> None:
    assert in_words(confidence) == word


DECLINED = [
    ((because("evidence", NOTHING_READ),), "Nothing in the documents is near the question."),
    ((because("model", "the model found no answer in 3 passages"),), "The passages do not bear an answer."),
    ((because("model", "read", 0.7), because("evidence", NO_BEARER)), "The passages do not bear an answer."),
    (
        (because("model", "read", 0.2), because("confidence", "0.20 < 0.30")),
        "Nothing sure enough was found.",
    ),
    ((because("gate", "confidence 0.43 < 0.50"),), "Nothing sure enough was found."),
    ((because("memory", "memory does not know"),), "Memory does not know it."),
    ((because("outcome", "nobody could help"),), "Nobody could help."),
    (failure("q", "StoreError").decisions, "Failed: StoreError."),
    ((), "No answer was found."),
]


@pytest.mark.parametrize(("decisions", "why"), DECLINED)
def test_why_there_is_no_answer_is_a_sentence_without_numbers(decisions: tuple[Decision, ...], why: str) -> None:
    assert why_declined(decisions) == why


TEXT = "Tarn Bridge was designed by the engineer Odile  Varro. It opened in 1924, and no toll is paid."
MARKED = [
    ("Odile Varro", ["Odile  Varro"]),
    ("the ENGINEER", ["the engineer"]),
    ("1924", ["1924"]),
    ("192", []),
    ("no", []),
    ("Yes.", []),
    ("", []),
    ("Ada Morrow", []),
    ("The engineer Odile Varro designed the Tarn Bridge.", ["Tarn Bridge was designed by the engineer Odile  Varro."]),
    ("(", []),
]


@pytest.mark.parametrize(("answer", "found"), MARKED)
def test_the_answer_is_marked_in_the_passage_that_bears_it(answer: str, found: list[str]) -> None:
    parts = marked(TEXT, answer)
    assert parts[1::2] == found
    assert "".join(parts) == TEXT


@given(st.text(alphabet="ab .!?\"' \n1", max_size=60), st.text(alphabet="ab .!?1", max_size=30))
def test_marking_changes_no_text(text: str, answer: str) -> None:
    parts = marked(text, answer)
    assert "".join(parts) == text
    assert len(parts) % 2 == 1


def test_the_passage_that_bears_an_answer_comes_first() -> None:
    far = EvidenceUnit("a", "The viaduct was opened in 1891.", "desk", 0.9)
    near = EvidenceUnit("b", "It opened in 1924.", "desk", 0.4, "Tarn Bridge")
    assert bearing_first("When did Tarn Bridge open?", "1924", [far, near]) == [near, far]
