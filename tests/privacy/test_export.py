"""The export filter: nothing own leaves as it is, replacements are consistent, and everything is counted."""

import random
import socket
import string
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import PrivacyError, SettingError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.ledger import BUDGET, BudgetLedger
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.vocabulary import EntityPartition
from fedrag_flwr.records import Answer, Citation, EvidenceUnit, MemoryItem, because
from fedrag_flwr.text.pipeline import Pipeline
from tests.privacy.conftest import PUBLIC, ExportMaker, ItemMaker, Opaque
from tests.privacy.network import watched

ExportFilterMaker = Callable[..., ExportFilter]
ZERO_WIDTH = "\u200b"
CANARIES = {
    "Maria Lopez": "Did Maria Lopez visit the clinic in March for the blood test?",
    "tomasz wolny": "my name is tomasz wolny, which ward treats the broken wrist?",
    "JENNIFER HASKINS": "JENNIFER HASKINS WAS ADMITTED TO THE CARDIAC WARD ON MONDAY, WHY?",
    "maria.lopez@example.org": "Which clinic answers letters sent to maria.lopez@example.org about results?",
    "625-124-2141": "Which clinic is reached by phone under 625-124-2141 at night?",
    "83920-11": "Which ward treated the fracture noted under MRN 83920-11?",
    "596-88-1225": "Which insurer covers the patient whose SSN is 596-88-1225?",
    "4929834911424945": "Which bank blocked the lost card 4929834911424945 yesterday?",
    "GB82WEST12345698765432": "Which bank holds the account GB82WEST12345698765432 today?",
    "192.168.10.45": "Which ward uses the monitor at address 192.168.10.45 now?",
}


@pytest.fixture(scope="session")
def export(export_of: ExportMaker) -> ExportFilter:
    return export_of("type-masking")


def _bytes(*things: object) -> bytes:
    return repr(things).encode()


@pytest.fixture
def ldp(export_of: ExportMaker, partition: EntityPartition, tmp_path: Path) -> ExportFilterMaker:
    """Makes export filters of one device with surrogates of the public partition; they share memo and ledger."""

    def make(epoch: int = 0, epsilon: float = 1.0, source: random.Random | None = None) -> ExportFilter:
        return export_of(
            "ldp",
            epsilon=epsilon,
            source=source,
            partition=partition,
            folder=tmp_path,
            epoch=epoch,
        )

    return make


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("canary", list(CANARIES))
def test_no_canary_passes(export: ExportFilter, item: ItemMaker, canary: str, hidden: bool) -> None:
    half = len(canary) // 2
    written = canary[:half] + ZERO_WIDTH + canary[half:] if hidden else canary
    question = CANARIES[canary].replace(canary, written)
    anchors = (written, written.casefold(), "ward")
    unit = EvidenceUnit("unit-00000001", f"{question} Ask {written}.", "device-a", 0.5, f"On {written}")
    items = [item(question, "Ward 7", anchors=anchors), item(f"Where is the ward of {CANARIES[canary]}", written)]
    answer = Answer(
        "q",
        f"It was {written}: {question}",
        "cognizer",
        0.5,
        ("device-a/unit-00000001",),
        decisions=(because("model", question),),
    )
    released = export.release_items(items)
    shown = _bytes(released, export.release_evidence([unit]), export.release_answer(answer))
    for secret in {canary, canary.lower(), canary.upper(), *canary.split(), *canary.lower().split()}:
        assert secret.encode() not in shown.replace(b"\\u200b", b"")


def test_an_item_is_rewritten_alike(export: ExportFilter, item: ItemMaker, encoder: Encoder, opaque: Opaque) -> None:
    question = "In which clinic did Maria Lopez have the operation that MARIA LOPEZ described?"
    own = item(question, "the northern one", anchors=("clinic", "maria lopez", "operation"))
    [shown] = export.release_items([own]).items
    assert shown.question == "In which clinic did [PERSON] have the operation that [PERSON] described?"
    assert shown.anchors == ("clinic", "operation")
    assert shown.support == ()
    assert shown.hyperedges == (opaque("hyperedge-000017"),)
    assert shown.id != own.id
    assert np.allclose(shown.embedding, encoder.encode([shown.question])[0], atol=1e-3)
    assert not np.allclose(shown.embedding, own.embedding, atol=1e-2)


