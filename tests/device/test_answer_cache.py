"""Answers that `fedrag` gives again: for the same words alone, and never beyond the life of what they rest on."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.shared_memory import take_shared_memory
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.overlay.answer_cache import AnswerCache
from fedrag_flwr.overlay.walk_records import Json, Kind, WalkNotes
from fedrag_flwr.records import Answer, AnswerMode, Delta, Evidence, EvidenceUnit, MemoryItem, Question, because
from fedrag_flwr.retrieval.evidence_sources import FEATURES
from fedrag_flwr.settings import Plain, Settings
from tests.retrieval.test_device_sources import zeros
from tests.strategies.federation import shared_federation

ASKED = Question("q1", "Into which bay does the Ossel flow?", "people")
GIVEN = Answer(
    "q1",
    "Bay of Herons",
    "cognizer",
    0.9,
    decisions=(because("model", "why"),),
    sources=(f"rivers/{'f' * 32}", "rivers/gone"),
)
VECTOR = np.full(384, 1 / np.sqrt(384), dtype=np.float32)


@pytest.fixture
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeDevice]:
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("cache"))
    with files.device("people") as device:
        item = MemoryItem(
            "f" * 32, ASKED.text, "Bay of Herons", "single", "LOC", ("e" * 32,), ("ossel",), VECTOR, "rivers"
        )
        take_shared_memory(device.store, Delta("shared-1", 0, 1, (item,), ()))
        device.answers.cache.keep(ASKED, GIVEN, VECTOR, ())
        yield device


def test_the_same_words_get_the_same_answer(device: EdgeDevice) -> None:
    again = device.answers.cache.find(replace(ASKED, id="q2", text="into which bay  does the ossel flow?"), VECTOR)
    assert again is not None
    assert (again.question_id, again.text, again.path) == ("q2", "Bay of Herons", "cache")


def test_other_words_are_another_question_however_near(device: EdgeDevice) -> None:
    assert device.answers.cache.find(replace(ASKED, text="Into which bay does the Marl flow?"), VECTOR) is None
    device.walks.cache.keep(ASKED, GIVEN, VECTOR, ())
    assert device.walks.cache.find(replace(ASKED, text="Where does the Ossel end?"), VECTOR) is not None


def test_fedrag_and_walks_do_not_give_each_others_answers(device: EdgeDevice) -> None:
    assert device.walks.cache.find(ASKED, VECTOR) is None
    walked = replace(ASKED, id="q6", text="Where does the Marl end?")
    device.walks.cache.keep(walked, replace(GIVEN, question_id="q6"), VECTOR, ())
    assert device.answers.cache.find(walked, VECTOR) is None
    assert device.walks.cache.find(walked, VECTOR) is not None


def test_an_answer_goes_with_the_memory_that_it_rests_on(device: EdgeDevice) -> None:
    take_shared_memory(device.store, Delta("shared-1", 0, 2, (), ()))  # its owner withdrew it
    assert device.store.origins(["f" * 32]) == {}
    assert device.answers.cache.find(ASKED, VECTOR) is None


def test_an_answer_goes_when_the_memorys_owner_has_other_documents(device: EdgeDevice) -> None:
    assert device.walks.notes.all("answer")
    device.walks.cache.hear({"rivers": "another state"})
    assert not device.walks.notes.all("answer")
    root = device.store.database.directory
    assert not any(b"Bay of Herons" in path.read_bytes() for path in root.glob("walks.sqlite*"))


def test_of_many_devices_the_last_states_are_known(device: EdgeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedrag_flwr.overlay.answer_cache.MOST_STATES", 2)
    for name in ("rivers", "museums", "bridges"):
        device.walks.cache.hear({name: "a state"})
    assert set(device.walks.notes.get("states") or ()) == {"museums", "bridges"}


def test_states_are_read_once_for_all_answers(device: EdgeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    units = [EvidenceUnit("u", "text", name, 0.9) for name in ("bridges", "harbours", "museums")]
    device.walks.cache.keep(ASKED, GIVEN, VECTOR, units)
    read: list[str] = []
    get = WalkNotes.get

    def noting(notes: WalkNotes, kind: Kind, name: str = "") -> Json | None:
        read.append(kind)
        return get(notes, kind, name)

    monkeypatch.setattr(WalkNotes, "get", noting)
    device.walks.cache.sweep()
    assert device.walks.cache.find(ASKED, VECTOR) is not None
    assert read == ["states", "states"]


def test_an_answer_goes_with_the_sentence_that_led_to_its_evidence(device: EdgeDevice) -> None:
    device.build(memories=False)
    cache, sentence = device.answers.cache, device.store.sentences()[0]
    led = replace(GIVEN, question_id="q3", sources=(f"people/{sentence.id}", *GIVEN.sources))
    asked = replace(ASKED, id="q3", text="Into which bay does that river flow?")
    cache.keep(asked, led, VECTOR, ())
    assert cache.find(asked, VECTOR) is not None
    device.store.apply(Change(removed=tuple(device.store.digests())))
    assert cache.find(asked, VECTOR) is None


def test_an_answer_over_windows_of_a_passage_goes_with_the_passage(device: EdgeDevice) -> None:
    """Also where what changed of it was not read: the same words may say something else beside others."""
    device.build(memories=False)
    cache, asked = device.answers.cache, replace(ASKED, id="q7", text="What did Odile Varro receive in 1926?")
    [passage] = [one for one in device.store.passages() if one.document_id == "odile-varro"]
    told = [one.text for one in passage.sentences]
    answer = replace(GIVEN, question_id="q7", sources=(f"people/{passage.id}",))
    for window, kept in (((0, 2), True), ((2,), True), ((2, 0), False)):
        unit = EvidenceUnit(passage.id, " ".join(told[place] for place in window), "people", 0.9, passage.title)
        cache.keep(asked, replace(answer, text=f"{window}"), VECTOR, [unit])
        found = cache.find(asked, VECTOR)
        assert (found is not None and found.text == f"{window}") == kept
    assert device.documents is not None
    document = device.documents / "odile-varro.md"
    document.write_text(document.read_text(encoding="utf-8").replace("Lindmoor", "Norrhall"), encoding="utf-8")
    device.build(memories=False)
    assert cache.find(asked, VECTOR) is None


def test_what_was_answered_with_help_is_given_again(device: EdgeDevice) -> None:
    device.build(memories=False)
    asked = replace(ASKED, id="q8", text="Which frigate did Jonas Keel command?")
    unit = EvidenceUnit("a" * 32, "Jonas Keel commanded the frigate Windhover.", "rivers", 0.9, "Jonas Keel")
    device.walks.cache.hear({"rivers": "a state"})
    answer = device.finish([asked], [Evidence("q8", (unit,))], "assisted").answers[0]
    again = device.answers.cache.find(asked, VECTOR)
    assert answer.text
    assert again is not None
    assert (again.text, again.path) == (answer.text, "cache")


@pytest.mark.parametrize("killed", [False, True])
def test_no_byte_of_a_removed_document_stays_in_answers(killed: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("removed")
    files = shared_federation(tmp_path_factory).copy_to(root)
    document = root / "data" / "people" / "zibbelfink.md"
    document.write_text("# The lamp\n\nThe keeper of the lamp is called Zibbelfink.\n", encoding="utf-8")

    def told() -> set[str]:
        kept = [path for path in (root / "home").rglob("*") if path.is_file()]
        return {path.name.removesuffix("-wal") for path in kept if b"zibbelfink" in path.read_bytes().lower()}

    with files.device("people") as device:
        device.build(memories=False)
        [sentence] = [one for one in device.store.sentences() if "Zibbelfink" in one.text]
        unit = EvidenceUnit(sentence.id, sentence.text, "people", 0.9)
        asked = Question("q5", "Who keeps the lamp?", "people")
        answer = replace(GIVEN, question_id="q5", text="Zibbelfink", sources=(f"people/{sentence.id}",))
        for own in (False, True):
            device.answers.cache.of(own).keep(asked, replace(answer, question_id=f"q{own}"), VECTOR, [unit])
        device.answers.cache.keep(asked, replace(GIVEN, sources=()), VECTOR, ())
        for run, step in (("1", 1), ("1", 2), ("2", 1)):
            device.messages.once(run, step, lambda: b"It is Zibbelfink.")
        assert {"walks.sqlite", "messages.sqlite"} <= told()
        document.unlink()
        if killed:  # between the change of the store and what follows from it
            device.store.apply(Change(removed=("zibbelfink",)))
        device.build(memories=False)
        assert told() == set()
        assert set(device.walks.notes.all("answer")) == {"q1"}
        assert device.messages.once("2", 1, lambda: b"made anew") == b"made anew"


def test_what_home_guessed_because_nobody_helped_is_not_given_again(device: EdgeDevice) -> None:
    device.build(memories=False)
    alone = replace(ASKED, id="q4", text="Which river flows into the Bay of Herons?")
    [vector] = device.models.encoder.encode([alone.text])
    device.answers.finish(alone, [], "assisted")
    assert device.answers.cache.find(alone, vector) is None
    device.walks.finish(alone, [])
    assert device.walks.cache.find(alone, vector) is None


def test_an_answer_over_anothers_memory_ends_with_its_hours(device: EdgeDevice) -> None:
    cache = device.answers.cache
    late = replace(cache, clock=lambda: cache.clock() + 3600 * cache.hours + 1)
    assert late.find(ASKED, VECTOR) is None


@pytest.mark.parametrize(
    ("setting", "value", "again"),
    [
        ("memory.delta", 0.99, False),
        ("strategy", "topic-walk", False),
        ("inference.passages", 1, False),
        ("retrieval.order", "similarity", False),
        ("fedrag.without", "reading", False),
        ("routing.devices", 3, False),
        ("exchange", "encrypted", False),
        ("seed", 99, False),
        ("baselines", "flooding", False),
        ("models.generator", "qwen2.5-coder-0.5b", False),
        ("models.threads", 2, True),
        ("mode", "serve", True),
        ("serving.polls", 3, True),
        ("data.limit", 3, True),
    ],
)
def test_an_answer_of_other_settings_is_not_given(device: EdgeDevice, setting: str, value: Plain, again: bool) -> None:
    settings = Settings.from_config({**device.settings.flat(), setting: value})
    root = device.store.database.directory
    with EdgeDevice(device.name, device.documents, root, settings, device.models) as other:
        assert (other.answers.cache.find(ASKED, VECTOR) is not None) == again


@pytest.mark.parametrize("mode", ["assisted", "walk"])
def test_only_an_answer_by_the_same_weights_is_given_again(device: EdgeDevice, mode: AnswerMode) -> None:
    settings = Settings.from_config({**device.settings.flat(), "retrieval.weights": "trained"})
    root = device.store.database.directory
    with EdgeDevice(device.name, device.documents, root, settings, device.models) as other:

        def cache() -> AnswerCache:
            return other.answers.cache if mode == "assisted" else other.walks.cache

        for bias in (0.0, 1.0):  # the first that are trained, and others
            cache().keep(ASKED, GIVEN, VECTOR, ())
            assert cache().find(ASKED, VECTOR) is not None
            replace(zeros(FEATURES), bias=bias).save(root / "controller.json")
            assert cache().find(ASKED, VECTOR) is None


def test_an_engine_reads_in_the_order_of_the_weights_that_another_process_took_in(device: EdgeDevice) -> None:
    settings = Settings.from_config({**device.settings.flat(), "retrieval.weights": "trained"})
    root = device.store.database.directory
    with EdgeDevice(device.name, device.documents, root, settings, device.models) as other:
        other.build(memories=False)
        replace(zeros(FEATURES), bias=0.0).save(root / "controller.json")
        order = other.engine.order
        assert order is not None
        [before] = order.rank("Which club did Ada Quill found?", 1)
        assert other.engine.order is order
        replace(zeros(FEATURES), bias=1.0).save(root / "controller.json")
        assert order.rank("Which club did Ada Quill found?", 1)[0].score == pytest.approx(before.score + 1.0)


def test_only_an_answer_by_the_same_rules_is_given_again(device: EdgeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedrag_flwr.overlay.answer_cache.RULES", 0)
    root = device.store.database.directory
    with EdgeDevice(device.name, device.documents, root, device.settings, device.models) as other:
        assert other.answers.cache.find(ASKED, VECTOR) is None


@pytest.mark.parametrize("mode", ["assisted", "walk"])
def test_answers_to_people_here_and_to_a_run_tell_nothing_of_each_other(device: EdgeDevice, mode: AnswerMode) -> None:
    cache = device.answers.cache if mode == "assisted" else device.walks.cache
    cache.keep(ASKED, GIVEN, VECTOR, ())
    assert cache.of(own=False).find(ASKED, VECTOR) is not None
    assert cache.of(own=True).find(ASKED, VECTOR) is None
    cache.of(own=True).keep(replace(ASKED, id="p", text="Who asks?"), replace(GIVEN, question_id="p"), -VECTOR, ())
    assert cache.of(own=True).find(replace(ASKED, id="x", text="Who asks?"), -VECTOR) is not None
    assert cache.of(own=False).find(replace(ASKED, id="x", text="Who asks?"), -VECTOR) is None


@pytest.mark.parametrize("mode", ["assisted", "walk"])
def test_a_run_cannot_fish_for_what_waits(tmp_path_factory: pytest.TempPathFactory, mode: AnswerMode) -> None:
    """The answer that home makes to a waiting question is not given to the run that asks for anything like it."""
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("fishing"))
    changes: dict[str, Plain] = {"serving__outbox": True, "overlay__cache_similarity": 0.0}
    text = "The Ossel is a river that flows into the Bay of Herons."
    asked = "Into which bay does the Ossel flow?"
    given = [Evidence("w", (EvidenceUnit("x", text, "rivers", 0.9, "Ossel"),))]
    with files.with_changes(**changes).device("people") as device:
        device.build()
        device.waiting.outbox.put(Question("w", asked, "people"))
        device.finish([Question("w", "", "people")], given, "assisted")
        assert device.answers.cache.of(own=True).find(Question("again", asked, "people"), VECTOR) is not None
        for guess in ("zebra", asked):
            batch = device.answer([Question("s", guess, "people")], mode)
            assert len(batch.answers) + len(batch.open) == 1
            assert all(one.path != "cache" and "Heron" not in one.text for one in batch.answers)
