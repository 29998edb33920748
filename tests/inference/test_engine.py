"""Which path a question takes on one device, over which evidence, and how the answer is traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import cast

import numpy as np
import pytest
from fedrag_flwr.inference.engine import Engine
from fedrag_flwr.inference.leads import Lead
from fedrag_flwr.inference.reader import CERTAIN, Reading
from fedrag_flwr.inference.reading import Candidate
from numpy.typing import NDArray

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import WireError
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.privacy.nearness import rescored, verified
from fedrag_flwr.records import (
    Answer,
    Delta,
    EvidenceRequest,
    EvidenceUnit,
    MemoryItem,
    OpenQuestion,
    Question,
    ShareRequest,
)
from fedrag_flwr.settings import Mixing
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import Pipeline
from tests.inference.one_word import OneWord
from tests.strategies.federation import Federation, shared_federation


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeDevice]:
    files: Federation = shared_federation(tmp_path_factory)
    with files.copy_to(tmp_path_factory.mktemp("engine")).device("people") as device:
        device.build()
        yield device


def asked(text: str) -> Question:
    return Question("q1", text, "people")


REMEMBERED = [
    ("Where was Odile Varro born?", "Lindmoor", "odile-varro"),
    ("Who commanded the frigate Windhover?", "Jonas Keel", "jonas-keel"),
    ("Which medal did Odile Varro receive in 1926?", "Iron Medal", "odile-varro"),
]


@pytest.mark.parametrize(("question", "answer", "document"), REMEMBERED)
def test_memory_answers_without_the_model(question: str, answer: str, document: str, people: EdgeDevice) -> None:
    given = people.ask(asked(question), "memory")
    assert isinstance(given, Answer)
    assert (given.path, given.text, given.cost.llm_calls) == ("memorizer", answer, 0)
    assert given.score >= people.settings.memory.delta
    assert {line.document for line in people.trace(given)} >= {document}


def test_a_trace_leads_from_the_answer_to_the_sentence(people: EdgeDevice) -> None:
    given = people.ask(asked("Where was Odile Varro born?"), "memory")
    assert isinstance(given, Answer)
    line = next(line for line in people.trace(given) if line.item)
    assert people.store.item(line.item).answer == given.text
    assert given.text in line.text
    assert line.passage.startswith(line.document)
    assert all(people.store.hyperedge(edge).id == edge for edge in line.hyperedges)


def test_a_released_answer_is_traced_by_its_opaque_ids(people: EdgeDevice) -> None:
    (released,) = people.answer([asked("Where was Odile Varro born?")], "memory").answers
    own = {item.id for item in people.store.items()} | {edge.id for edge in people.store.hyperedges()}
    assert not own & {source.partition("/")[2] for source in released.sources}
    assert {line.document for line in people.trace(released)} >= {"odile-varro"}
    abroad = people.trace(replace(released, sources=("rivers/0123", "nowhere", "")))
    assert [(line.origin, line.reference, line.text) for line in abroad if line.origin] == [
        ("rivers", "0123", ""),
        ("nowhere", "", ""),
    ]


MODES = [("closed-book", "cognizer", 0), ("passages", "cognizer", 1)]


@pytest.mark.parametrize(("mode", "path", "least"), MODES)
def test_the_other_modes_ask_the_model(mode: str, path: str, least: int, people: EdgeDevice) -> None:
    given = people.ask(asked("Who commanded the frigate Windhover?"), mode)  # type: ignore[arg-type]
    assert isinstance(given, Answer)
    assert given.path in {path, "abstained"}
    assert given.cost.llm_calls == 1
    assert len(given.evidence) >= least
    assert [f"{unit.origin}/{unit.id}" for unit in given.evidence] == list(given.sources)


def test_what_is_far_is_not_answered_and_costs_no_call(people: EdgeDevice) -> None:
    given = people.ask(asked("What did the Duke of Pell eat at his wedding?"), "memory")
    assert isinstance(given, Answer)
    assert (given.path, given.text, given.cost.llm_calls) == ("abstained", "", 0)
    assert "too far" in given.explanation


class Sure(Engine):
    """An engine whose readings leave no doubt."""

    def _read(self, lead: Lead, home: Sequence[Candidate], foreign: Sequence[EvidenceUnit]) -> Reading:
        found = super()._read(lead, home, foreign)
        return replace(found, likely=np.full_like(found.likely, CERTAIN))


@pytest.mark.parametrize("least_trust", [0.0, 1.0])
def test_home_is_sure_only_of_what_it_answers(least_trust: float, people: EdgeDevice) -> None:
    engine = people.engine_over("none")
    parts = {one.name: getattr(engine, one.name) for one in fields(engine)}
    sure = Sure(**parts | {"cognizer": replace(engine.cognizer, abstain_below=0.0, least_trust=least_trust)})
    question = asked("Who commanded the frigate Windhover?")
    answer, certain = sure.at_home(question)
    assert (bool(answer.text), certain) == (least_trust == 0.0, least_trust == 0.0)
    assert isinstance(sure.assisted(question), OpenQuestion if least_trust else Answer)


def foreign(question: str, answer: str, kind: str, encoder: Encoder, pipeline: Pipeline) -> MemoryItem:
    return MemoryItem(
        id="f" * 32,
        question=question,
        answer=answer,
        kind="single",
        answer_type=kind,
        hyperedges=("e" * 32,),
        anchors=item_anchors(pipeline.question(question), kind),
        embedding=encoder.encode([question])[0],
        origin="rivers",
    )


def test_a_question_over_others_memories_stays_open_and_names_whom_to_ask(
    tmp_path_factory: pytest.TempPathFactory, encoder: Encoder, pipeline: Pipeline
) -> None:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("open"))
    with files.device("people") as device:
        device.build()
        item = foreign("Which bay does the Ossel flow into?", "Bay of Herons", "LOC", encoder, pipeline)
        assert device.import_bank(Delta("bank-1", 0, 1, (item,), ())).accepted == 1
        question = asked("How wide is the bay where the Ossel ends?")
        outcome = device.ask(question, "memory")
        assert isinstance(outcome, OpenQuestion)
        assert [(want.owner, want.hyperedges) for want in outcome.wants] == [("rivers", item.hyperedges)]
        assert outcome.vector.shape == (encoder.dimension,)

        given = EvidenceUnit("a" * 32, "The Bay of Herons is 12 kilometres wide.", "rivers", 0.8, "Bay of Herons")
        closed = device.engine.finish(question, [given])
        assert f"rivers/{given.id}" in closed.sources
        assert f"rivers/{item.id}" in closed.sources
        assert closed.path in {"remote", "abstained"}

        known = device.ask(asked("Which bay does the Ossel flow into?"), "memory")
        assert isinstance(known, Answer)
        assert (known.path, known.text) == ("memorizer", "Bay of Herons")
        assert [line.origin for line in device.trace(known)] == ["rivers", "rivers"]

        alone = device.ask(asked("Which bay does the Ossel flow into?"), "own-memory")
        assert isinstance(alone, Answer)
        assert alone.text != "Bay of Herons"
        assert {source.partition("/")[0] for source in alone.sources} <= {"people"}
        own = device.ask(asked("Where was Odile Varro born?"), "own-memory")
        assert isinstance(own, Answer)
        assert (own.path, own.text) == ("memorizer", "Lindmoor")


def test_evidence_for_others_is_that_of_named_hyperedges_in_order(people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    edges = [edge.id for edge in people.store.hyperedges()]
    for named in (edges[:1], edges, [*edges, "no-such-edge"]):
        units = people.shelf.units_of(named, vector)
        assert units
        assert len({unit.id for unit in units}) == len(units)
        assert {unit.origin for unit in units} == {"people"}
        assert [unit.score for unit in units] == sorted((unit.score for unit in units), reverse=True)
    assert people.shelf.units_of(edges, vector)[0].id.startswith("jonas-keel#")
    assert people.shelf.units_of([], vector) == []  # nobody fishes with a vector alone
    assert people.shelf.units_of(["no-such-edge"], vector) == []


def test_where_no_hyperedge_is_named_the_nearest_sentences_are_offered(people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    edges = [min(people.store.hyperedges(), key=lambda edge: len(edge.members)).id]
    assert people.shelf.offered(edges, vector) == people.shelf.units_of(edges, vector)
    offered = people.shelf.offered([], vector)
    assert offered[0].id.startswith("jonas-keel#")
    assert len(people.shelf.offered(edges, vector)) < len(offered)
    assert people.shelf.offered(["an-edge-that-went"], vector) == offered


@pytest.mark.parametrize("budget", [1, 2, 4])
def test_an_owner_gives_no_more_than_was_asked_for(budget: int, people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    shared = people.giving.memories(ShareRequest("memories", 0)).items
    edges = tuple(sorted({edge for item in shared for edge in item.hyperedges}))[:64]
    [given] = people.giving.evidence([EvidenceRequest("q", vector, edges, budget)]).evidence
    assert 0 < len(given.units) <= budget


def test_foreign_evidence_takes_at_most_half_the_room(people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    abroad = [EvidenceUnit(f"{number}", f"The sea is {number} miles wide.", "rivers", 1.0) for number in range(20)]
    limit = people.settings.inference.evidence_units
    shelf = people.engine.shelf
    home = [one.unit for one in shelf.gather(vector, [])]
    units = shelf.select(home, abroad)
    assert len(units) <= limit
    assert sum(unit.origin == "rivers" for unit in units) == limit // 2
    assert {unit.origin for unit in shelf.select(home, ())} == {"people"}


def test_others_pages_without_a_stop_leave_room_for_home(people: EdgeDevice, encoder: Encoder) -> None:
    question = asked("Which river did the sister of Jonas Keel cross with her dogs?")
    vector = encoder.encode([question.text])[0]
    pages = ("Jonas Keel crossed the river and " * 700)[:20_000]
    abroad = [EvidenceUnit(f"{number}", f"By {number}, {pages}", "rivers", 1.0) for number in range(8)]
    free = replace(people.engine.cognizer, free=True, abstain_below=0.0)
    answer = replace(people.engine, cognizer=free).finish(question, rescored(abroad, vector, encoder))
    assert answer.cost.llm_calls == 1, answer.explanation
    assert {unit.origin for unit in answer.evidence} == {"people", "rivers"}


def test_where_the_model_cannot_read_what_others_gave_home_answers_alone(people: EdgeDevice, encoder: Encoder) -> None:
    question = asked("Which river did the sister of Jonas Keel cross with her dogs?")
    abroad = [EvidenceUnit(f"{n}", f"By {n}, Jonas Keel " + "\U0001f702" * 2_000, "rivers", 1.0) for n in range(8)]
    free = replace(people.engine.cognizer, free=True, abstain_below=0.0)
    answer = replace(people.engine, cognizer=free).finish(question, abroad)
    assert "the model cannot read what others gave" in answer.explanation
    assert answer.cost.llm_calls == 1
    assert {unit.origin for unit in answer.evidence} == {"people"}


@pytest.mark.parametrize(("score", "count"), [(1.0, 4), (-1.0, 0)])
def test_the_likeliest_are_read_wherever_they_come_from(
    score: float, count: int, people: EdgeDevice, encoder: Encoder
) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    abroad = [EvidenceUnit(f"{number}", f"The sea is {number} miles wide.", "rivers", score) for number in range(20)]
    shelf = replace(people.engine.shelf, most=4, mixing="likeliest")
    units = shelf.select([one.unit for one in shelf.gather(vector, [])], abroad)
    assert [unit.origin for unit in units] == ["people"] * (4 - count) + ["rivers"] * count


def test_what_the_first_sentences_do_not_answer_is_asked_over_more_of_them(people: EdgeDevice) -> None:
    """The evidence of the answer is then what was read last, and its owners' share stays at most half."""
    unknowing = cast("Generator", OneWord(people.toolbox.generator()))
    free = replace(people.engine.cognizer, generator=lambda: unknowing, free=True, abstain_below=0.0)
    abroad = [EvidenceUnit(f"{n}", f"The sea is {n} miles wide.", "rivers", 1.0) for n in range(20)]
    for again, most in ((0, people.settings.inference.evidence_units), (8, 8)):
        shelf = replace(people.engine.shelf, again=again)
        answer = replace(people.engine, shelf=shelf, cognizer=free).finish(asked("Who is dear to the sailors?"), abroad)
        assert answer.cost.llm_calls == 1 + bool(again)
        assert sum(unit.origin == "rivers" for unit in answer.evidence) == most // 2