def test_an_unchanged_item_keeps_its_text_embedding_and_released_id(
    export_of: ExportMaker, export: ExportFilter, item: ItemMaker, opaque: Opaque
) -> None:
    own = item("What is the mass of Jupiter?", "1.9e27 kilograms", anchors=("jupiter", "mass"))
    [first] = export.release_items([own]).items
    others = [item("How far away is the Sun?", "149597870 km"), replace(own, support=("other#1.1",))]
    again = export_of("type-masking").release_items(others).items[1]
    assert (first.question, first.answer) == (own.question, own.answer)
    assert np.array_equal(first.embedding, own.embedding.astype(np.float16).astype(np.float32))
    assert again.id == first.id == opaque(own.id)  # by which the item can be withdrawn when its own id goes
    assert export.release_items([replace(own, id="item-77")]).items[0].id != first.id


def test_reasons_for_withholding(export: ExportFilter, item: ItemMaker) -> None:
    good = item("What is the mass of Jupiter?", "1.9e27 kilograms")
    items = [
        good,
        replace(good, id="twin"),
        replace(good, origin="device-b"),
        item("Who led the cardiac ward in Lisbon?", "Maria Lopez", answer_type="PERSON"),
        item("Who is Maria Lopez?", "a nurse"),
        item("What is it?", "word " * 500),
        replace(good, kind="a kind that tells of Maria"),
    ]
    released = export.release_items(items)
    assert len(released.items) == 2
    assert released.withheld == {"foreign": 1, "answer-masked": 1, "question-empty": 1, "too-long": 1, "malformed": 1}


def test_an_answer_known_as_a_person_is_masked_where_no_rule_sees_one(export: ExportFilter, item: ItemMaker) -> None:
    released = export.release_items([item("Which engineer signed the record?", "Quz", answer_type="PERSON")])
    assert released.withheld == {"answer-masked": 1}


def test_mode_none_rewrites_no_text_but_hides_ids(export_of: ExportMaker, item: ItemMaker) -> None:
    own = item("Who is Maria Lopez?", "a nurse")
    [shown] = export_of("none").release_items([own]).items
    assert (shown.question, shown.answer) == (own.question, own.answer)
    assert "hyperedge-000017" not in repr(shown)
    assert shown.support == ()


@pytest.mark.parametrize("mode", ["none", "type-masking"])
def test_a_score_does_not_tell_what_was_taken_out(export_of: ExportMaker, mode: str, encoder: Encoder) -> None:
    """Who asks about one name after the other, or by vectors of its own, learns of what leaves alone."""
    export = export_of(mode)
    unit = EvidenceUnit("passage-9#2.1", "Maria Lopez has asthma.", "device-a", 0.91)
    asked = encoder.encode(["Has Maria Lopez asthma?"])[0]
    [untold], [told] = export.release_evidence([unit]).items, export.release_evidence([unit], vector=asked).items
    if mode == "none":
        assert untold == told
        assert told.score == pytest.approx(0.91, abs=1e-3)
    else:
        assert untold.score == 0.0
        assert told.score == pytest.approx(float(encoder.encode(["[PERSON] has asthma."])[0] @ asked), abs=1e-3)


@pytest.mark.parametrize("mode", ["none", "type-masking", "ldp"])
def test_no_measure_of_an_answer_tells_which_of_some_guessed_names_stands_in_the_documents(
    export_of: ExportMaker, mode: str, ldp: ExportFilterMaker
) -> None:
    export = ldp() if mode == "ldp" else export_of(mode)
    why = (because("memory", "memory 0.83 >= 0.56, 12 items", 0.83, 0.56),)
    [shown] = (export.release_answer(Answer("q", "no", "memorizer", 0.8312, decisions=why)),)
    [told] = shown.decisions
    if mode == "none":
        assert (shown.score, told.said, told.score) == (0.8312, why[0].said, 0.83)
    else:
        assert (shown.score, told.said, told.score, told.threshold) == (0.0, "memory … >= …, … items", 0.0, 0.0)


