"""Tables of sheets and of plain text: which rows head the columns, and what a row is told as."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.sources.aligned import tables_told
from fedrag_flwr.sources.tables import table_text

PRICES = """\
Item                 Member   Guest
Single court hour    £6       £9
Racket                £2      £3

Off season

Ball machine         £4       £6.50"""
RULED = """\
Lesson      Teacher
            or leader
------      ---------
Guitar      Lina Ost
Choir       Marc Ude,
            Ann Poll"""
TABS = "Name\tPhone\tRoom\nAda Berg\t12\tA1\nJoan Kimberley-Holt\t123\tB2"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (PRICES, ["Item: Racket; Member: £2; Guest: £3", "Item: Ball machine; Member: £4; Guest: £6.50"]),
        (
            RULED,
            ["Lesson: Guitar; Teacher or leader: Lina Ost", "Lesson: Choir; Teacher or leader: Marc Ude, Ann Poll"],
        ),
        (TABS, ["Name: Ada Berg; Phone: 12; Room: A1", "Name: Joan Kimberley-Holt; Phone: 123; Room: B2"]),
    ],
)
def test_rows_of_aligned_text_are_told_under_their_heads(text: str, rows: Sequence[str]) -> None:
    told = tables_told(f"Club rules apply.\n\n{text}\n\nAsk at the desk.").split("\n")
    assert set(rows) <= set(told)
    assert told[0] == "Club rules apply."
    assert told[-1] == "Ask at the desk."


@pytest.mark.parametrize(
    "text",
    [
        "It was typed with two blanks.  Always so.\nBy an old hand.  A long one.\nSo here is  no table.",
        "Name   Where\n----   -----\nAda Berg-Holm   cellar\nJo   attic",
        "- one thing   and\n- another     thing\n- a third     item",
        "Monday     9 to 5\nTuesday    9 to 5",
        "def add(a, b):\n        return a + b\n\n\nprint(add(1,  2))",
    ],
)
def test_what_is_no_aligned_table_stays(text: str) -> None:
    assert tables_told(text) == text


def test_nothing_left_of_the_first_rule_is_lost() -> None:
    text = "    Name   Place\n    -----  -----\n 12 Ada    cellar\n  9 Jo     attic"
    assert "Name: 12 Ada; Place: cellar" in tables_told(text)


def test_a_line_of_text_below_a_table_is_no_row() -> None:
    assert tables_told(f"{PRICES}\n\nFine.  Okay.").endswith("\n\nFine.  Okay.")


_CELL = st.from_regex(r"[a-z]{1,9}( [a-z]{1,9})?", fullmatch=True)


@given(st.lists(st.tuples(_CELL, _CELL, _CELL), min_size=2, max_size=6))
def test_every_cell_of_an_aligned_table_stands_behind_its_head(rows: list[tuple[str, str, str]]) -> None:
    heads = ("Name", "Where kept", "Remarks")
    lines = ["".join(f"{cell:<24}" for cell in row).rstrip() for row in (heads, *rows)]
    told = "\n\n".join("; ".join(map(": ".join, zip(heads, row, strict=True))) for row in rows)
    assert tables_told("\n".join(lines)).strip() == told


@pytest.mark.parametrize(
    ("above", "told"),
    [
        ([["Tool hire"], ["Valid from", "2025-03-01"]], "Tool hire\n\nValid from; 2025-03-01\n\n"),
        ([["Prices in euros", "", "", ""]], "Prices in euros\n\n"),
        ([[]], ""),
    ],
)
def test_rows_above_the_heads_tell_what_the_table_is_of(above: list[list[str]], told: str) -> None:
    rows = [*above, ["Tool", "Half day", "Full day", "Week"], ["Saw", "€8", "€12", "€50"]]
    assert table_text(rows, headed=True) == f"{told}Tool: Saw; Half day: €8; Full day: €12; Week: €50"


@pytest.mark.parametrize("first", [["", "Summer", "", "Winter", ""], ["Site", "Summer", "", "Winter", ""]])
def test_heads_of_two_rows_are_joined(first: list[str]) -> None:
    names = ["" if first[0] else "Site", "Weekday", "Weekend", "Weekday", "Weekend"]
    told = table_text([first, names, ["North pier", "1", "2", "3", "4"]], headed=True)
    assert told == "Site: North pier; Summer Weekday: 1; Summer Weekend: 2; Winter Weekday: 3; Winter Weekend: 4"


@pytest.mark.parametrize("heads", [["", "Mon", "Tue", "Wed"], ["Name", "Mon", "Tue", ""], ["Name", "2024", "", ""]])
def test_a_row_below_the_heads_is_not_joined_to_them(heads: list[str]) -> None:
    told = table_text([heads, ["Abbott", "off", "off", "early"], ["Bianchi", "late", "late", "off"]], headed=True)
    assert "Abbott off" not in told
    assert "Bianchi" in told.split("\n\n")[-1]
