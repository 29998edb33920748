"""What a candidate must pass: alone, against its support, and by round trip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.round_trip import round_trip
from fedrag_flwr.memory.generate.verify import fits, normalise, verify
from fedrag_flwr.records import Fact, Sentence

TEXT = "Pluto. Clyde Tombaugh, born in 1906, discovered Pluto on 18 February 1930. Kerberos, Styx and Nix orbit it."


def make(question: str, answer: str, kind: str = "single", answer_type: str = "") -> Candidate:
    return Candidate(question, answer, kind, answer_type, ("s",))


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (make("Who discovered Pluto?", "Clyde Tombaugh", answer_type="PERSON"), None),
        (make("When was Pluto discovered?", "18 February 1930", answer_type="DATE"), None),
        (make("Which moons orbit Pluto?", "Kerberos, Styx and Nix", "set"), None),
        (make("Which moons orbit Pluto?", "Nix and Styx", "set"), None),
        (make("Who discovered Pluto?", "Percival Lowell", answer_type="PERSON"), "not-in-evidence"),
        (make("Which moons orbit Pluto?", "Charon and Nix", "set"), "not-in-evidence"),
        (make("", "Pluto"), "empty"),
        (make("Who discovered Pluto?", "."), "empty"),
        (make("Pluto?", "Nix"), "length"),
        (make("Who discovered the planet Pluto", "Clyde Tombaugh"), "no-question"),
        (make("Who discovered Pluto?", "it was the"), "stop-words"),
        (make("When did this moon orbit Pluto?", "1930", answer_type="YEAR"), "dangling"),
        (make("What did he discover?", "Pluto"), "unspecific"),
        (make("Who discovered Pluto, Clyde Tombaugh or Lowell?", "Clyde Tombaugh"), "gives-away"),
        (make("When was Pluto discovered?", "Clyde Tombaugh", answer_type="PERSON"), "type-mismatch"),
        (make("Who discovered Pluto?", "18 February 1930", answer_type="DATE"), "type-mismatch"),
    ],
)
def test_verify(candidate: Candidate, reason: str | None) -> None:
    assert verify(candidate, [TEXT]) == reason


@pytest.mark.parametrize(
    ("question", "answer_type", "fitting"),
    [
        ("When was it?", "YEAR", True),
        ("When was it?", "PERSON", False),
        ("In what year was it?", "CARDINAL", False),
        ("How many moons?", "CARDINAL", True),
        ("How many moons?", "PERSON", False),
        ("Who was it?", "ORG", True),
        ("Who was it?", "QUANTITY", False),
        ("Where was it?", "GPE", True),
        ("Which rocket was it?", "NAME", True),
        ("What was it?", "", True),
    ],
)
def test_fits(question: str, answer_type: str, fitting: bool) -> None:
    assert fits(question, answer_type) is fitting


@given(st.text(max_size=60))
def test_normalise_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


WORDS = TEXT.split()
SPANS = st.tuples(st.integers(0, len(WORDS)), st.integers(0, 5)).map(lambda at: " ".join(WORDS[at[0] : sum(at)]))


@given(SPANS, st.one_of(st.just(""), SPANS, st.text(max_size=12)))
def test_an_accepted_single_answer_stands_in_the_text(span: str, more: str) -> None:
    answer = f"{span} {more}".strip()
    accepted = verify(make("Who discovered Pluto?", answer), [TEXT]) is None
    stands = f" {normalise(answer)} " in f" {normalise(TEXT)} "
    assert stands or not accepted
    event(f"accepted: {accepted}, stands there: {stands}")


def test_of_spans_of_the_text_some_are_accepted() -> None:
    spans = [" ".join(WORDS[start : start + 2]) for start in range(len(WORDS))]
    assert [span for span in spans if verify(make("Who discovered Pluto?", span), [TEXT]) is None]


SENTENCES = (
    Sentence("a", "p", "Pluto was discovered by Clyde Tombaugh in 1930.", (Fact("1930", "YEAR", "1930"),)),
    Sentence("b", "p", "Pluto was visited in 2015.", (Fact("2015", "YEAR", "2015"),)),
)


def unit(*rows: tuple[float, float]) -> NDArray[np.float32]:
    matrix = np.array(rows, dtype=np.float32)
    scaled: NDArray[np.float32] = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return scaled


ROUND_TRIPS: list[tuple[str, tuple[float, float], tuple[tuple[float, float], ...], dict[int, str]]] = [
    ("When was Pluto discovered?", (1, 0), ((1, 0.1), (0, 1)), {}),
    ("When was Pluto visited in 2015?", (0, 1), ((1, 0), (0.1, 1)), {0: "elsewhere"}),
    ("In what year was Pluto?", (1, 1), ((1, 1), (1, 1.01)), {0: "ambiguous"}),
]


@pytest.mark.parametrize(("question", "vector", "sentences", "reasons"), ROUND_TRIPS)
def test_round_trip_keeps_what_leads_back_to_its_sentence_alone(
    question: str, vector: tuple[float, float], sentences: tuple[tuple[float, float], ...], reasons: dict[int, str]
) -> None:
    found = round_trip(
        [Candidate(question, "1930", "single", "YEAR", ("a",))], unit(vector), SENTENCES, unit(*sentences)
    )
    assert found == reasons


def test_round_trip_rejects_contradicting_answers_but_not_longer_ones() -> None:
    candidates = [
        Candidate("When was Pluto seen?", "1930", "single", "YEAR", ("a",)),
        Candidate("When was Pluto seen?", "2015", "single", "YEAR", ("b",)),
        Candidate("Who discovered Pluto?", "Tombaugh", "single", "PERSON", ("a",)),
        Candidate("Who discovered Pluto?", "Clyde Tombaugh", "single", "PERSON", ("a",)),
    ]
    vectors = unit((1, 0), (0, 1), (1, 0), (1, 0))
    found = round_trip(candidates, vectors, SENTENCES, unit((1, 0), (0, 1)))
    assert found == {0: "conflict", 1: "conflict"}


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [("5 km", "15 km", 0), ("2", "12", 0), ("US", "Russia", 0), ("15 km", "about 15 km", 2), ("Ann", "Ann Lee", 2)],
)
def test_answers_agree_by_whole_words(first: str, second: str, kept: int) -> None:
    candidates = [Candidate("How long is Foo Bridge?", answer, "single", "", ("a",)) for answer in (first, second)]
    found = round_trip(candidates, unit((1, 0), (1, 0)), SENTENCES, unit((1, 0), (0, 1)))
    assert len(candidates) - len(found) == kept
