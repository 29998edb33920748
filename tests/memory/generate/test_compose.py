"""Two-hop questions out of two items that share a name, perhaps of two devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.memory.generate.compose import Composed, Composite, compose
from fedrag_flwr.memory.generate.describe import describe
from fedrag_flwr.records import MemoryItem

VECTOR = np.array([1.0, 0.0], dtype=np.float32)


def item(number: int, question: str, answer: str, answer_type: str = "NAME", origin: str = "a") -> MemoryItem:
    return MemoryItem(
        f"i{number}", question, answer, "single", answer_type, (f"{origin}/e{number}",), (f"k{number}",), VECTOR, origin
    )


def composed(*items: MemoryItem, limit_per_item: int = 4) -> list[Composite]:
    return list(compose(items, limit_per_item, np.random.default_rng(0)).composites)


@pytest.mark.parametrize(
    ("question", "answer_type", "description"),
    [
        ("Who discovered Pluto?", "PERSON", "the person who discovered Pluto"),
        (
            "Which spacecraft discovered plumes on Enceladus?",
            "NAME",
            "the spacecraft that discovered plumes on Enceladus",
        ),
        ("Which astronomer discovered Triton?", "PERSON", "the astronomer who discovered Triton"),
        (
            "Which spacecraft was the first to orbit Mercury?",
            "NAME",
            "the spacecraft that was the first to orbit Mercury",
        ),
        ("Where was Yuri Gagarin born?", "GPE", "the place where Yuri Gagarin was born"),
        ("Where did Apollo 11 land?", "LOC", "the place where Apollo 11 landed"),
        ("What is the largest moon of Saturn?", "NAME", "the largest moon of Saturn"),
        ("What is Saturn's largest moon?", "NAME", "Saturn's largest moon"),
        ("Which rocket was Voyager 1 launched by?", "NAME", "the rocket that Voyager 1 was launched by"),
        ("Which probe did NASA launch in 1997?", "NAME", "the probe that NASA launched in 1997"),
        ("Who was the first head of NASA?", "PERSON", "the first head of NASA"),
        ("Which space telescope found 2,600 planets?", "NAME", "the space telescope that found 2,600 planets"),
        ("When was Pluto discovered?", "DATE", ""),
        ("How many moons does Mars have?", "CARDINAL", ""),
        ("What did NASA launch?", "NAME", ""),
    ],
)
def test_describe(question: str, answer_type: str, description: str) -> None:
    assert describe(question, answer_type) == description


def test_joins_two_devices_over_a_name() -> None:
    plumes = item(1, "Which spacecraft discovered plumes on Enceladus?", "Cassini", origin="a")
    rocket = item(2, "Which rocket launched Cassini?", "Titan IV", origin="b")
    (made,) = composed(plumes, rocket)
    assert made.question == "Which rocket launched the spacecraft that discovered plumes on Enceladus?"
    assert (made.answer, made.bridge, made.parts, made.kind) == ("Titan IV", "Cassini", ("i1", "i2"), "multi-hop")
    assert made.hyperedges == ("b/e2", "a/e1")
    assert made.origins == ("a", "b")
    assert made.anchors == ("k1", "k2")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("When was Voyager 1 launched?", "1977", "YEAR"), ("What happened in 1977?", "Launch", "NAME")),
        (("Which moon did Huygens visit?", "Titan", "NAME"), ("How tall was Titan IIIE?", "48 metres", "QUANTITY")),
        (("Which moon did Huygens visit?", "Titan", "NAME"), ("How big is Titan's crust?", "Large", "NAME")),
        (("Which moon did Huygens visit?", "Titan", "NAME"), ("Who reached Titan with a probe?", "Huygens", "NAME")),
    ],
)
def test_what_is_no_bridge(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    assert composed(item(1, *first), item(2, *second, origin="b")) == []


PLUMES = ("Which spacecraft found plumes on Enceladus?", "Cassini", "NAME")


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (PLUMES, ("Which rocket launched Cassini?", "Titan IV", "NAME"), None),
        (PLUMES, ("What did Cassini photograph?", "plumes", "NAME"), "gives-away"),
        (PLUMES, ("Which crew of Cassini's planners steered Cassini?", "Blue Crew", "NAME"), "names-bridge"),
        (
            ("Which camera is called Wide Angle by its makers?", "Wide-Angle", "NAME"),
            ("Who drew Wide-Angle?", "Ada Morrow", "PERSON"),
            "names-bridge",
        ),
        (
            ("Which ship found Enceladus?", "Cassini Plus", "NAME"),
            ("What was Cassini Plus called?", "Cassini", "NAME"),
            "answer-in-bridge",
        ),
        (PLUMES, ("Which plumes did Enceladus show Cassini?", "Tall Ones", "NAME"), "repeats"),
        (PLUMES, (f"Which rocket launched Cassini {'and others ' * 12}?", "Titan IV", "NAME"), "length"),
        (PLUMES, ("Which rocket launched Cassini", "Titan IV", "NAME"), "no-question"),
        (PLUMES, ("Which rocket of our club launched Cassini?", "Titan IV", "NAME"), "dangling"),
        (PLUMES, ("When was Cassini launched?", "Titan IV", "NAME"), "type-mismatch"),
        (PLUMES, ("Which rocket launched Cassini?", "what it is", "NAME"), "stop-words"),
        (PLUMES, ("Which rocket launched Cassini?", "...", "NAME"), "empty"),
    ],
)
def test_a_composition_is_checked_and_its_reject_counted(
    first: tuple[str, str, str], second: tuple[str, str, str], reason: str | None
) -> None:
    """What it is made of comes from devices, which may not have checked it."""
    made = compose([item(1, *first), item(2, *second, origin="b")], 1, np.random.default_rng(0))
    assert len(made.composites) == (reason is None)
    assert made.rejected == ({} if reason is None else {reason: 1})


def test_neither_part_s_owners_are_cut_off() -> None:
    """The server keeps the first hyperedges alone, and whom to ask is known by them."""
    many = tuple(f"d{number:02}/e" for number in range(16))
    plumes = replace(item(1, "Which spacecraft discovered plumes on Enceladus?", "Cassini"), hyperedges=many)
    rocket = replace(item(2, "Which rocket launched Cassini?", "Titan IV"), hyperedges=("z/e",))
    (made,) = composed(plumes, rocket)
    assert made.hyperedges[:2] == ("z/e", "d00/e")
    assert set(made.hyperedges) == {"z/e", *many}
    assert len(made.hyperedges) == len(set(made.hyperedges))


def test_a_document_s_own_name_may_hold_the_sign_of_a_unit() -> None:
    one = item(1, "Who discovered Pluto?", "Clyde Tombaugh", "PERSON")
    two = item(2, "Where was Clyde Tombaugh born?", "Streator", "GPE")
    same = [replace(one, support=("minutes#1#0.0",)), replace(two, support=("minutes#1#0.1",))]
    apart = [replace(one, support=("minutes#1#0.0",)), replace(two, support=("minutes#2#0.0",))]
    assert composed(*same) == []
    assert len(composed(*apart)) == 1


def test_items_of_one_hyperedge_or_document_are_not_joined() -> None:
    one = item(1, "Who discovered Pluto?", "Clyde Tombaugh", "PERSON")
    two = item(2, "Where was Clyde Tombaugh born?", "Streator", "GPE")
    same_edge = MemoryItem(two.id, two.question, two.answer, "single", "GPE", one.hyperedges, (), VECTOR, "a")
    assert compose([one, same_edge], 4, np.random.default_rng(0)) == Composed((), {"one-hop": 1})
    documents = [
        MemoryItem(i.id, i.question, i.answer, "single", i.answer_type, (), (), VECTOR, "a", (f"doc#0.{n}",))
        for n, i in enumerate((one, two))
    ]
    assert composed(*documents) == []


def test_what_is_composed_already_is_no_part() -> None:
    one = item(1, "Which telescope found Kamo in 2016?", "Pan-STARRS", "NAME")
    two = item(2, "Was Pan-STARRS switched off in 2001?", "No", "YESNO", "b")
    assert composed(one, replace(two, kind="multi-hop")) == []


def test_a_question_with_several_answers_describes_none_of_them() -> None:
    moons = [item(n, "Which moon orbits Saturn?", name) for n, name in enumerate(("Titan", "Mimas"))]
    assert composed(*moons, item(9, "Who discovered Titan?", "Huygens", "PERSON", "b")) == []


def test_no_device_makes_a_name_too_common_for_others() -> None:
    plumes = item(1, "Which spacecraft discovered plumes on Enceladus?", "Cassini", origin="a")
    rocket = item(2, "Which rocket launched Cassini?", "Titan IV", origin="b")
    floods = {
        name: [
            item(place + n, f"Which crew of day {place + n} saw Cassini?", f"Crew {place + n}", origin=name)
            for n in range(61)
        ]
        for name, place in (("evil", 100), ("c", 200), ("d", 300))
    }
    wanted = ["Which rocket launched the spacecraft that discovered plumes on Enceladus?"]
    assert [made.question for made in composed(plumes, rocket, *floods["evil"])] == wanted
    half = [one for flood in floods.values() for one in flood[:31]]
    assert composed(plumes, rocket, *half) == []  # all say it, whoever is left out


def test_no_device_takes_the_room_of_others() -> None:
    heavier = [
        item(
            n,
            f"Which rocket launched Probe {n}?" if n % 2 else f"Which probe visited Moon {n}?",
            f"Probe {n + 1}",
            origin="evil",
        )
        for n in range(10)
    ]
    plumes = item(11, "Which spacecraft discovered plumes on Enceladus?", "Cassini", origin="a")
    rocket = item(12, "Which rocket launched Cassini?", "Titan IV", origin="b")
    made = compose([plumes, rocket, *heavier], 4, np.random.default_rng(0), limit=2).composites
    assert {one.origins for one in made} == {("a", "b"), ("evil",)}
    alone = compose(heavier, 4, np.random.default_rng(0), limit=2).composites
    assert [one.origins for one in alone] == [("evil",)] * 2


NAMES = ["Cassini", "Titan", "Pluto", "Voyager 1", "Clyde Tombaugh", "Saturn V"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Which rocket launched {}?", "Who discovered {}?", "Where was {} built?", "What is {}?"]),
            st.sampled_from(NAMES),
            st.sampled_from(NAMES),
        ),
        max_size=25,
    ),
    st.integers(0, 3),
)
def test_a_composite_never_says_its_bridge_or_answer(rows: list[tuple[str, str, str]], limit: int) -> None:
    items = [item(n, shape.format(name), answer, origin=f"d{n}") for n, (shape, name, answer) in enumerate(rows)]
    made = composed(*items, limit_per_item=limit)
    for composite in made:
        assert composite.bridge.lower() not in composite.question.lower()
        assert composite.answer.lower() not in composite.question.lower()
        assert len(composite.origins) == 2
    assert len({composite.question.lower() for composite in made}) == len(made)
    assert max([sum(c.parts[1] == i.id for c in made) for i in items], default=0) <= limit


def test_the_cap_holds_over_five_thousand_items() -> None:
    items = [
        item(n, f"Which rocket launched Probe {n}?" if n % 2 else f"Which probe visited Moon {n}?", f"Probe {n + 1}")
        for n in range(5_000)
    ]
    made = compose(items, 4, np.random.default_rng(1), limit=500)
    assert len(made.composites) == 500
    assert made == compose(items, 4, np.random.default_rng(1), limit=500)