@pytest.mark.parametrize("mode", ["none", "type-masking", "ldp"])
def test_what_an_answer_rests_on_stays(export_of: ExportMaker, mode: str, ldp: ExportFilterMaker) -> None:
    """Neither the passages that were read, nor the sentences that are cited, nor the memory's question."""
    export = ldp() if mode == "ldp" else export_of(mode)
    unit = EvidenceUnit("u", "Wilma Zibbel has asthma.", "device-a", 0.5)
    answer = Answer(
        *("q", "no", "cognizer", 0.5),
        evidence=(unit,),
        report="Wilma Zibbel has asthma.",
        citations=(Citation("Wilma Zibbel has asthma.", "device-a/u"),),
        recalled="Does Wilma Zibbel have asthma?",
    )
    assert "Zibbel" not in repr(export.release_answer(answer))


RARE = ("Haldorsen", "Venkataraman", "Abernathy", "Wojcik", "Abara", "Mirembe", "Okafor", "Nakamura")


@pytest.mark.parametrize("name", RARE)
def test_a_name_alone_is_masked_as_in_the_sentence_that_it_was_taken_from(export_of: ExportMaker, name: str) -> None:
    """Nothing has left before by which the export filter could know the name."""
    sentence = f"The complaint was written by {name}, who had waited nine hours."
    answer = Answer("q", name, "cognizer", 0.5, decisions=(because("model", f"the likeliest is {name}"),))
    alone, asked, read = (export_of("type-masking") for _ in range(3))
    assert asked.release_answer(answer, "Who wrote the complaint?").text == "[PERSON]"
    [unit] = alone.release_evidence([EvidenceUnit("u", sentence, "device-a", 0.5)]).items
    shown = read.release_answer(answer, beside=(sentence,))
    assert name not in unit.text
    assert name not in shown.text
    assert name not in shown.decisions[0].said
    assert sentence not in _bytes(shown).decode()


def test_a_word_that_looks_like_a_name_stays_where_its_sentence_shows_none(export_of: ExportMaker) -> None:
    answer = Answer("q", "Xenon", "cognizer", 0.5)
    question, sentence = "What did the engines use as propellant?", "The ion engines of Dawn used xenon as propellant."
    alone, read = (export_of("type-masking") for _ in range(2))
    assert alone.release_answer(answer, question).text == "[PERSON]"
    assert read.release_answer(answer, question, ("Dawn", sentence)).text == "Xenon"


def test_presidio_alone_reads_the_sentence_of_an_answer_too(export_of: ExportMaker) -> None:
    alone, read = (export_of("none", operators="presidio") for _ in range(2))
    answer = Answer("q", "brandow", "cognizer", 0.5)
    assert alone.release_answer(answer).text == "brandow"
    assert read.release_answer(answer, beside=("The letter was signed by Sefa Brandow.",)).text == "[PERSON]"


def test_names_beside_an_answer_spend_nothing_where_they_do_not_leave(
    ldp: ExportFilterMaker, partition: EntityPartition, tmp_path: Path
) -> None:
    people = next(group.members for group in partition.groups if group.type == "PERSON")
    sentence = f"{people[0]} met {people[1]} in 1971."
    shown = ldp().release_answer(Answer("q", people[0], "cognizer", 0.5), "Who met in 1971?", (sentence,))
    assert shown.text in people
    with closing(BudgetLedger(tmp_path / BUDGET, 1.0)) as ledger:
        assert ledger.account().entities == 1


@pytest.mark.parametrize("probe", ["Maria Lopez", "Erika Smith"])
def test_the_order_of_masked_evidence_does_not_tell_of_whom_it_is(
    probe: str, export: ExportFilter, encoder: Encoder, opaque: Opaque
) -> None:
    texts = {"passage-9#2.1": "Maria Lopez has asthma.", "passage-9#2.2": "Erika Smith has hepatitis."}
    asked = encoder.encode([probe])[0]
    near = {name: float(row @ asked) for name, row in zip(texts, encoder.encode(list(texts.values())), strict=True)}
    units = [EvidenceUnit(name, texts[name], "device-a", near[name]) for name in sorted(near, key=lambda n: -near[n])]
    ids = [one.id for one in export.release_evidence(units).items]
    assert ids == sorted(map(opaque, texts))
    [first] = export.release_evidence(units, vector=asked, most=1).items
    masked = {name: f"[PERSON] has {illness}." for name, illness in zip(texts, ("asthma", "hepatitis"), strict=True)}
    told = {name: float(row @ asked) for name, row in zip(texts, encoder.encode(list(masked.values())), strict=True)}
    assert first.id == opaque(max(told, key=lambda name: told[name]))
    assert export.release_evidence(units, vector=asked, least=first.score - 0.01).items
    assert not export.release_evidence(units, vector=asked, least=first.score + 0.01).items


