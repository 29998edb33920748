"""How a question gets its answer on one device: from memory where it knows, else from passages; help only adds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.answering.engine import Engine, Look, Looks
from fedrag_flwr.answering.explain import MASKED, why_declined
from fedrag_flwr.answering.judge import READ_FEATURES, Judge, shipped_judge
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.answering.prompts import closed_book_prompt, reading_prompt
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.shared_memory import take_shared_memory
from fedrag_flwr.errors import WireError
from fedrag_flwr.models.base import Completion, Encoder, Generator, Prompt
from fedrag_flwr.privacy.vectors import rescored, verified
from fedrag_flwr.records import (
    Answer,
    Delta,
    EvidenceRequest,
    EvidenceUnit,
    MemoryItem,
    OpenQuestion,
    Question,
    ShareRequest,
    Vector,
)
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.options import with_options
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.segment import passage_of
from tests.answering.one_word import Counting, OneWord
from tests.scripted import Scripted
from tests.strategies.federation import Federation, shared_federation

COMMANDED = "Which ship did Jonas Keel command?"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeDevice]:
    files: Federation = shared_federation(tmp_path_factory)
    with files.copy_to(tmp_path_factory.mktemp("engine")).device("people") as device:
        device.build()
        yield device


@pytest.fixture(scope="module")
def engine(people: EdgeDevice) -> Engine:
    """Without memories, and with every answer counted, however unlikely."""
    over = people.engines.over("none")
    return replace(over, limits=replace(over.limits, abstain_below=0.0, ask_below=1.0), looks=Looks())


def asked(text: str) -> Question:
    return Question("q1", text, "people")


def saying(engine: Engine, word: str) -> Engine:
    """The engine with the real model alone, which can only say one thing."""
    model = cast("Generator", OneWord(engine.reader.generator(), word))
    return replace(engine, reader=replace(engine.reader, generator=lambda: model, spans=None))


def always(confidence: float) -> Judge:
    """A judge that finds every answer as likely."""
    bias = float(np.log(confidence / (1.0 - confidence)))
    alike = Logistic(features=READ_FEATURES, weights=(0.0,) * len(READ_FEATURES), bias=bias)
    return replace(shipped_judge(), reading=alike)


def test_who_asks_about_a_person_whom_no_passage_names_gets_no_other_s_ship(engine: Engine) -> None:
    answer = saying(engine, "Ferry").at_home(asked("Which ship did Martha Quimby command?"))
    assert (answer.text, answer.path, answer.cost.llm_calls) == ("", "abstained", 0)
    assert why_declined(answer.decisions) == "No passage tells of the person who is asked about."


REMEMBERED = [
    ("Where was Odile Varro born?", "Lindmoor", "odile-varro"),
    ("Who commanded the frigate Windhover?", "Jonas Keel", "jonas-keel"),
    ("In which year did Odile Varro receive the Iron Medal?", "1926", "odile-varro"),
]


@pytest.mark.parametrize(("question", "answer", "document"), REMEMBERED)
def test_memory_answers_without_the_model(question: str, answer: str, document: str, people: EdgeDevice) -> None:
    given = people.ask(asked(question), "memory")
    assert isinstance(given, Answer)
    assert (given.path, given.text, given.cost.llm_calls) == ("memorizer", answer, 0)
    assert 0.0 <= given.score <= 1.0
    assert given.recalled in {item.question for item in people.store.items() if item.answer == answer}
    assert {line.document for line in people.trace(given)} >= {document}


def test_memory_can_be_left_out_and_so_can_reading(people: EdgeDevice) -> None:
    known, unknown = asked("Where was Odile Varro born?"), asked("What did the Duke of Pell eat at his wedding?")
    read = people.engine.at_home(known, memory=False)
    assert read.path != "memorizer"
    assert (read.cost.llm_calls >= 1, read.recalled) == (True, "")
    nothing = people.engine.at_home(unknown, reading=False)
    assert (nothing.path, nothing.text, nothing.cost.llm_calls, nothing.evidence) == ("abstained", "", 0, ())
    assert "memory does not know" in nothing.explanation


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


def test_the_floor_reads_whole_passages_in_the_models_own_template(people: EdgeDevice) -> None:
    model = Counting(people.models.generator())
    reader = replace(people.engine.reader, generator=lambda: cast("Generator", model))
    for order in (people.engine.order, None):
        answer = replace(people.engine, reader=reader, order=order).plain(asked(COMMANDED))
        passages = {one.id: one for one in people.store.passages([unit.id for unit in answer.evidence])}
        assert len(answer.evidence) == people.settings.inference.passages
        assert [(unit.text, unit.title) for unit in answer.evidence] == [
            (passages[unit.id].text, passages[unit.id].title) for unit in answer.evidence
        ]
        assert model.prompts[-1] == reading_prompt(COMMANDED, answer.evidence)
        assert answer.cost.llm_calls == 1
        assert [f"{unit.origin}/{unit.id}" for unit in answer.evidence] == list(answer.sources)
        assert answer.path == ("cognizer" if answer.text else "abstained")


def test_the_model_alone_sees_no_passage(people: EdgeDevice) -> None:
    model = Counting(people.models.generator())
    reader = replace(people.engine.reader, generator=lambda: cast("Generator", model))
    engine = replace(people.engine, reader=reader)
    answer = engine.closed_book(asked(COMMANDED))
    assert model.prompts == [closed_book_prompt(COMMANDED)]
    assert (answer.evidence, answer.sources, answer.cost.llm_calls) == ((), (), 1)


def test_passages_are_read_where_memory_does_not_know(engine: Engine) -> None:
    answer = saying(engine, "Windhover").at_home(asked(COMMANDED))
    assert (answer.text, answer.path, answer.cost.llm_calls) == ("Windhover", "cognizer", 1)
    assert "Windhover" in answer.evidence[0].text, "what bears the answer comes first"
    assert {unit.origin for unit in answer.evidence} == {"people"}
    assert [f"{unit.origin}/{unit.id}" for unit in answer.evidence] == list(answer.sources)
    read = sum(len(f"{unit.title} {unit.text}".split()) for unit in answer.evidence)
    assert read > 0
    assert 0.0 < answer.score < 1.0


def test_where_the_model_finds_nothing_it_is_asked_once_and_declined(engine: Engine) -> None:
    answer = saying(engine, "unknown").at_home(asked(COMMANDED))
    assert (answer.text, answer.path, answer.score, answer.cost.llm_calls) == ("", "abstained", 0.0, 1)


@pytest.mark.parametrize(
    "question", ["How did Jonas Keel command?", "Why is the Windhover known?", "Who is Jonas Keel?"]
)
def test_open_questions_are_answered_by_a_quote_without_the_model(engine: Engine, question: str) -> None:
    heard: list[str] = []
    answer = saying(engine, "I made this up.").at_home(Question("q", question, "people"), heard=heard.append)
    assert (answer.path, answer.cost.llm_calls) == ("cognizer", 0)
    assert answer.text in answer.evidence[0].text
    assert heard == [answer.text]
    written = replace(engine, limits=replace(engine.limits, quotes=False))
    assert saying(written, "I made this up.").at_home(Question("q", question, "people")).cost.llm_calls == 1


def test_a_passage_s_title_and_heading_are_no_answer(engine: Engine) -> None:
    level = replace(engine, judge=always(0.65), limits=replace(engine.limits, abstain_below=0.2))
    level = replace(level, reader=replace(level.reader, max_tokens=40))
    answer = saying(level, "Windhover › Crew").at_home(asked(COMMANDED))
    assert (answer.text, answer.path, answer.score) == ("", "abstained", 0.0)


@pytest.mark.parametrize(("abstain_below", "text"), [(0.0, "Windhover"), (0.6, "Windhover"), (0.7, "")])
def test_an_answer_below_the_level_is_declined(abstain_below: float, text: str, engine: Engine) -> None:
    level = replace(engine, judge=always(0.65), limits=replace(engine.limits, abstain_below=abstain_below))
    answer = saying(level, "Windhover").at_home(asked(COMMANDED))
    assert answer.text == text
    assert answer.score == pytest.approx(0.65)


def test_a_device_without_passages_declines_without_a_call(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("empty"))
    with files.device("people") as device:
        for answer in (device.engine.at_home(asked(COMMANDED)), device.engine.plain(asked(COMMANDED))):
            assert (answer.text, answer.path, answer.cost.llm_calls) == ("", "abstained", 0)
        opened = device.engine.ask(asked(COMMANDED), lambda vector: ("rivers",))
        assert isinstance(opened, OpenQuestion)
        assert device.engine.finish(asked(COMMANDED), ()).text == ""


def test_of_answers_that_a_question_lists_one_is_given(engine: Engine) -> None:
    options = ("Windhover", "Amber Sea", "Grey Tower")
    answer = engine.at_home(asked(with_options(COMMANDED, options)))
    assert answer.text in options
    assert (answer.cost.llm_calls, answer.cost.tokens_out) == (1, 0)


@pytest.mark.parametrize(("ask_below", "outcome"), [(0.6, Answer), (0.7, OpenQuestion)])
def test_others_are_asked_where_home_is_not_sure(ask_below: float, outcome: type, engine: Engine) -> None:
    level = saying(replace(engine, judge=always(0.65), limits=replace(engine.limits, ask_below=ask_below)), "Windhover")
    found = level.ask(asked(COMMANDED), lambda vector: ("rivers", "lakes"))
    assert isinstance(found, outcome)
    assert level.sure(level.at_home(asked(COMMANDED))) == (outcome is Answer)
    if isinstance(found, OpenQuestion):
        assert [(want.owner, want.hyperedges) for want in found.wants] == [("rivers", ()), ("lakes", ())]
    alone = level.ask(asked(COMMANDED))  # where nobody can be asked home answers
    assert isinstance(alone, Answer)


def test_what_memory_knows_is_sure_whatever_is_asked_of_others(people: EdgeDevice) -> None:
    strict = replace(people.engine, limits=replace(people.engine.limits, ask_below=1.0))
    known = asked("Where was Odile Varro born?")
    answer = strict.ask(known, lambda vector: ("rivers",))
    assert isinstance(answer, Answer)
    assert answer.path == "memorizer"
    assert strict.sure(answer)


def test_a_declined_answer_is_never_sure(engine: Engine) -> None:
    certain = replace(engine, judge=always(0.99), limits=replace(engine.limits, ask_below=0.0))
    assert not certain.sure(saying(certain, "unknown").at_home(asked(COMMANDED)))


def test_finishing_uses_what_was_found_and_says_the_same_without(engine: Engine) -> None:
    question, given = asked(COMMANDED), [GIVEN]
    assert isinstance(engine.ask(question, lambda vector: ("rivers",)), OpenQuestion)
    kept = engine.looks.see(question)
    assert kept is not None
    assert kept.home is not None
    assert engine.sought(question)[0] is kept.asked.vector  # not encoded again
    with_it, without = engine.finish(question, given), engine.finish(question, given)
    assert engine.looks.see(question) is None
    assert replace(with_it, cost=without.cost) == without


def test_home_is_read_when_the_question_is_finished_where_it_was_not_before(engine: Engine) -> None:
    question = asked(COMMANDED)
    assert isinstance(engine.ask(question, lambda vector: ("rivers",), reading=False), OpenQuestion)
    kept = engine.looks.see(question)
    assert kept is not None
    assert kept.home is None
    home = engine.at_home(question)
    assert replace(engine.finish(question, ()), cost=home.cost) == home


def test_a_look_serves_its_question_alone_and_the_oldest_go_first(engine: Engine) -> None:
    question = asked(COMMANDED)
    engine.ask(question, lambda vector: ("rivers",), reading=False)
    look = engine.looks.take(question)
    assert isinstance(look, Look)
    looks = Looks(most=2)
    first, second, third = (replace(question, id=name) for name in ("q1", "q2", "q3"))
    for one in (first, second, first, third):
        looks.keep(one, look)
    assert [looks.see(one) is look for one in (first, second, third)] == [True, False, True]
    assert looks.take(replace(first, text="Which sea?")) is None
    assert looks.take(first) is look
    assert looks.take(first) is None


def test_memory_that_changed_is_looked_at_anew(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("looks"))
    with files.device("people") as device:
        device.build()
        before, question = device.engine, asked("Which sea did the engineer's sister cross in winter?")
        assert isinstance(before.ask(question, lambda vector: ("rivers",), reading=False), OpenQuestion)
        own = next(iter(device.store.items()))
        foreign = replace(own, id="f" * 32, origin="rivers", hyperedges=("e" * 32,))
        assert take_shared_memory(device.store, Delta("shared-1", 0, 1, (foreign,), ())).accepted == 1
        assert device.engine.looks is not before.looks
        assert device.engine.looks.see(question) is None


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
    with files.with_changes(inference__ask_below=1.0).device("people") as device:
        device.build()
        item = foreign("Which bay does the Ossel flow into?", "Bay of Herons", "LOC", encoder, pipeline)
        assert take_shared_memory(device.store, Delta("shared-1", 0, 1, (item,), ())).accepted == 1
        question = asked("How wide is the bay where the Ossel ends?")
        outcome = device.ask(question, "memory")
        assert isinstance(outcome, OpenQuestion)
        assert [(want.owner, want.hyperedges) for want in outcome.wants] == [("rivers", item.hyperedges)]
        assert outcome.vector.shape == (encoder.dimension,)

        known = device.ask(asked("Which bay does the Ossel flow into?"), "memory")
        assert isinstance(known, Answer)
        assert (known.path, known.text) == ("memorizer", "Bay of Herons")
        assert [line.origin for line in device.trace(known)] == ["rivers", "rivers"]

        alone = device.ask(asked("Which bay does the Ossel flow into?"), "own-memory")
        assert isinstance(alone, Answer)
        assert alone.path != "memorizer"
        assert {source.partition("/")[0] for source in alone.sources} <= {"people"}
        own = device.ask(asked("Where was Odile Varro born?"), "own-memory")
        assert isinstance(own, Answer)
        assert (own.path, own.text) == ("memorizer", "Lindmoor")


def test_the_vector_that_leaves_is_that_of_the_question_alone(engine: Engine, encoder: Encoder) -> None:
    """Nothing of home's documents goes into it: whoever guesses their names learns nothing by its nearness."""
    question, near = asked("Where was the designer of Tarn Bridge born?"), []

    def nobody(vector: Vector) -> tuple[str, ...]:
        near.append(vector)
        return ("rivers",)

    opened = engine.ask(question, nobody)
    assert isinstance(opened, OpenQuestion)
    [vector] = encoder.encode([question.text])
    for left in (opened.vector, engine.sought(question)[0], *near):
        assert left == pytest.approx(vector, abs=1e-6)