def test_the_model_is_asked_where_no_span_is_sure_enough(people: EdgeDevice) -> None:
    """What is read is the same; only who says the answer differs."""
    question = asked("Where was the engineer born who received the Iron Medal?")
    parts = {one.name: getattr(people.engine, one.name) for one in fields(people.engine)}
    cognizer = replace(people.engine.cognizer, abstain_below=0.0, free=True)
    read, said = (
        Engine(**parts | {"cognizer": replace(cognizer, sure=sure)}).finish(question, ()) for sure in (-100.0, 100.0)
    )
    assert (read.cost.llm_calls, said.cost.llm_calls) == (0, 1)
    assert "read from" in read.explanation
    assert "read from" not in said.explanation  # what a model says differs between processors
    assert {unit.id for unit in said.evidence} <= {unit.id for unit in read.evidence}  # which holds what told it, too


def test_what_was_read_is_not_read_again(people: EdgeDevice) -> None:
    unknowing = cast("Generator", OneWord(people.toolbox.generator()))
    free = replace(people.engine.cognizer, generator=lambda: unknowing, free=True, abstain_below=0.0)
    for again, calls in ((4, 1), (8, 2)):
        shelf = replace(people.engine.shelf, fewest=4, again=again)
        answer = replace(people.engine, shelf=shelf, cognizer=free).finish(asked("Which sea did the sister cross?"), ())
        assert answer.cost.llm_calls == calls
        assert 4 < len(answer.evidence) <= 8 if calls == 2 else len(answer.evidence) == 4