def test_evidence_and_answers(export: ExportFilter, opaque: Opaque) -> None:
    units = [
        EvidenceUnit("passage-9#2.1", "Maria Lopez flew on 3 May.", "device-a", 0.123456, "Lopez"),
        EvidenceUnit("passage-9#2.2", "Nothing here.", "device-b", 0.1),
        EvidenceUnit("passage-9#2.3", "Maria Lopez", "device-a", 0.1),
    ]
    released = export.release_evidence(units)
    assert released.withheld == {"foreign": 1, "text-empty": 1}
    [unit] = released.items
    assert (unit.id, unit.text, unit.title) == (opaque("passage-9#2.1"), "[PERSON] flew on 3 May.", "[PERSON]")
    answer = Answer(
        "q1",
        "Maria Lopez flew.",
        "cognizer",
        0.7,
        ("device-a/passage-9#2.1", "device-b/0123abcd", "no reference"),
        evidence=(units[0],),
        decisions=(because("memory", "Maria Lopez is remembered", 0.4, 0.5), because("evidence", "by Lopez")),
    )
    shown = export.release_answer(answer)
    assert shown.text == "[PERSON] flew."
    remembered, named = shown.decisions
    assert (remembered.said, remembered.score, remembered.threshold) == ("[PERSON] is remembered", 0.0, 0.0)
    assert (named.step, named.said) == ("evidence", "by [PERSON]")
    assert shown.sources == (f"device-a/{opaque('passage-9#2.1')}", "device-b/0123abcd")
    assert shown.evidence == ()


def test_vectors_are_rounded_and_checked(export: ExportFilter, encoder: Encoder) -> None:
    vector = encoder.encode(["the mass of Jupiter"])[0]
    shown = export.release_vector(vector)
    assert shown.dtype == np.float32
    assert np.array_equal(shown, vector.astype(np.float16).astype(np.float32))
    for broken in (vector[:10], np.full_like(vector, np.nan), np.stack([vector, vector])):
        with pytest.raises(PrivacyError, match="vector"):
            export.release_vector(broken)


def test_local_differential_privacy_is_consistent(encoder: Encoder, item: ItemMaker, ldp: ExportFilterMaker) -> None:
    question = "In which city did Marie Curie work, and did Curie die there?"
    own = item(question, "Marie Curie worked in Paris, mail m.curie@example.org", anchors=("marie curie", "paris"))
    kept = item(question, "Paris", answer_type="GPE", anchors=("marie curie", "paris", "city"))
    masked = ldp().release_items([own])
    assert masked.withheld == {"answer-masked": 1}  # the e-mail address
    [shown] = ldp().release_items([kept]).items
    [again] = ldp().release_items([kept]).items
    assert (again.id, again.question, again.answer) == (shown.id, shown.question, shown.answer)
    person = next(name for name in PUBLIC["PERSON"].split(", ") if name in shown.question)
    assert shown.question == f"In which city did {person} work, and did {person.split()[-1]} die there?"
    assert shown.answer in PUBLIC["GPE"].split(", ")
    assert set(shown.anchors) >= {"city", person.lower()}
    assert np.allclose(shown.embedding, encoder.encode([shown.question])[0], atol=1e-3)


def test_the_family_name_of_a_drawn_one_is_masked_elsewhere(item: ItemMaker, ldp: ExportFilterMaker) -> None:
    export = ldp()
    export.release_items([item("In which city did Marie Curie work?", "Paris", answer_type="GPE")])
    [shown] = export.release_items([item("Which illness of Curie was treated with iron?", "anaemia")]).items
    assert shown.question == "Which illness of [PERSON] was treated with iron?"


