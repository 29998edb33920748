"""Anchors are equal for equal things, and stable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.records import Fact
from fedrag_flwr.text import anchors_of, normalise_anchor, normalise_line, normalise_text

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