def test_units_that_say_the_first_hops_name_come_first(people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Who commanded the frigate Windhover?"])[0]
    abroad = [
        EvidenceUnit("near", "The sea is wide.", "rivers", 1.0),
        EvidenceUnit("said", "Odile Varro saw the sea.", "rivers", 0.1),
    ]
    shelf = people.engine.shelf
    units = shelf.select([one.unit for one in shelf.gather(vector, [])], abroad, "Odile Varro")
    assert [unit.id for unit in units if unit.origin == "rivers"] == ["said", "near"]
    assert "Odile Varro" in f"{units[0].title} {units[0].text}"


@pytest.mark.parametrize("mixing", ["half", "likeliest"])
def test_what_two_devices_say_takes_one_slot(mixing: Mixing, people: EdgeDevice) -> None:
    shelf = replace(people.engine.shelf, most=4, mixing=mixing)
    home = [EvidenceUnit(f"h#0.{n}", f"Home says {n}.", "people", 0.5 - n / 10) for n in range(3)]
    once = EvidenceUnit("1", "The sea is wide.", "rivers", 0.9)
    again = replace(once, id="2", origin="lakes", text="the  sea is WIDE.", score=0.8)
    other = replace(once, id="3", text="The sea is deep.", score=0.7)
    assert shelf.select(home, [other, again, once]) == [*home[:2], once, other]
    assert shelf.select(home, [once, other]) == [*home[:2], once, other]  # nothing twice: as ever


@pytest.mark.parametrize("mixing", ["half", "likeliest"])
def test_homes_own_stands_where_another_says_the_same(mixing: Mixing, people: EdgeDevice) -> None:
    shelf = replace(people.engine.shelf, most=2, mixing=mixing)
    far, near = (EvidenceUnit(f"h#0.{n}", f"Home says {n}.", "people", n / 10) for n in range(2))
    twin = replace(far, id="t", origin="rivers", score=0.9)
    other = EvidenceUnit("o", "The sea is deep.", "rivers", -0.9)
    beside = other if mixing == "half" else near
    assert set(shelf.select([near, far], [twin, other])) == {far, beside}


def test_sentences_that_are_taken_once_are_still_told_by_all_their_devices(people: EdgeDevice) -> None:
    """Which devices tell an answer is asked of all that was given, and home keeps its voice."""
    engine = people.engine
    memorizer = replace(engine.leads.memorizer, least_voices=2)
    cognizer = replace(engine.cognizer, abstain_below=0.0, sure=-100.0)
    strict = replace(engine, leads=replace(engine.leads, memorizer=memorizer), cognizer=cognizer)

    text = "The Bay of Herons is 12 kilometres wide."
    one, two = (
        EvidenceUnit(f"{n}", text, origin, 0.9, "Bay of Herons") for n, origin in enumerate(("rivers", "lakes"))
    )
    wide = asked("How many kilometres wide is the Bay of Herons?")
    answer = strict.finish(wide, [one, two])
    assert "12" in answer.text, answer.explanation
    assert [unit.text for unit in answer.evidence].count(text) == 1
    assert strict.finish(wide, [one]).text == ""

    known = asked("In which year did Odile Varro receive the Iron Medal?")
    home = strict.finish(known, ())
    assert home.text
    twins = [replace(unit, id=f"{n}", origin="rivers") for n, unit in enumerate(home.evidence)]
    helped = strict.finish(known, twins)
    assert (helped.text, helped.path) == (home.text, "cognizer")
    assert {unit.text for unit in helped.evidence} >= {unit.text for unit in home.evidence}
    assert {unit.origin for unit in helped.evidence} == {"people"}


def test_the_owners_of_a_merged_memory_are_asked_with_what_each_named(
    tmp_path_factory: pytest.TempPathFactory, encoder: Encoder, pipeline: Pipeline
) -> None:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("merged"))
    with files.device("people") as device:
        device.build()
        named = ("lakes/", "people/", f"rivers/{'e' * 32}/hills/towns")
        item = foreign("Which bay does the Ossel flow into?", "Bay of Herons", "LOC", encoder, pipeline)
        item = replace(item, id="1-fused", origin="fusion", hyperedges=named)
        assert device.import_bank(Delta("bank-1", 0, 1, (item,), ())).accepted == 1
        outcome = device.ask(asked("How wide is the bay where the Ossel ends?"), "memory")
        assert isinstance(outcome, OpenQuestion)
        assert [(want.owner, want.hyperedges) for want in outcome.wants] == [("lakes", ()), ("rivers", ("e" * 32,))]
        known = device.ask(asked("Which bay does the Ossel flow into?"), "memory")
        assert isinstance(known, Answer)
        assert [line.origin for line in device.trace(known)] == ["fusion", "rivers"]


