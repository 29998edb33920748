"""Whole tables: superlatives compare rows, and lookups find a row by its other cells."""

from __future__ import annotations

import pytest

from fedrag_flwr.answering.extremes import asks_extreme, extreme_cells
from fedrag_flwr.answering.lookup import looked_up
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.sources.tables import told_row
from fedrag_flwr.text.pipeline import Pipeline


def _table(*lines: str) -> list[str]:
    heads, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    return [told_row(heads, row) for row in rows]


PLOTS = _table(
    "Plot | Area (m2) | Laid out | Rent | Soil",
    "Elder | 140 | 1987 | €62 | clay",
    "Quince | 1,050 | 2011 | €310 | sand",
    "Sorrel | 95 | 1964 | €48 | clay",
    "Tansy | 140 | 2020 | €75 | loam",
)
TRAILS = _table(
    "Trail | Length (km) | Climb (m) | Walking time | Leaves",
    "Mill loop | 6.5 | 80 | 1:45 | 09:30",
    "Ridge walk | 14 | 720 | 5:10 | 08:15",
    "Reed path | 9 | 15 | 2:20 | 10:00",
)
PEOPLE = _table(
    "Name | Office | Joined | Extension | Looks after",
    "Ada Brook | Clerk | 2012 | 204 11 | minutes, keys",
    "Ivo Marsh | Treasurer | 2019 | 204 12 | fees, insurance",
    "Una Field | Warden | 1998 | 204 13 | hedges, gates",
)
VISITS = _table("Visit | Booked for", "Boiler | 16 May 2024", "Roof | 4 June 2024")
HOURS = _table(
    "Day | Opens | Closes",
    "Monday | closed | closed",
    "Tuesday | 10:00 | 17:00",
    "Wed | 12:00 | 20:00",
    "Thursday | 10:00 | 17:00",
)


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("Which plot is the largest?", PLOTS, "Quince"),
        ("which is the smallest plot", PLOTS, "Sorrel"),
        ("What is the oldest plot?", PLOTS, "Sorrel"),
        ("Which is the newest plot?", PLOTS, "Tansy"),
        ("Which plot is the oldest one we own?", PLOTS, "Sorrel"),
        ("Which is the cheapest vegetable bed?", PLOTS, None),  # a thing that no row tells
        ("Which plot has the lowest rent?", PLOTS, "Sorrel"),
        ("What is the highest rent?", PLOTS, "€310"),
        ("How much is the most expensive plot?", PLOTS, "€310"),
        ("Which clay plot is the biggest?", PLOTS, "Elder"),
        ("Which trail is the longest?", TRAILS, "Ridge walk"),
        ("Which trail has the least climb?", TRAILS, "Reed path"),
        ("Which trail leaves earliest?", TRAILS, "Ridge walk"),
        ("Who has been in office the longest?", PLOTS, None),  # a table of no persons
        ("Which plot in Ashby is the largest?", PLOTS, None),  # a name that no row tells
        ("Which of the 12 plots is the largest?", PLOTS, None),  # and a number
        ("When does the earliest trail leave?", TRAILS, None),
        ("Which plot is the largest?", PLOTS[:1], None),  # nothing to compare
        ("Which day is the longest?", HOURS[:1], None),
        (
            "Which visit is the earliest?",
            _table("Visit | Booked for", "Boiler | 16 May 2024", "Roof | 4 June 2024"),
            None,
        ),
    ],
)
def test_a_superlative_compares_rows(
    question: str, rows: list[str], answer: str | None, encoder: Encoder, pipeline: Pipeline
) -> None:
    assert asks_extreme(question)
    found = extreme_cells(question, encoder.encode([question])[0], pipeline.question(question), rows, encoder)
    assert (found and found.said) == answer


def test_a_name_may_stand_in_the_title(encoder: Encoder, pipeline: Pipeline) -> None:
    question = "Which trail in Ashby is the longest?"
    vector, analysis = encoder.encode([question])[0], pipeline.question(question)
    found = extreme_cells(question, vector, analysis, TRAILS, encoder, "Trails of Ashby")
    assert found is not None
    assert found.said == "Ridge walk"


@pytest.mark.parametrize(
    "question",
    ["How many dogs may I bring at most?", "What is the longest I can stay?", "Who knows most of the members?"],
)
def test_a_limit_is_no_superlative(question: str) -> None:
    assert not asks_extreme(question)


def test_rows_that_share_the_extreme_are_all_told(encoder: Encoder, pipeline: Pipeline) -> None:
    rows = _table("Hut | Beds | Fee", "Alder | 4 | 20", "Birch | 12 | 35", "Cedar | 4 | 22", "Dogwood | 8 | 30")
    question = "Which hut has the fewest beds?"
    found = extreme_cells(question, encoder.encode([question])[0], pipeline.question(question), rows, encoder)
    assert found is not None
    assert found.said == "Alder and Cedar"
    assert [cell.passage for cell in found.cells] == [0, 2]


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("On which day is it closed?", HOURS, "Monday"),
        ("Which day does it open at 12?", HOURS, "Wed"),
        ("Who looks after the hedges?", PEOPLE, "Una Field"),
        ("What is the name of the treasurer?", PEOPLE, "Ivo Marsh"),
        ("Whose extension is 204 12?", PEOPLE, "Ivo Marsh"),
        ("Who joined in 1998?", PEOPLE, "Una Field"),
        ("which plot costs 75 €", PLOTS, "Tansy"),
        ("Which plots have clay?", PLOTS, "Elder and Sorrel"),
        ("Which trail is 9 long?", TRAILS, None),  # a number that may be of any column
        ("What is the extension of Ada Brook?", PEOPLE, "204 11"),
        ("What is the extension of the caretaker Ada Brook of Ashby?", PEOPLE, None),  # a name that no row tells
        ("Which person is Ada Brook?", PEOPLE, None),
        ("Which plot has a tap?", PLOTS, None),
        ("Who looks after the bees?", PEOPLE, None),
        ("Who paid 75 €?", PLOTS, None),
    ],
)
def test_a_lookup_finds_the_row_whose_cells_the_question_tells(
    question: str, rows: list[str], answer: str | None
) -> None:
    found = looked_up(question, rows)
    assert (found and found.said) == answer