GIVEN = EvidenceUnit("a" * 32, "Jonas Keel had the frigate Halcyon under him in 1690.", "rivers", 0.8, "Halcyon")
MURAL = EvidenceUnit("c" * 32, "The mural in the hall was painted by [PERSON].", "rivers", 0.9, "Hall")


def test_no_name_from_home_is_put_where_others_masked_one(engine: Engine) -> None:
    given = saying(engine, "Odile Varro").finish(asked("Who painted the mural in the hall?"), [MURAL])
    assert MASKED in {decision.said for decision in given.decisions}
    assert given.path != "remote"


SAYS = (
    "Windhover",
    "Halcyon",
    "unknown",
    "It was the Windhover. Keel sailed it to Lindmoor in a very long winter.",
    "1690",
)


def fickle(seed: int) -> Scripted:
    """A model whose answer and its likelihood turn on every letter that it reads."""

    def drawn(prompt: Prompt) -> np.random.Generator:
        digest = hashlib.sha256(prompt.user.encode("utf-8", "replace")).digest()
        return np.random.default_rng([seed, *digest])

    def said(prompt: Prompt) -> Completion:
        draw = drawn(prompt)
        text = SAYS[int(draw.integers(len(SAYS)))]
        return Completion(text, 10, 5, 0.1, logprob=float(-6.0 * draw.random()))

    return Scripted(said, lambda prompt, count: -12.0 * drawn(prompt).random(count))