def test_a_vector_of_another_length_is_refused(people: EdgeDevice) -> None:
    (edge, *_) = people.store.opaque("own", [people.store.hyperedges()[0].id]).values()
    with pytest.raises(WireError, match="length"):
        people.giving.evidence([EvidenceRequest("q1", np.ones(3, dtype=np.float32), (edge,), 2)])


def test_a_request_that_cannot_be_met_costs_those_beside_it_nothing(people: EdgeDevice) -> None:
    (edge, *_) = people.store.opaque("own", [people.store.hyperedges()[0].id]).values()
    whole = np.ones(people.store.dimension, dtype=np.float32)
    requests = [EvidenceRequest(f"q{n}", vector, (edge,), 2) for n, vector in enumerate((whole[:3], whole))]
    assert [one.question_id for one in people.giving.evidence(requests).evidence] == ["q1"]


def test_how_near_foreign_evidence_is_home_measures_itself(encoder: Encoder) -> None:
    vector = encoder.encode(["Who commanded the frigate Windhover?"])[0]
    boasting = EvidenceUnit("a" * 32, "The sea is wide.", "rivers", 1.0)
    modest = EvidenceUnit("b" * 32, "Jonas Keel commanded the frigate Windhover.", "rivers", -1.0, "Jonas Keel")
    far, near = rescored([boasting, modest], vector, encoder)
    assert (far.text, near.text) == (boasting.text, modest.text)
    assert far.score < 0.5 < near.score
    assert rescored([], vector, encoder) == []