def test_a_vector_tells_no_kept_from_a_drawn_name(encoder: Encoder, item: ItemMaker, ldp: ExportFilterMaker) -> None:
    stored = encoder.encode(["a vector that is near no question of these"])[0]
    own = [
        item(f"In which year was {name} born?", f"{1800 + number}", id=f"item-{number}", embedding=stored)
        for number, name in enumerate(PUBLIC["PERSON"].split(", "))
    ]
    source = random.Random(3)
    released = ldp(source=source).release_items(own).items
    assert len(released) == len(own)
    asked = {one.answer: one.question for one in own}
    kept = [shown for shown in released if shown.question == asked[shown.answer]]
    assert 0 < len(kept) < len(own)
    for shown in released:
        assert np.allclose(shown.embedding, encoder.encode([shown.question])[0], atol=1e-3)


def test_no_own_spelling_leaves_with_a_kept_name(item: ItemMaker, ldp: ExportFilterMaker) -> None:
    own = item("In which year did MARIE  CURIE\u200b's laboratory open?", "1914", anchors=("marie curie", "laboratory"))
    export = ldp(epsilon=50.0)  # the name stays but for one in 1e21 draws
    [shown] = export.release_items([own]).items
    assert shown.question == "In which year did Marie Curie's laboratory open?"
    assert set(shown.anchors) == {"marie curie", "laboratory"}


def test_a_spent_budget_withholds_the_item(item: ItemMaker, ldp: ExportFilterMaker) -> None:
    own = item("In which year was Marie Curie born?", "1867")
    assert len(ldp().release_items([own]).items) == 1
    refused = ldp(epoch=1).release_items([own])
    assert refused.withheld == {"budget-spent": 1}


class _Failing:
    name = "failing"

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        raise ValueError(bundles[0].prose[0])


class _Losing(_Failing):
    name = "losing"

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        return list(bundles[1:])


class _Lengthening(_Failing):
    name = "lengthening"

    def __init__(self) -> None:
        self.read: list[Bundle] = []

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        self.read += bundles
        return [replace(one, prose=(one.prose[0], one.prose[1] + "!")) for one in bundles]


def test_evidence_that_is_too_long_is_kept_back_before_any_operator_reads_it(
    pipeline: Pipeline, encoder: Encoder, opaque: Opaque
) -> None:
    operator, most = _Lengthening(), 20_000
    cases = [("Ward", "a" * most), ("Ward", "b" * (most + 1)), ("c" * 5000, "short"), ("Ward", "d" * (most - 1))]
    units = [EvidenceUnit(f"unit-{n:08}", text, "device-a", 0.5, title) for n, (title, text) in enumerate(cases)]
    released = ExportFilter([operator], encoder, pipeline, opaque, "device-a").release_evidence(units)
    assert [one.prose[1][0] for one in operator.read] == ["a", "d"]
    assert [one.id for one in released.items] == [opaque("unit-00000003")]
    assert released.withheld == {"too-long": 3}  # one of them after an operator made it longer


@pytest.mark.parametrize("operator", [_Failing(), _Losing()])
def test_a_failing_operator_stops_the_release_and_tells_no_text(
    pipeline: Pipeline, encoder: Encoder, opaque: Opaque, item: ItemMaker, operator: _Failing
) -> None:
    export = ExportFilter([operator], encoder, pipeline, opaque, "device-a")
    with pytest.raises(PrivacyError) as caught:
        export.release_items([item("Who is Maria Lopez?", "a nurse")])
    assert "Maria" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("wrong", [np.array([1.0, np.nan]), np.ones((2, 2)), np.ones(3, dtype=np.float32)])
def test_a_sum_is_of_finite_numbers(pipeline: Pipeline, encoder: Encoder, wrong: np.ndarray[Any, Any]) -> None:
    export = ExportFilter([], encoder, pipeline, lambda own: f"x-{own}", "device-a")
    assert export.release_sum(np.ones(3)).tolist() == [1, 1, 1]
    export.outgoing.write("run", "train.topics", 0)
    assert {row.kind: row.count for row in export.outgoing.by_kind()}["sums"] == 1
    with pytest.raises(PrivacyError, match="not a row of finite numbers"):
        export.release_sum(wrong)


def test_an_id_that_hides_nothing_is_refused(pipeline: Pipeline, encoder: Encoder, item: ItemMaker) -> None:
    export = ExportFilter([], encoder, pipeline, lambda own: f"x-{own}", "device-a")
    with pytest.raises(PrivacyError, match="own id"):
        export.release_items([item("What is it?", "a nurse")])


