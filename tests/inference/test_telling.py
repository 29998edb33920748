"""Which questions are told something, and by which sentences."""

from __future__ import annotations

import pytest
from fedrag_flwr.inference.candidates import with_options
from fedrag_flwr.inference.telling import asks_to_be_told, told
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.records import MOST_LINE, EvidenceUnit, as_line

TOLD = (
    "What is (are) Tarn fever ?",
    "What is a hypergraph?",
    "What are the symptoms of Tarn fever ?",
    "What are the genetic changes related to Tarn fever ?",
    "what causes tides?",
    "How does yeast make dough rise?",
    "How to prevent Tarn fever ?",
    "Why is the sea salt?",
    "Who is at risk for Tarn fever? ?",
    "Using the map, explain how the port grew.",
    "Do you have information about Tarn fever",
)
NAMED = (
    "What is the capital of Ossland?",
    "What is the name of the bridge that Odile Varro designed?",
    "What is Odile Varro's birthplace?",
    "What was the first bridge over the Tarn?",
    "What is the cause of death of Odile Varro?",
    "Why did the director of Red Kite die?",
    "Who designed Tarn Bridge?",
    "How many people are affected by Tarn fever?",
    "How old is Tarn Bridge?",
    "When did Tarn Bridge open?",
    "Is Tarn fever inherited ?",
    "Which is higher, Mount Ferran or Mount Oska?",
    "",
)


def unit(text: str, score: float) -> EvidenceUnit:
    return EvidenceUnit(f"u{hash(text)}", text, "home", score, "Tarn fever")


@pytest.mark.parametrize("question", TOLD)
def test_sentences_answer(question: str) -> None:
    assert asks_to_be_told(question)


@pytest.mark.parametrize("question", NAMED)
def test_a_name_a_date_a_number_or_a_word_answers(question: str) -> None:
    assert not asks_to_be_told(question)


def test_the_nearest_sentences_are_told_and_headings_are_not() -> None:
    question = "What are the symptoms of Tarn fever?"
    units = [
        unit("The symptoms of Tarn fever", 0.97),
        unit("It was first seen in the hill farms of Wend County.", 0.4),
        unit("People with Tarn fever shiver, sweat and sleep badly.", 0.9),
        unit("Most cases pass within two weeks.", 0.6),
    ]
    assert told(question, units) == f"{units[2].text} {units[3].text}"
    assert told(question, units[:1]) == told(question, ()) == ""
    assert told(with_options(question, ("sleep", "fever")), units) == ""


def test_what_is_told_is_a_line() -> None:
    units = [unit(f"Tarn fever {said} {'and shivers ' * 100}", 0.9) for said in ("begins so", "goes on so")]
    said = told("What are the symptoms of Tarn fever?", units)
    whole = " ".join(one.text.strip() for one in units)
    assert whole.startswith(f"{said} ")
    assert MOST_LINE - 10 < len(said) <= MOST_LINE
    assert as_line("x" * 3_000) == "x" * MOST_LINE


@given(st.lists(st.tuples(st.text(max_size=60), st.floats(-1, 1)), max_size=6), st.text(max_size=60))
def test_what_is_told_are_sentences_of_the_evidence(rows: list[tuple[str, float]], question: str) -> None:
    units = [EvidenceUnit(str(place), text, "home", score, "") for place, (text, score) in enumerate(rows)]
    texts = [one.text.strip() for one in units]
    assert told(f"Explain {question}", units) in {"", *texts, *(f"{one} {other}" for one in texts for other in texts)}