def test_claims_choose_what_is_measured_until_one_proves_false(encoder: Encoder) -> None:
    [vector] = encoder.encode(["Who commanded the frigate Windhover?"])
    texts = ("Jonas Keel commanded the frigate Windhover.", "The Windhover is a frigate.", "The sea is wide.")
    honest = rescored([EvidenceUnit(text[-9:], text, "rivers", 0.0) for text in texts], vector, encoder)
    seen: list[str] = []

    class Watched:
        id, dimension = encoder.id, encoder.dimension

        def encode(self, told: Sequence[str]) -> NDArray[np.float32]:
            seen.extend(told)
            return encoder.encode(told)

    assert verified(honest[::-1], vector, Watched(), 2) == honest[:2]
    assert seen == [one.text for one in honest[:2]]
    boasting = [*honest[:2], replace(honest[2], score=1.0)]
    assert verified(boasting, vector, Watched(), 2) == honest[:2]
    assert verified([], vector, encoder, 2) == []


def test_masked_evidence_comes_with_the_nearness_of_its_masked_form(
    tmp_path_factory: pytest.TempPathFactory, encoder: Encoder
) -> None:
    [vector] = encoder.encode(["Mount Cairl. The climber Enno Tveit reached its summit in 1868."])
    with shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("masked")).device("rivers") as device:
        device.build(memories=False)
        own = device.shelf.nearest_sentences(vector, 1)[0]
        [shown] = device.giving.evidence([EvidenceRequest("q", vector, (), 1)], "nearest").evidence[0].units
    assert "Enno Tveit" in own.text
    assert "[PERSON]" in shown.text
    assert own.score > 0.99 > shown.score
    assert shown.score == pytest.approx(rescored([shown], vector, encoder)[0].score)
