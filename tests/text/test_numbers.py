"""The numbers of a text are found in whatever way they are written."""

from __future__ import annotations

import pytest

from fedrag_flwr.text.words import normalise_text, number_of, told_words


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
