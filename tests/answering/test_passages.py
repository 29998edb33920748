"""What is read of units of evidence: each statement once, the nearest first, within a budget of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.passages import whole
from fedrag_flwr.answering.sentences import RankedText
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval.base import distinct, nearest, statement, within

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
    assert nearest([far, near, other]) == [near, other]
    assert nearest([far, near, other], "home") == [far, other]
    assert nearest([near, near, replace(near, score=0.2)]) == [near]
    assert nearest([]) == []


def test_of_a_very_long_unit_the_start_is_read() -> None:
    pages = EvidenceUnit("1", "The bridge is long and " * 1_000, "rivers", 0.9)
    [read] = nearest([pages, replace(pages, id="2", text=f"{pages.text}so on")])
    assert pages.text.startswith(read.text)
    assert len(read.text) == 1_500


WORDY = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 40)).map(
        lambda sizes: EvidenceUnit("u", " ".join(["word"] * sizes[1]), "a", 0.5, " ".join(["title"] * sizes[0]))
    ),
    max_size=8,
)


@given(WORDY, st.integers(0, 120))
def test_a_budget_holds_and_keeps_the_first_units_in_order(read: list[EvidenceUnit], most: int) -> None:
    kept = within(read, most)
    assert sum(len(f"{unit.title} {unit.text}".split()) for unit in kept) <= most
    assert kept[:-1] == read[: max(len(kept) - 1, 0)]
    for before, part in zip(read, kept, strict=False):
        assert before.text.startswith(part.text)
        assert len(part.text.split()) >= min(len(before.text.split()), 12)
    if sum(len(f"{unit.title} {unit.text}".split()) for unit in read) <= most:
        assert kept == read


def test_whole_passages_are_units_of_evidence() -> None:
    ranked = [
        RankedText("p1", "Tarn Bridge", [BRIDGE, "It is long.", "It is green."], [0.9, 0.1, 0.0], 2.0, "bridges"),
        RankedText("p2", "Sea", [WIDE], [1.0000001], -3.0, "seas"),
    ]
    read = whole(ranked)
    assert [(one.id, one.origin, one.title) for one in read] == [
        ("p1", "bridges", "Tarn Bridge"),
        ("p2", "seas", "Sea"),
    ]
    assert read[0].text == f"{BRIDGE} It is long. It is green."
    assert [unit.score for unit in read] == [0.9, 1.0]  # a cosine, whatever rounding made of it
