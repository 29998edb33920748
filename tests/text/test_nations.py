"""Nations by any of their names."""

import pytest

from fedrag_flwr.text.nations import nations
from fedrag_flwr.text.words import normalise_anchor

SAME = [
    "the United States|American|US|U.S.",
    "Denmark|Danish",
    "the Netherlands|Dutch|Holland",
    "Wales|British|England",
]


@pytest.mark.parametrize("names", SAME)
def test_all_names_of_a_nation_are_one(names: str) -> None:
    found = [nations([normalise_anchor(name)]) for name in names.split("|")]
    assert all(len(one) == 1 for one in found)
    assert len(set.union(*found)) == 1


def test_nations_that_begin_alike_stay_apart() -> None:
    names = ["Austria", "Australia", "Niger", "Nigeria", "Slovakia", "Slovenia", "Iran", "Iraq", "Denmark", "Finland"]
    assert len(nations(normalise_anchor(name) for name in names)) == len(names)


def test_other_places_are_no_nations() -> None:
    assert nations(["utah", "paris", "elm county", ""]) == set()
