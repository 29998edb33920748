"""Anchors of texts and questions, and numbers however they are written: equal for equal things, and stable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.records import Fact
from fedrag_flwr.text.asking import MOST_ANCHORS, item_anchors, question_anchors, type_anchor
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.words import anchors_of, normalise_anchor, normalise_line, normalise_text, number_of, told_words

EQUAL = [
    ("The U.S. Open", "US Open"),
    ("J. R. R. Tolkien", "J.R.R. Tolkien"),
    ("NASA's", "nasa"),
    ("James’", "James'"),
    ("Titan IIIE-Centaur", "titan IIIE Centaur"),
    ("1,200 kg", "1200 kg"),
    ("12%", "12 percent"),
    ("12 per cent", "12 percent"),
    ("$4.7 billion", "US$4.7 billion"),
    ("€5", "5 euros"),
    ("Gödel", "Godel"),
    ("Ｖｏｙａｇｅｒ １", "Voyager 1"),
    ("Voy\u200bager 1", "Voyager 1"),
    ("the the moons", "moon"),
    ("galaxies", "Galaxy"),
    ("Pratt & Whitney", "Pratt and Whitney"),
    ("“Hey Jude”", "hey jude"),
    ("September 5, 1977", "September 5 1977"),
]
DIFFERENT = [("Voyager 1", "Voyager 2"), ("2.4 metres", "24 metres"), ("Mars", "Mar 1"), ("1990", "1990s"), ("A", "B")]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_things_have_equal_anchors(one: str, other: str) -> None:
    assert normalise_anchor(one) == normalise_anchor(other) != ""


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_things_have_different_anchors(one: str, other: str) -> None:
    assert normalise_anchor(one) != normalise_anchor(other)


@given(st.one_of(st.text(max_size=40), st.text(alphabet="aes't. ,$5%0&-\u0301ßIÅ", max_size=24)))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise_anchor(text)
    assert normalise_anchor(once) == once
    assert once == once.strip()


@given(st.text(max_size=60))
def test_text_normal_form_is_stable(text: str) -> None:
    for function in (normalise_text, normalise_line):
        once = function(text)
        assert function(once) == once
        assert "\u200b" not in once


def test_anchor_set_is_sorted_unique_and_without_ordinals() -> None:
    facts = [
        Fact("Mars", "LOC", "mars"),
        Fact("first", "ORDINAL", "first"),
        Fact("a", "NAME", ""),
        Fact("Io", "NAME", "io"),
    ]
    assert anchors_of([*facts, *facts]) == ("io", "mars")


@pytest.mark.parametrize(
    ("kind", "anchors"),
    [("PERSON", ("answer:person",)), ("YEAR", ("answer:time",)), ("DATE", ("answer:time",)), ("", ()), ("NAME", ())],
)
def test_types_that_answer_the_same_share_an_anchor(kind: str, anchors: tuple[str, ...]) -> None:
    assert type_anchor(kind) == anchors


def test_a_question_has_the_same_anchors_asked_or_stored(pipeline: Pipeline) -> None:
    analysis = pipeline.question("Which river does Tarn Bridge cross?")
    asked = question_anchors(analysis)
    assert asked == item_anchors(analysis, analysis.answer_type) == item_anchors(analysis, "")
    assert "tarn bridge" in asked
    assert "asks:river" in asked


def test_anchors_are_as_many_as_a_message_holds() -> None:
    analysis = QuestionAnalysis((), tuple(f"place {number}" for number in range(200)), "PERSON", "river")
    anchors = question_anchors(analysis)
    assert len(anchors) == MOST_ANCHORS
    assert anchors[-2:] == ("answer:person", "asks:river")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Who won the Foo Cup in 1950?", ["1950"]),
        ("the 35th, the second and twenty of 1,025", ["35", "2", "20", "1025"]),
        ("fell to -5 and 3.4 in the 1990s", ["minus5", "3.4", "1990s"]),
        ("Voyager 2, M87 and TRAPPIST-1", ["2", "m87", "1"]),
        ("blood group A+ or A-", ["aplus", "aminus"]),
        ("one of the first in World War II, on [DATE]", []),
    ],
)
def test_numbers_are_found(text: str, numbers: list[str]) -> None:
    assert [number for word in told_words(text) if (number := number_of(word))] == numbers


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1½ cups", "1 1/2 cups"),
        ("1 ¾ cups", "1 3/4 cups"),
        ("⅓ of it", "1/3 of it"),
        ("2⁄3 of it", "2/3 of it"),
        ("5×10⁸ cells", "5×10^8 cells"),
        ("10⁻⁶ g", "10^-6 g"),
        ("10⁺³", "10^+3"),
        ("40 m² of CO₂", "40 m2 of CO2"),
        ("founded in 1850³", "founded in 1850^3"),
    ],
)
def test_powers_and_fractions_keep_their_value(text: str, plain: str) -> None:
    assert normalise_text(text) == plain
    assert normalise_text(plain) == plain
