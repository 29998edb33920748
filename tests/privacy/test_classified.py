"""Names and numbers by the token classifier: what is found, and what only looks like one."""

from __future__ import annotations

import pytest

from fedrag_flwr.privacy import Bundle, TypeMasking
from fedrag_flwr.privacy.classified import find_names
from fedrag_flwr.text import SpacyPipeline


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Aoife Brennan keeps the keys of the boathouse.", ["Aoife Brennan"]),
        ("ask aoife brennan for the keys of the boathouse", ["aoife brennan"]),
        ("Learn more about lessons, and install Docker with GitLab.", []),
        ("Some tarantulas bite; wear gloves and keep the hose dry.", []),
        ("It was named by Jan van den Berg in 1920.", ["Jan van den Berg"]),
    ],
)
def test_names_are_whole_and_ordinary_words_are_none(text: str, names: list[str]) -> None:
    assert [text[span.start : span.end] for span in find_names(text)] == names


def test_nothing_of_a_text_is_passed_over_whose_characters_are_several_tokens() -> None:
    text = f"{'각하 ' * 140}Aoife Brennan keeps the keys."
    assert [text[span.start : span.end] for span in find_names(text)] == ["Aoife Brennan"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Contact the desk on 9456 1278.", "Contact the desk on [PHONE]."),
        ("Her mobile number: 634 281 907", "Her mobile number: [PHONE]"),
        ("Pay to IBAN GB21 ABCD 3059 2288 4401 73 for the tickets.", "Pay to IBAN [IBAN] for the tickets."),
        ("The probe flew 149597870 km.", "The probe flew 149597870 km."),
    ],
)
def test_numbers_are_found_however_they_are_grouped(pipeline: SpacyPipeline, text: str, masked: str) -> None:
    [bundle] = TypeMasking(pipeline).operate([Bundle((text,))])
    assert bundle.prose == (masked,)
