"""When units of evidence say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.inference.graph_answers import nearest
from fedrag_flwr.inference.support import distinct, statement
from fedrag_flwr.records import EvidenceUnit

Said = tuple[str, str, str]  # origin, title and text
WIDE, BORN, BRIDGE = "The sea is wide.", "He was born in Lindmoor.", "Tarn Bridge was opened in 1924."


def units(said: Sequence[Said]) -> list[EvidenceUnit]:
    return [EvidenceUnit(f"u{place}", text, origin, 0.5, title) for place, (origin, title, text) in enumerate(said)]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ([("a", "Sea", WIDE), ("b", "Sea", WIDE)], [0]),
        ([("a", "Sea", WIDE), ("a", "Sea", WIDE)], [0]),
        ([("a", "", WIDE), ("b", "", " the SEA\tis\u00a0wide. ")], [0]),
        ([("a", "Sea", WIDE), ("b", "Sea", "The sea is deep.")], [0, 1]),
        ([("a", "Sea", WIDE), ("b", "Sea", "The sea is wide")], [0, 1]),
        ([("a", "Jonas Keel", BORN), ("b", "jonas  keel", BORN)], [0]),
        ([("a", "Jonas Keel › Youth", BORN), ("b", "Jonas Keel › Life", BORN)], [0]),
        ([("a", "Jonas Keel", BORN), ("b", "Tomas Hale", BORN)], [0, 1]),
        ([("a", "Tarn Bridge", BRIDGE), ("b", "Bridge", BRIDGE)], [0]),
        ([("a", "Dune (1984 film)", "Dune is long."), ("b", "Dune (2021 film)", "Dune is long.")], [0, 1]),
        ([("a", "Sea", WIDE), ("b", "Sea", "Gulls cry."), ("home", "Sea", WIDE)], [2, 1]),
        ([("home", "Sea", WIDE), ("a", "Sea", WIDE), ("home", "Sea", WIDE)], [0]),
    ],
)
def test_one_unit_for_each_statement(said: Sequence[Said], kept: list[int]) -> None:
    given_ones = units(said)
    assert distinct(given_ones, "home") == [given_ones[place] for place in kept]


SAID = st.lists(
    st.tuples(st.sampled_from(["home", "a", "b"]), st.sampled_from(["", "Sea"]), st.sampled_from([WIDE, BORN, BRIDGE])),
    max_size=8,
)


@given(SAID)
def test_no_statement_is_lost_and_none_stands_twice(said: list[Said]) -> None:
    given_ones = units(said)
    kept = distinct(given_ones, "home")
    assert [statement(unit) for unit in kept] == list(dict.fromkeys(map(statement, given_ones)))
    assert distinct(kept, "home") == kept
    for unit in kept:
        twins = [other for other in given_ones if statement(other) == statement(unit)]
        assert unit == next((twin for twin in twins if twin.origin == "home"), twins[0])


def test_the_nearest_are_units_that_say_different_things() -> None:
    far, near, other = units([("home", "", WIDE), ("a", "", WIDE), ("b", "", BORN)])
    near = EvidenceUnit(near.id, near.text, near.origin, 0.9)
    assert nearest([far, near, other], 2) == [near, other]
    assert nearest([far, near, other], 2, "home") == [far, other]


def test_of_a_very_long_unit_the_start_is_read() -> None:
    pages = EvidenceUnit("1", "The bridge is long and " * 1_000, "rivers", 0.9)
    [read] = nearest([pages, replace(pages, id="2", text=f"{pages.text}so on")], 2)
    assert pages.text.startswith(read.text)
    assert len(read.text) == 1_500
