"""Templates: what they ask of a sentence, that answers stand in the text, and what they leave alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.rules import MOST, best, candidates_of
from fedrag_flwr.memory.generate.templates import Asked
from fedrag_flwr.memory.generate.verify import verify
from fedrag_flwr.records import Document
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.inflection import participle_of_past, past, third_person
from fedrag_flwr.text.pipeline import Pipeline

PIPELINE = Pipeline()


def parse(title: str, text: str) -> list[ParsedPassage]:
    return next(iter(PIPELINE.parse([Document("d", title, text, "")])))


def candidates(title: str, text: str) -> list[Candidate]:
    return candidates_of(parse(title, text))


def pairs(title: str, text: str) -> set[tuple[str, str]]:
    return {(one.question, one.answer) for one in candidates(title, text)}


@pytest.mark.parametrize(
    ("title", "text", "question", "answer"),
    [
        (
            "Pluto",
            "Pluto was discovered by Clyde Tombaugh in 1930.",
            "Who discovered Pluto in 1930?",
            "Clyde Tombaugh",
        ),
        (
            "Pluto",
            "Pluto was discovered by Clyde Tombaugh in 1930.",
            "In what year was Pluto discovered?",
            "1930",
        ),
        (
            "Yuri Gagarin",
            "Yuri Gagarin was born in Klushino in 1934.",
            "Where was Yuri Gagarin born in 1934?",
            "Klushino",
        ),
        (
            "Voyager 1",
            "Voyager 1 is a probe. It was launched on 5 September 1977.",
            "When was Voyager 1 launched?",
            "5 September 1977",
        ),
        ("Mars", "Mars has two moons.", "How many moons does Mars have?", "two"),
        (
            "MESSENGER",
            "MESSENGER was the first spacecraft to orbit Mercury.",
            "Which spacecraft was the first to orbit Mercury?",
            "MESSENGER",
        ),
        (
            "Voyager 1",
            "Voyager 1 is a probe. The probe weighs 722 kilograms.",
            "How much does Voyager 1 weigh?",
            "722 kilograms",
        ),
        (
            "Titan",
            "Saturn's largest moon, Titan, has a thick atmosphere.",
            "What is Saturn's largest moon?",
            "Titan",
        ),
        (
            "Subrahmanyan Chandrasekhar",
            "Subrahmanyan Chandrasekhar was an astrophysicist. In 1937 he joined the University of Chicago.",
            "In what year did Subrahmanyan Chandrasekhar join the University of Chicago?",
            "1937",
        ),
        (
            "NASA",
            "NASA is the space agency of the United States. The first administrator was T. Keith Glennan.",
            "Who was the first administrator of NASA?",
            "T. Keith Glennan",
        ),
        (
            "Saturn V",
            "Saturn V was a rocket of NASA. Its last flight put the Skylab space station into orbit.",
            "Which space station did Saturn V's last flight put into orbit?",
            "Skylab",
        ),
        (
            "Voyager 1",
            "Voyager 1 is a space probe of NASA.",
            "What is Voyager 1?",
            "space probe of NASA",
        ),
    ],
)
def test_a_template_asks_for_a_fact(title: str, text: str, question: str, answer: str) -> None:
    assert (question, answer) in pairs(title, text)


@pytest.mark.parametrize(
    "text",
    [
        "Was Pluto discovered by Clyde Tombaugh in 1930?",
        "Pluto was not discovered by Percival Lowell in 1906.",
        "Pluto may have been discovered by Clyde Tombaugh in 1930.",
        "If Pluto was discovered by Clyde Tombaugh in 1930, it is a planet.",
        "Reportedly Pluto was discovered by Clyde Tombaugh in 1930.",
        "Pluto was discovered by Clyde Tombaugh or Percival Lowell.",
        "You must file the form with Pluto Services in 1930.",
        "He discovered it in 1930.",
        "The engineers repaired the mirror in 1993.",
        "Pluto was completed by 1930.",
        "Nobody discovered Pluto in 1906.",
        "Your first day begins with a talk by Maria Brandt, which lasts two hours.",
        "The Harbour Entry Guide contains advice on mooring at low tide.",  # no organisation
        "Harbour offices require a stamped copy.",  # and much else
        "Die Firma Meyer baute 1954 in Hamburg eine neue Halle.",
    ],
)
def test_what_is_not_plainly_said_is_not_asked(text: str) -> None:
    assert not pairs("Notes", text)


def test_a_pronoun_stands_for_the_topic_or_for_nothing() -> None:
    text = "Voyager 1 is a probe. NASA also built the Deep Space Network. It was opened in 1963."
    assert not [one for one in candidates("Voyager 1", text) if one.answer == "1963"]


def test_a_sentence_yields_two_at_most_and_no_question_twice() -> None:
    text = (
        "On 5 September 1977 NASA launched Voyager 1 from Cape Canaveral. NASA launched Voyager 1 on 5 September 1977."
    )
    made = candidates("Voyager 1", text)
    by_sentence = [[one for one in made if one.support[0] == unit] for unit in {one.support[0] for one in made}]
    assert made
    assert all(len(group) <= MOST for group in by_sentence)
    assert len({(one.question, one.answer) for one in made}) == len(made)


def test_of_two_answers_to_one_question_neither_is_kept_nor_what_repeats_the_title() -> None:
    said = [Asked("Who built Tarn Bridge?", name, "PERSON", 1.0) for name in ("Odile Varro", "Enno Tveit")]
    assert best(said, "Ossel", {}) == []
    assert best([said[0]], "Ossel", {}) == [said[0]]
    assert best([said[0]], "Odile Varro built Tarn Bridge", {}) == []


TEXTS = st.lists(
    st.sampled_from(
        [
            "Tarn Bridge was designed in 1919 by the engineer Odile Varro.",
            "It crosses the river Ossel at Lindmoor.",
            "She was born in Ferren on 3 May 1874.",
            "The bridge has four towers, and the towers were built by Jonas Keel and Berta Solveig.",
            "In 1924, after a flood, Enno Tveit opened it.",
            "Its length is 212 metres (or 696 feet).",
        ]
    ),
    min_size=1,
    max_size=5,
)


def test_a_question_that_says_its_noun_twice_is_none() -> None:
    made = Asked("Which winner was the winner of the 2015 race?", "Argon", "NAME", 0.9)
    assert not best([made], "Notes", {})


@given(TEXTS)
def test_every_answer_stands_in_its_support(sentences: Sequence[str]) -> None:
    parsed = parse("Tarn Bridge", " ".join(sentences))
    texts = {one.id: f"Tarn Bridge. {one.text}" for part in parsed for one in part.passage.sentences}
    for candidate in candidates_of(parsed):
        assert verify(candidate, [texts[unit] for unit in candidate.support]) != "not-in-evidence"


@pytest.mark.parametrize(
    ("lemma", "forms"),
    [
        ("build", ("built", "built", "builds")),
        ("carry", ("carried", "carried", "carries")),
        ("write", ("wrote", "written", "writes")),
    ],
)
def test_verbs_are_inflected(lemma: str, forms: tuple[str, str, str]) -> None:
    done = past(lemma)
    assert (done, participle_of_past(done, lemma), third_person(lemma)) == forms
