"""Cells: what a row of a table tells is answered by its cell, of the row and the column that are asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.cells import CELL_FEATURES, Cell, best_cell, cells_of
from fedrag_flwr.answering.judge import LEAST_CELL, shipped_judge
from fedrag_flwr.answering.sentences import RankedText
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.sources.tables import told_row
from fedrag_flwr.text.pipeline import Pipeline

HEADS = ("Class", "Teacher", "Wed", "Room", "Fee")
ROWS = (
    ("Violin for beginners", "Edda Holm", "16:30", "Blue room", "42 francs"),
    ("Brass band", "Tomas Reis", "19:15", "Cellar", "30 francs"),
    ("Early music", "Ines Vidal", "18:00", "Chapel", "55 francs"),
)
RANKED = [
    RankedText(f"t{at}", "Lessons", [told_row(HEADS, row)], [0.5], 3.0 - at, "home") for at, row in enumerate(ROWS)
]
NOTED = (
    "Signed 4 May 2021. Term: two years, to be renewed; spare parts are excluded. Our contact: Ida Holm; ask for her"
)
PROSE = RankedText("p", "House rules", ["The door is locked at ten: use the side gate; be quiet."], [0.4], 2.0, "home")


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("Who teaches the brass band?", ("Brass band", "Teacher", "Tomas Reis")),
        ("What is the fee for violin for beginners?", ("Violin for beginners", "Fee", "42 francs")),
        ("Which room is early music in?", ("Early music", "Room", "Chapel")),
        ("When is the brass band on Wednesday?", ("Brass band", "Wed", "19:15")),
    ],
)
def test_the_cell_of_the_row_and_column_asked_for_answers(
    question: str, cell: tuple[str, str, str], encoder: Encoder, pipeline: Pipeline
) -> None:
    found = best_cell(question, encoder.encode([question])[0], RANKED, encoder)
    assert found is not None
    assert (found.row, found.head, found.text) == cell
    assert len(found.features) == len(CELL_FEATURES) - 1
    assert shipped_judge().of_cell(pipeline.question(question), found) > LEAST_CELL


@pytest.mark.parametrize("question", ["How old is the cellist Ada Brun?", "How many strings does a harp have?"])
def test_what_no_row_tells_is_unlikely(question: str, encoder: Encoder, pipeline: Pipeline) -> None:
    found = best_cell(question, encoder.encode([question])[0], RANKED, encoder)
    assert found is not None
    assert shipped_judge().of_cell(pipeline.question(question), found) < LEAST_CELL


@pytest.mark.parametrize(
    ("head", "cell", "said"),
    [
        ("Weight (kg)", "12.5", "12.5 kg"),
        ("Rent [EUR]", "1,150", "1,150 EUR"),
        ("Fee (CHF)", "40", "40 CHF"),
        ("Moisture (%)", "8", "8 %"),
        ("Fee (child)", "12", "12"),  # no unit
        ("Price (£)", "29.5", "£29.50"),
        ("Rent (€)", "310", "€310"),
        ("Members (2019)", "31", "31"),
        ("Weight (kg)", "12 kg", "12 kg"),
        ("Weight", "12", "12"),
    ],
)
def test_a_plain_number_is_said_with_the_unit_of_its_head(head: str, cell: str, said: str) -> None:
    assert Cell(0, "Oak", head, cell, 1.0).said == said


def test_yes_and_no_answer_no_question_for_a_name(encoder: Encoder) -> None:
    question = "Who opens the boathouse on Sunday?"
    row = told_row(("Day", "Boathouse open", "Keys"), ("Sunday", "Yes", "Ida Holm"))
    found = best_cell(question, encoder.encode([question])[0], [RankedText("r", "Rota", [row], [0.5], 2.0)], encoder)
    assert found is not None
    assert found.text == "Ida Holm"


def test_prose_has_no_cells(encoder: Encoder) -> None:
    assert cells_of(NOTED) == []
    question = "When is the door locked?"
    assert best_cell(question, encoder.encode([question])[0], [PROSE], encoder) is None
    assert best_cell(question, encoder.encode([question])[0], [], encoder) is None


WORD = st.text("abc ", min_size=1, max_size=6).map(str.strip).filter(bool)


@given(st.lists(st.tuples(WORD, WORD), min_size=2, max_size=6))
def test_a_row_is_read_as_it_is_told(cells: list[tuple[str, str]]) -> None:
    assert cells_of(told_row(*zip(*cells, strict=True))) == cells
