"""Where devices contradict each other each owner counts once."""

from __future__ import annotations

import pytest

from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.records import Match, MemoryItem
from tests.memory.store.samples import unit_vector

Said = tuple[str, str, str]  # origin ("x+y" for a merged memory), answer, what its question is near to

CASES: list[tuple[str, list[Said], str]] = [
    ("nobody speaks", [], ""),
    ("one device", [("a", "Ada", "q")], "Ada"),
    ("one device, two answers", [("a", "Ada", "q"), ("a", "Odile", "q")], "Ada"),
    ("two devices agree", [("a", "Ada", "q"), ("b", "Ada", "q")], "Ada"),
    ("a longer form agrees", [("a", "2009", "q"), ("b", "14 May 2009", "q")], "2009"),
    ("the longer form first", [("a", "14 May 2009", "q"), ("b", "2009", "q")], "2009"),
    ("nobody speaks for more than others said", [("a", "Eve and Ada", "q"), ("b", "Ada", "q")], "Ada"),
    ("nor in home's name", [("a", "Eve and Ada Varro", "q"), ("home", "Ada Varro", "q")], "Ada Varro"),
    ("nor for less than home said", [("a", "Ada", "q"), ("home", "Ada Varro", "q")], "Ada Varro"),
    ("nor for two that contradict", [("a", "Eve and Ada", "q"), ("b", "Ada", "q"), ("c", "Eve", "q")], "Ada"),
    ("who denies agrees with nobody", [("a", "Eve, never Ada", "q"), ("b", "Ada", "q")], ""),
    ("a finding and its denial", [("a", "benign", "q"), ("b", "not benign", "q")], ""),
    ("a shortened denial", [("a", "Ada won", "q"), ("b", "Ada hasn't won", "q")], ""),
    ("a denial outvoted", [("a", "not approved", "q"), ("b", "approved", "q"), ("c", "approved", "q")], "approved"),
    ("two denials agree", [("a", "not at all benign", "q"), ("b", "not benign", "q")], "not benign"),
    ("no words agree with nothing", [("a", "…", "q"), ("b", "Ada", "q"), ("c", "Ada", "q")], "Ada"),
    ("not even with home", [("a", "!", "q"), ("home", "Ada", "q")], "Ada"),
    ("more numbers agree", [("a", "12 May 1990", "q"), ("b", "Monday 12 May 1990, 8 pm", "q")], "12 May 1990"),
    ("another sign does not", [("a", "A+", "q"), ("b", "A-", "q")], ""),
    ("nor another order of numbers", [("a", "2-1", "q"), ("b", "1-2", "q")], ""),
    ("nor another order of words", [("a", "Lund beat Madrid", "q"), ("b", "Madrid beat Lund", "q")], ""),
    (
        "another order of a list does",
        [("a", "Lund, Oslo and Madrid", "q"), ("b", "Madrid and Lund", "q")],
        "Madrid and Lund",
    ),
    ("two against one", [("a", "Eve", "q"), ("b", "Ada", "q"), ("c", "Ada", "q")], "Ada"),
    ("a flood counts once", [*[("a", "Eve", "q")] * 5, ("b", "Ada", "q"), ("c", "Ada", "q")], "Ada"),
    ("a merged memory counts for all its owners", [("a", "Eve", "q"), ("b+c", "Ada", "q")], "Ada"),
    ("one against one", [("a", "Eve", "q"), ("b", "Ada", "q")], ""),
    ("home believes itself", [("a", "Eve", "q"), ("home", "Ada", "q")], "Ada"),
    ("home is outvoted", [("home", "Eve", "q"), ("b", "Ada", "q"), ("c", "Ada", "q")], "Ada"),
    ("a near copy does not beat other wordings", [("a", "Eve", "q"), ("b", "Ada", "else"), ("c", "Ada", "far")], "Ada"),
    ("a device's second answer does not count", [("a", "Ada", "q"), ("b", "Ada", "q"), ("a", "Eve", "q")], "Ada"),
]


def match(number: int, said: Said) -> Match:
    names, answer, near = said
    merged = "+" in names
    edges = tuple(f"{name}/e{number}" for name in names.split("+")) if merged else (f"e{number}",)
    origin = "fusion" if merged else names
    item = MemoryItem(f"i{number}", "Who?", answer, "single", "PERSON", edges, (), unit_vector(near), origin)
    return Match(item, 1.0 - number / 100, 1.0)


ENOUGH: list[tuple[str, list[Said], str, int]] = [
    ("one of two that are needed", [("a", "Ada", "q")], "", 2),
    ("one device, five memories", [("a", "Ada", "q")] * 5, "", 2),
    ("two of two", [("a", "Ada", "q"), ("b", "Ada", "else")], "Ada", 2),
    ("a merged memory", [("a+b", "Ada", "q")], "Ada", 2),
    ("home alone", [("home", "Ada", "q")], "Ada", 3),
]


EVERY = [*((*case, 0) for case in CASES), *ENOUGH]


@pytest.mark.parametrize(("said", "answer", "least"), [case[1:] for case in EVERY], ids=[case[0] for case in EVERY])
def test_whom_a_device_believes(said: list[Said], answer: str, least: int) -> None:
    found = Quorum("home", least).agreed([match(number, one) for number, one in enumerate(said)])
    assert (found.item.answer if found else "") == answer