@pytest.mark.parametrize(
    ("mode", "other"), [("ldp", {}), ("type-masking", {"operators": "shoe"}), ("none", {"operators": "summary"})]
)
def test_settings_are_checked(export_of: ExportMaker, mode: str, other: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        export_of(mode, **other)


def test_larger_groups_need_others(export_of: ExportMaker, partition: EntityPartition, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="26"):
        export_of(
            "ldp",
            partition=partition,
            folder=tmp_path,
            group_size=26,
        )


_IDS = st.text(string.ascii_letters + string.digits + "#./-é", min_size=6, max_size=24)


@given(hyperedges=st.lists(_IDS, max_size=4), support=st.lists(_IDS, max_size=4), text=st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_no_own_id(export: ExportFilter, item: ItemMaker, hyperedges: list[str], support: list[str], text: str) -> None:
    own = item(
        "How long is a day on Mars?",
        "24.6 hours",
        hyperedges=tuple(hyperedges),
        support=tuple(support),
        anchors=(text,),
    )
    released = export.release_items([own])
    for shown in released.items:
        assert shown.support == ()
        assert not {*hyperedges, *support, own.id} & {shown.id, *shown.hyperedges}


def test_no_socket_is_opened(export_of: ExportMaker, item: ItemMaker, ldp: ExportFilterMaker) -> None:
    with watched() as events:
        items: list[MemoryItem] = [item(question, "Ward 7") for question in CANARIES.values()]
        units = [EvidenceUnit("unit-00000001", question, "device-a", 0.5) for question in CANARIES.values()]
        for export in (export_of("type-masking"), ldp()):
            export.release_items(items)
            export.release_evidence(units)
            export.release_answer(Answer("q", " ".join(CANARIES.values()), "cognizer", 0.5, ()))
        sanitised = len(events)
        socket.socket().close()  # so that a watch that sees nothing would show
    assert sanitised == 0
    assert events


def test_a_name_seen_in_one_memory_is_replaced_in_all(opaque: Opaque, item: ItemMaker, ldp: ExportFilterMaker) -> None:
    """The recogniser sees no name after "Velvet the": only the other memory tells that one is there."""
    hidden = item("Which tune did the Velvet Quz play?", "a march", id="hidden", anchors=("velvet quz", "tune"))
    lower = item("Which tune is a quz march?", "a slow one", id="lower")
    told = item("Which engineer signed the record?", "Velvet Quz", answer_type="PERSON", id="told")
    export = ldp()
    [alone, _] = export.release_items([hidden, lower]).items
    assert "Quz" in alone.question  # else this tells nothing
    shown = {one.id: one for one in export.release_items([hidden, lower, told]).items}
    assert set(shown) == {opaque("hidden"), opaque("lower")}  # the answer of the third is masked
    assert "Quz" not in shown[opaque("hidden")].question
    assert "velvet quz" not in shown[opaque("hidden")].anchors
    assert shown[opaque("lower")].question == lower.question


GERMAN = "Frau Jadwiga Kowalska wurde am Montag mit einem gebrochenen Handgelenk auf der Station aufgenommen."


@pytest.mark.parametrize("mode", ["type-masking", "ldp"])
def test_nothing_in_another_language_leaves_unless_the_device_says_so(
    mode: str, export_of: ExportMaker, ldp: ExportFilterMaker
) -> None:
    unit = EvidenceUnit("record#1", GERMAN, "device-a", 0.9, "Aufnahme")
    english = EvidenceUnit(
        "record#2", "The ward admits patients from eight in the morning on.", "device-a", 0.8, "Ward"
    )
    export = ldp() if mode == "ldp" else export_of(mode)
    released = export.release_evidence([unit, english])
    assert [one.text for one in released.items] == [english.text]
    assert released.withheld == {"not in English": 1}
    assert not export.release_question("Wo liegt Frau Kowalska seit dem Montag auf der Station?")
    answer = Answer("q1", "Frau Kowalska", "cognizer", 0.9, evidence=(unit,))
    assert export.release_answer(answer, "Wer wurde am Montag aufgenommen?", [GERMAN]).text == ""
    allowed = export_of(mode, other_languages=True) if mode == "type-masking" else None
    assert allowed is None or "Station" in allowed.release_evidence([unit]).items[0].text
