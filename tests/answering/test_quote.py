"""Open questions are told from short ones by their form, and a quote is sentences of one passage as they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.quote import SENTENCES, WORDS, best_quote, is_open
from fedrag_flwr.answering.sentences import RankedText

OPEN = [
    "How do I descale the kettle?",
    "The pump is stuck. How is it opened?",
    "How to file a claim",
    "Why was the mill closed?",
    "If the lamp fails, how do I reset it?",
    "What should I do if the alarm sounds?",
    "What do we need to bring to the first lesson?",
    "What happens when the badge is lost?",
    "What causes rust?",
    "What are the symptoms of heat stroke?",
    "What are its opening hours?",
    "What is a semaphore?",
    "Who is Oda Renn?",
    "What is (are) heat rash ?",
    "Explain how the lock works.",
    "Tell me about the boathouse.",
    "Do you have information about the archive?",
]
SHORT = [
    "How many boats does the club own?",
    "How far is the ferry from the mill?",
    "How close did the ship come to the shore?",
    "How late is the desk open?",
    "Who leads the HR department?",
    "What is the capital of the county?",
    "What is the phone number of the desk?",
    "Which ferry crosses the lake?",
    "When was the mill bought?",
    "What did the club buy in 1934?",
    "Is the chapel open on Sundays?",
    "Who is older, Oda Renn or Mirko Delling?",
    "What was founded in 1888?",
    "What is the treasurer's name?",
    "In which year did the show begin?",
    "Who wrote Why Bridges Fall?",
    "Which actor plays the miller in How the Mill Burned?",
    "Who is Otto Renn Jr.'s aunt?",
    "What is Oda Renn paid per hour?",
    "What is Oda Renn paid?",
    "Who is Oda Renn’s brother?",
    "",
    "?",
]

WORD = st.text("abcde", min_size=1, max_size=6)
SENTENCE = st.builds(
    lambda words, end: " ".join(words) + end, st.lists(WORD, min_size=1, max_size=60), st.sampled_from(".:")
)


@st.composite
def passages(draw: st.DrawFn) -> RankedText:
    sentences = draw(st.lists(SENTENCE, max_size=5))
    cosines = draw(st.lists(st.floats(-1, 1), min_size=len(sentences), max_size=len(sentences)))
    return RankedText(
        draw(WORD), draw(st.text("ab ", max_size=5)), sentences, cosines, draw(st.floats(-50, 50)), "home"
    )


@pytest.mark.parametrize("question", OPEN)
def test_a_question_for_more_than_a_name_is_open(question: str) -> None:
    assert is_open(question)


@pytest.mark.parametrize("question", SHORT)
def test_a_question_for_a_name_or_a_number_is_not(question: str) -> None:
    assert not is_open(question)


@given(st.lists(passages(), max_size=6))
def test_a_quote_is_neighbouring_sentences_of_one_passage(ranked: list[RankedText]) -> None:
    found = best_quote("How is the abc opened?", ranked)
    assert (found is None) == all(not one.sentences for one in ranked)
    if found is None:
        return
    own = ranked[found.passage].sentences
    runs = [own[first : first + count] for count in range(1, SENTENCES + 1) for first in range(len(own) - count + 1)]
    held = [run for run in runs if " ".join(run) == found.text]
    assert held
    assert len(held[0]) == 1 or len(found.text.split()) <= WORDS
    assert 0.0 <= found.chance <= 1.0


def test_the_sentences_that_tell_what_is_asked_are_quoted() -> None:
    pump = RankedText(
        "p",
        "Pump room",
        [
            "The pump room lies below the hall.",
            "To open the pump, turn the red valve to the left.",
            "Then lift the lid with the hook.",
        ],
        [0.2, 0.8, 0.4],
        2.0,
        "home",
    )
    garden = RankedText("g", "Garden", ["The garden was laid out in 1951."], [0.1], -2.0, "home")
    found = best_quote("How do I open the pump?", [pump, garden])
    assert found is not None
    assert found.passage == 0
    assert "turn the red valve to the left" in found.text


def test_of_passages_that_are_else_alike_the_one_that_tells_an_answer_is_quoted() -> None:
    said = ["Turn the red valve to the left.", "Turn the blue valve to the left."]
    ranked = [RankedText(text, "Pump", [text], [0.5], 1.0, "home") for text in said]
    for told, wanted in (((2.0, -2.0), 0), ((-2.0, 2.0), 1)):
        found = best_quote("How do I open the pump?", ranked, told)
        assert found is not None
        assert found.passage == wanted


RUNS = [  # question, title, sentences with their nearness; which of them are quoted
    (
        "How do I open the pump?",
        "Pump",
        {"To open the pump, do this:": 0.8, "Turn the red valve.": 0.5, "Lift the lid.": 0.5},
        slice(0, 3),  # not up to where a list begins
    ),
    (
        "How do I clear the kettle?",
        "",
        {
            "HOW WE CLEAR THE KETTLE": 0.9,
            "Pull the plug first.": 0.4,
            "Then fill it with vinegar and wait for an hour.": 0.5,
        },
        slice(1, 3),  # not the line that heads them
    ),
    (
        "Why does the pump hum?",
        "Pump",
        {"Why does the pump hum?": 0.9, "The pump hums because air is in the pipe.": 0.7, "Open the valve.": 0.3},
        slice(1, 3),  # not from the document's own question on
    ),
]


@pytest.mark.parametrize(("question", "title", "said", "quoted"), RUNS)
def test_a_quote_begins_and_ends_where_its_passage_allows(
    question: str, title: str, said: dict[str, float], quoted: slice
) -> None:
    found = best_quote(question, [RankedText("p", title, list(said), list(said.values()), 1.0, "home")])
    assert found is not None
    assert found.text == " ".join(list(said)[quoted])


def test_the_steps_of_a_procedure_are_all_quoted() -> None:
    steps = [
        "Ring the harbour office to descale the kettle.",
        "Fill the kettle with vinegar.",
        "Wait for an hour.",
        "Rinse it.",
        "Sign the list.",
    ]
    ranked = [RankedText("k", "Kitchen › Descale the kettle", steps, [0.7, 0.6, 0.4, 0.2, 0.1], 3.0, "home")]
    found = best_quote("How do I descale the kettle?", ranked)
    assert found is not None
    assert found.text.endswith("Rinse it. Sign the list.")
    other = best_quote("Why do I descale the kettle?", ranked)
    assert other is not None
    assert not other.text.endswith("Sign the list.")