pieces = st.sampled_from(
    ["Jonas Keel", "Windhover", "commanded", "the", "unknown", "1690", "§", "Question: Who?", "\n"]
)
told = st.one_of(
    st.lists(pieces, min_size=1, max_size=20).map(" ".join),
    st.text(min_size=1, max_size=80),
    st.sampled_from(["Jonas Keel " * 2_000, "x" * 20_000, ("A ship. " * 3_000)]),
)
given_units = st.lists(
    st.builds(
        EvidenceUnit,
        st.text("0123456789abcdef", min_size=1, max_size=32),
        told,
        st.sampled_from(["rivers", "lakes", "evil"]),
        st.floats(-1.0, 1.0),
        st.sampled_from(["", "Jonas Keel", "Windhover", "Title " * 300]),
    ),
    min_size=1,
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(units=given_units, seed=st.integers(0, 2**16), reading=st.booleans())
def test_help_never_changes_homes_answer_for_a_less_likely_one(
    units: list[EvidenceUnit], seed: int, reading: bool, engine: Engine
) -> None:
    moody = replace(engine, reader=replace(engine.reader, generator=fickle(seed)), looks=Looks())
    question = asked(COMMANDED)
    home = moody.at_home(question)
    assert isinstance(moody.ask(question, lambda vector: ("rivers",), reading=reading), OpenQuestion)
    helped = moody.finish(question, units)
    assert helped.score >= home.score
    if helped.score == home.score:
        assert (helped.text, helped.path, helped.evidence) == (home.text, home.path, home.evidence)
    assert helped.path == ("abstained" if not helped.text else helped.path)
    assert (helped.path == "remote") <= any(unit.origin != "people" for unit in helped.evidence)
    assert helped.cost.llm_calls >= home.cost.llm_calls
    assert len({(unit.origin, unit.id) for unit in helped.evidence}) <= moody.limits.passages


def test_what_is_likelier_with_help_is_answered_with_it(engine: Engine) -> None:
    """A judge that counts how much of the question's names is told, and a question that home tells nothing of."""
    by_names = tuple(9.0 if name == "asked told" else 0.0 for name in READ_FEATURES)
    judge = replace(shipped_judge(), reading=Logistic(features=READ_FEATURES, weights=by_names, bias=-5.0))
    question = asked("Which frigate did Berta Quill have under her in 1690?")
    given_one = replace(GIVEN, text="Berta Quill had the frigate Halcyon under her in 1690.", title="Berta Quill")
    answer = saying(replace(engine, judge=judge), "Halcyon").finish(question, [given_one])
    assert (answer.text, answer.path) == ("Halcyon", "remote")
    assert answer.evidence[0].origin == "rivers"
    assert answer.sources[0] == f"rivers/{GIVEN.id}"
    assert answer.decisions[-1].step == "help"
    assert answer.decisions[-1].score > answer.decisions[-1].threshold


def test_what_others_gave_is_read_where_it_is_nearer_than_homes(engine: Engine) -> None:
    """The ranking is of home and others together: claims of nearness count for nothing."""
    question = asked("Which harbour did the pilot Enno Tamm leave in 1702?")
    near = EvidenceUnit("0f", "Enno Tamm, a pilot, left the harbour of Sandvik in 1702.", "rivers", -1.0, "Enno Tamm")
    far = [EvidenceUnit(f"1{n}", f"Bread of kind {n} is baked with rye and salt.", "lakes", 1.0) for n in range(6)]
    read = saying(engine, "Sandvik").finish(question, [*far, near]).evidence
    assert ("rivers", "0f") in {(unit.origin, unit.id) for unit in read}
    assert sum(unit.origin == "lakes" for unit in read) < engine.limits.passages - 1


def test_which_device_replies_first_changes_nothing(engine: Engine) -> None:
    texts = ("Enno Tamm left Sandvik in 1702.", "Enno Tamm was a pilot.", "Sandvik has a harbour.")
    gave = [
        EvidenceUnit(f"{n}f", text, origin, 0.1 * n) for n, (text, origin) in enumerate(zip(texts, "abc", strict=True))
    ]
    question = asked("Which harbour did the pilot Enno Tamm leave in 1702?")
    read = [saying(engine, "Sandvik").finish(question, order).evidence for order in (gave, gave[::-1])]
    assert read[0] == read[1]


def test_where_home_is_nearer_nothing_is_read_twice(engine: Engine) -> None:
    question = asked(COMMANDED)
    far = [EvidenceUnit("1", "Bread is baked with rye and salt.", "lakes", 1.0, "Bread")]
    calls = saying(replace(engine, limits=replace(engine.limits, passages=1)), "Windhover")
    answer = calls.finish(question, far)
    assert answer.cost.llm_calls == 1
    assert answer.decisions[-1].said == "home's own passages come first"


def test_where_the_model_cannot_read_what_others_gave_home_answers_alone(engine: Engine) -> None:
    question = asked("Which river did the sister of Jonas Keel cross with her dogs?")
    abroad = [EvidenceUnit(f"{n}", f"By {n}, Jonas Keel " + "\U0001f702" * 2_000, "rivers", 1.0) for n in range(8)]
    home, answer = engine.at_home(question), engine.finish(question, abroad)
    assert (answer.text, answer.path, answer.score, answer.evidence) == (
        home.text,
        home.path,
        home.score,
        home.evidence,
    )
    assert {unit.origin for unit in answer.evidence} == {"people"}


def test_evidence_for_others_is_that_of_named_hyperedges_in_order(people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    edges = [edge.id for edge in people.store.hyperedges()]
    for named in (edges[:1], edges, [*edges, "no-such-edge"]):
        units = people.evidence_store.units_of(named, vector)
        assert units
        assert len({unit.id for unit in units}) == len(units)
        assert {unit.origin for unit in units} == {"people"}
        assert [unit.score for unit in units] == sorted((unit.score for unit in units), reverse=True)
    assert people.evidence_store.units_of(edges, vector)[0].id.startswith("jonas-keel#")
    assert people.evidence_store.units_of([], vector) == []  # nobody fishes with a vector alone
    assert people.evidence_store.units_of(["no-such-edge"], vector) == []


@pytest.mark.parametrize("budget", [1, 2, 4])
def test_an_owner_gives_no_more_than_was_asked_for(budget: int, people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    shared = people.giving.memories(ShareRequest(0)).items
    edges = tuple(sorted({edge for item in shared for edge in item.hyperedges}))[:64]
    [given] = people.giving.evidence([EvidenceRequest("q", vector, edges, budget)]).evidence
    assert 0 < len(given.units) <= budget


def test_passages_are_given_whole_in_the_order_of_their_best_sentences(people: EdgeDevice, encoder: Encoder) -> None:
    vector = encoder.encode(["Where was the admiral Jonas Keel born?"])[0]
    sentences = people.evidence_store.nearest_sentences(vector, 20)
    given = people.evidence_store.around(sentences, 3)
    whole = {one.id: one for one in people.store.passages()}
    assert [one.text for one in given] == [whole[one.id].text for one in given]
    assert [one.id for one in given] == list(dict.fromkeys(passage_of(one.id) for one in sentences))[:3]
    assert [one.score for one in given] == sorted((one.score for one in given), reverse=True)


def test_the_owners_of_a_merged_memory_are_asked_with_what_each_named(
    tmp_path_factory: pytest.TempPathFactory, encoder: Encoder, pipeline: Pipeline
) -> None:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("merged"))
    with files.with_changes(inference__ask_below=1.0).device("people") as device:
        device.build()
        named = ("lakes/", "people/", f"rivers/{'e' * 32}/hills/towns")
        item = foreign("Which bay does the Ossel flow into?", "Bay of Herons", "LOC", encoder, pipeline)
        item = replace(item, id="1-fused", origin="fusion", hyperedges=named)
        assert take_shared_memory(device.store, Delta("shared-1", 0, 1, (item,), ())).accepted == 1
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
    [vector] = encoder.encode(["Mount Cairl. Its summit was reached by the climber Enno Tveit in 1868."])
    with shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("masked")).device("rivers") as device:
        device.build(memories=False)
        own = device.evidence_store.nearest_sentences(vector, 1)[0]
        [shown] = device.giving.evidence([EvidenceRequest("q", vector, (), 1)], "nearest").evidence[0].units
    assert "Enno Tveit" in own.text
    assert "[PERSON]" in shown.text
    assert own.score > 0.99 > shown.score
    assert shown.score >= rescored([shown], vector, encoder)[0].score - 1e-6  # or of a sentence that leaves as it is
