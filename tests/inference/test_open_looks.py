"""What was found for an open question is found once, serves that question alone, and goes with the memory it is of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from fedrag_flwr.inference.leads import Lead
from fedrag_flwr.inference.open_looks import Look, OpenLooks

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.records import AnswerMode, Delta, EvidenceUnit, OpenQuestion, Question, Vector
from fedrag_flwr.settings import Plain
from tests.strategies.federation import shared_federation

OPEN = Question("q1", "Which sea did the engineer's sister cross in winter?", "people")
GIVEN = EvidenceUnit("a" * 32, "Her sister Runa crossed the Amber Sea in the winter of 1931.", "rivers", 0.8, "Runa")

MODES: tuple[AnswerMode, ...] = ("memory", "assisted")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeDevice]:
    files = shared_federation(tmp_path_factory)
    with files.copy_to(tmp_path_factory.mktemp("looks")).device("people") as device:
        device.build()
        yield device


@pytest.fixture
def look(people: EdgeDevice) -> Look:
    return Look(people.engine.leads.lead(OPEN.text))


@pytest.mark.parametrize("reading", [True, False])
def test_finishing_uses_what_was_found_and_says_the_same_without(reading: bool, people: EdgeDevice) -> None:
    engine = replace(people.engine, looks=OpenLooks())
    opened = engine.assisted(OPEN, reading=reading)
    assert isinstance(opened, OpenQuestion)
    kept = engine.looks.see(OPEN)
    assert kept is not None
    assert (kept.home is not None) == reading
    assert engine.sought(OPEN)[0] is kept.lead.abroad(named=False)  # not encoded again
    with_it, without = engine.finish(OPEN, [GIVEN]), engine.finish(OPEN, [GIVEN])
    assert engine.looks.see(OPEN) is None
    assert replace(with_it, cost=without.cost) == without


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"privacy__export": "type-masking"}, False),
        ({"privacy__export": "ldp"}, False),
        ({"privacy__export": "none", "privacy__operators": "erasure"}, False),
        ({"privacy__export": "none"}, True),
    ],
)
def test_no_name_out_of_homes_documents_stands_behind_the_vector_that_leaves(
    changes: dict[str, Plain], named: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whoever guesses names would find the one that home put in a description's place by its nearness."""
    question = Question("q1", "Where was the climber who reached the summit of Mount Cairl born?", "rivers")
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("named"))
    with files.with_changes(exchange="plain", **changes).device("rivers") as device:
        device.build()
        asked, guessed = device.toolbox.encoder.encode([question.text, "Where was Enno Tveit born?"])
        engine = replace(device.engine, looks=OpenLooks())
        lead = engine.leads.lead(question.text)
        assert lead.via is not None
        assert lead.via.name == "Enno Tveit"
        near: list[Vector] = []

        def nobody(vector: Vector) -> tuple[str, ...]:
            near.append(vector)
            return ()

        engine.assisted(question, nobody, reading=False)
        others = [
            replace(item, id=f"{number:032x}", origin="people", hyperedges=("e" * 32,))
            for number, item in enumerate(device.store.items())
        ]
        assert device.import_bank(Delta("bank-1", 0, 1, tuple(others), ())).accepted == len(others)
        left = [
            *(one.vector for mode in MODES for one in device.answer([question], mode).open),
            *(vector for vector, _ in [engine.sought(question), device.answers.seeker()(question)]),
            *near,
        ]
    assert len(left) == len(MODES) + 3
    for vector in left:
        assert vector == pytest.approx(guessed if named else asked, abs=1e-3)


def test_another_lead_would_have_shown(people: EdgeDevice, look: Look) -> None:
    """What is kept is what is used: a look at another question's evidence brings that question's sentences."""
    engine = replace(people.engine, looks=OpenLooks(), order=None)
    [asked] = engine.leads.read(["Who commanded the frigate Windhover?"])
    engine.looks.keep(OPEN, Look(Lead(asked, ()), ()))
    assert {unit.origin for unit in engine.finish(OPEN, [GIVEN]).evidence} <= {"rivers"}  # no sentence of home
    assert "people" in {unit.origin for unit in engine.finish(OPEN, [GIVEN]).evidence}


def test_a_look_serves_its_question_alone(look: Look) -> None:
    looks = OpenLooks()
    looks.keep(OPEN, look)
    assert looks.take(replace(OPEN, id="q2")) is None
    assert looks.take(replace(OPEN, text="Which sea?")) is None
    assert looks.take(OPEN) is look
    assert looks.take(OPEN) is None


def test_the_oldest_go_first(look: Look) -> None:
    looks = OpenLooks(most=2)
    first, second, third = (replace(OPEN, id=name) for name in ("q1", "q2", "q3"))
    for question in (first, second, first, third):
        looks.keep(question, look)
    assert [looks.see(question) is look for question in (first, second, third)] == [True, False, True]


def test_memory_that_changed_is_looked_at_anew(people: EdgeDevice) -> None:
    before = people.engine
    assert isinstance(before.assisted(OPEN), OpenQuestion)
    own = next(iter(people.store.items()))
    foreign = replace(own, id="f" * 32, origin="rivers", hyperedges=("e" * 32,))
    assert people.import_bank(Delta("bank-1", 0, 1, (foreign,), ())).accepted == 1
    assert people.engine.looks is not before.looks
    assert people.engine.looks.see(OPEN) is None
