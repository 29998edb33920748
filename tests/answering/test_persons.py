"""A question about a person whom no passage tells of is declined, whoever else has a part of the name."""

from __future__ import annotations

import pytest

from fedrag_flwr.answering.explain import sentences_of
from fedrag_flwr.answering.persons import tells_of_persons
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.pipeline import Pipeline

UNITS = [
    EvidenceUnit(
        "a#0", "Edgar Willoughby keeps the keys. Ask Dr. Nora Pemberton about the roof.", "home", 0.5, "Staff"
    ),
    EvidenceUnit("b#0", "Minutes. Present: Hensley, Martha; Thomas J. Ferrers.", "home", 0.4, "Meeting"),
]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Who is Nora Willoughby?", False),
        ("What is the phone number of Edgar Pemberton?", False),
        ("When did Clara Ashdown retire?", False),
        ("What does Edgar Willoughby keep?", True),
        ("Was Martha Hensley present?", True),
        ("What did Thomas Ferrers say?", True),
        ("What does Edgar Willoughbey keep?", True),
        ("What does Mr. Willoughby keep?", True),
        ("Who keeps the keys?", True),
        ("Welche Aufgabe hat Nora Willoughby in unserem Verein?", True),
    ],
)
def test_a_name_is_told_where_its_parts_stand_together(question: str, told: bool, pipeline: Pipeline) -> None:
    assert tells_of_persons(question, pipeline.question(question), UNITS) is told


def test_a_german_date_is_no_end_of_a_sentence() -> None:
    assert sentences_of("Es ist vom 19. bis 21. September. Man trifft sich am Tor.") == [
        "Es ist vom 19. bis 21. September.",
        "Man trifft sich am Tor.",
    ]
