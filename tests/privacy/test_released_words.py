"""A name that is learnt voids what was released only where it may stand in it."""

from pathlib import Path

import pytest

from fedrag_flwr.privacy.known_names import KnownNames, lead_digests
from fedrag_flwr.privacy.released_words import ReleasedWords

TOLD = "[PERSON] climbed Mount Cairl with Odile Varro's rope in 1924."


@pytest.mark.parametrize(
    ("name", "voids"),
    [
        ("Jadwiga Kowalska", False),
        ("Kowalska", False),
        ("Odile Varro", True),
        ("odile varro", True),
        ("Varro", True),
        ("Mount Cairl", True),
        ("Odile Kowalska", True),  # by its first word: rather once too often
        ("Jadwiga Varro", False),
    ],
)
def test_a_name_of_which_the_first_word_left_voids(tmp_path: Path, name: str, voids: bool) -> None:
    names, released = KnownNames(), ReleasedWords(tmp_path / "released.sqlite")
    names.learn([("Ada Morrow", "PERSON")])
    released.age(names.leads())
    released.add(lead_digests(TOLD), names.leads())
    before = released.age(names.leads())
    names.learn([(name, "PERSON")])
    assert (released.age(names.leads()) != before) == voids
    released.close()


def test_after_a_name_voided_everything_it_voids_nothing_again(tmp_path: Path) -> None:
    names, released = KnownNames(), ReleasedWords(tmp_path / "released.sqlite")
    released.add(lead_digests(TOLD), names.leads())
    first = released.age({})
    names.learn([("Odile Varro", "PERSON")])
    second = released.age(names.leads())
    released.add(lead_digests(TOLD.replace("Odile Varro", "[PERSON]")), names.leads())
    names.learn([("Odile Brand", "PERSON")])
    assert first != second == released.age(names.leads())
    released.close()


@pytest.mark.parametrize(("name", "voids"), [("Odile Varro", True), ("Jadwiga Kowalska", False)])
def test_a_name_that_another_process_learnt_during_a_release_voids_it(tmp_path: Path, name: str, voids: bool) -> None:
    names, mine = KnownNames(tmp_path / "names.sqlite"), ReleasedWords(tmp_path / "released.sqlite")
    known, before = names.leads(), mine.age(names.leads())
    others = ReleasedWords(tmp_path / "released.sqlite")
    names.learn([(name, "PERSON")])
    assert others.age(names.leads()) == before  # nothing has left yet
    mine.add(lead_digests(TOLD), known)
    assert (mine.age(names.leads()) != before) == voids
    for one in (names, mine, others):
        one.close()


def test_a_name_in_the_place_of_one_that_is_gone_voids(tmp_path: Path) -> None:
    """Names that no file keeps go with their process: how many there are says nothing."""
    released = ReleasedWords(tmp_path / "released.sqlite")
    before = released.age({"a": "lead-a", "r": "lead-r"})
    released.add({"lead-c"}, {"a", "r"})
    assert released.age({"r": "lead-r"}) == before
    assert released.age({"c": "lead-c", "r": "lead-r"}) != before
    released.close()


def test_it_outlives_its_process_and_a_torn_file_voids(tmp_path: Path) -> None:
    path = tmp_path / "released.sqlite"
    released = ReleasedWords(path)
    before = released.age({})
    released.close()
    again = ReleasedWords(path)
    assert again.age({}) == before
    again.close()
    for part in tmp_path.iterdir():
        part.unlink()
    path.write_bytes(b"torn" * 2_000)
    anew = ReleasedWords(path)
    assert anew.age({}) != before
    anew.add(lead_digests(TOLD), set())
    assert not any(b"Varro" in file.read_bytes() or b"varro" in file.read_bytes() for file in tmp_path.iterdir())
    anew.close()
