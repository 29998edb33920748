"""The numbers of a text are found in whatever way they are written."""

from __future__ import annotations

import pytest

from fedrag_flwr.text.words import number_of, told_words


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
