"""A name that was found once is found everywhere: in other memories, in later rounds, and in no word that it is not."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.masks import TypeMasking
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import is_written_as_name
from fedrag_flwr.privacy.register import Register, read_register
from fedrag_flwr.records import Document, Fact
from fedrag_flwr.text.pipeline import Pipeline
from tests.privacy.conftest import ExportMaker, ItemMaker, Opaque

TELLS = ("Who keeps the lamp?", "Bolwick Xqwu")  # the answer is known to be a person

# What the recogniser does not see when it reads the memory alone, and what has to be left of it.
CANARIES = [
    ("Which tune did the Bolwick Xqwu play?", "Which tune did the [PERSON] play?"),
    ("Which tune did the bolwick xqwu play?", "Which tune did the [PERSON] play?"),
    ("Which lamp is BOLWICK-XQWU brand?", "Which lamp is [PERSON] brand?"),
    ("Which tune is the Xqwu anthem?", "Which tune is the [PERSON] anthem?"),
    ("What did the Xqwu's lamp cost in winter?", "What did the [PERSON]'s lamp cost in winter?"),
    ("Which lamps does Bolwick\u00a0Xqwu & Sons sell?", "Which lamps does [PERSON] & Sons sell?"),
]
# Other words, and words within words, stay.
OTHERS = [
    "Which tune is a xqwu march?",
    "Which tune is the Xqwuna march?",
    "Which tune did the Bolwick band of Axqwu play?",
    "Where is the Bolwick mill?",
]


@pytest.mark.parametrize(("text", "expected"), CANARIES)
def test_a_name_that_one_memory_tells_is_masked_in_the_other(
    export_of: ExportMaker, item: ItemMaker, text: str, expected: str
) -> None:
    hidden = item(text, "in 1950", id="hidden", anchors=("bolwick xqwu", "tune"))
    told = item(*TELLS, answer_type="PERSON", id="told")
    [alone] = export_of("type-masking").release_items([hidden]).items
    assert "xqwu" in alone.question.casefold()  # else this tells nothing
    released = export_of("type-masking").release_items([hidden, told])
    [shown] = released.items
    assert released.withheld == {"answer-masked": 1}
    assert shown.question == expected
    assert shown.anchors == ("tune",)


@pytest.mark.parametrize("text", OTHERS)
def test_words_that_are_not_the_name_stay(export_of: ExportMaker, item: ItemMaker, text: str) -> None:
    others, told = item(text, "in 1950", id="other"), item(*TELLS, answer_type="PERSON", id="told")
    [shown] = export_of("type-masking").release_items([others, told]).items
    assert shown.question == text


def test_a_name_is_known_to_later_rounds_and_processes(export_of: ExportMaker, item: ItemMaker, tmp_path: Path) -> None:
    path = tmp_path / "names.sqlite"
    export_of("type-masking", names=path).release_items([item(*TELLS, answer_type="PERSON")])
    later = export_of("type-masking", names=path)
    [shown] = later.release_items([item(CANARIES[0][0], "in 1950")]).items
    assert shown.question == CANARIES[0][1]
    assert b"qwu" not in b"".join(file.read_bytes().lower() for file in tmp_path.iterdir())


@pytest.mark.parametrize("kept", [True, False])
def test_what_presidio_finds_is_known_to_later_processes(export_of: ExportMaker, tmp_path: Path, kept: bool) -> None:
    path, shown = tmp_path / "names.sqlite", ""
    for text in ("Dr. Bolwick Xqwu left.", CANARIES[0][0]):
        export = export_of(
            "none",
            names=path if kept else None,
            operators="presidio",
        )
        shown = export.release_question(text)
        export.close()
    assert shown == CANARIES[0][kept]


def test_without_an_operator_no_names_are_kept(export_of: ExportMaker, tmp_path: Path) -> None:
    path = tmp_path / "names.sqlite"
    export_of("none", names=path).close()
    assert not path.exists()


def test_two_filters_of_one_device_know_the_same(export_of: ExportMaker, item: ItemMaker, tmp_path: Path) -> None:
    one, two = (export_of("type-masking", names=tmp_path / "names.sqlite") for _ in range(2))
    two.release_items([item("Which tune is it?", "a march")])  # it has read the file, and there was nothing
    one.release_items([item(*TELLS, answer_type="PERSON")])
    [shown] = two.release_items([item(CANARIES[0][0], "in 1950")]).items
    assert shown.question == CANARIES[0][1]


def test_the_public_list_wins(export_of: ExportMaker, opaque: Opaque, item: ItemMaker) -> None:
    public = item("Which tune did the Bolwick Xqwu play?", "a march", id="public")
    alone = item("Which tune is the Xqwu march?", "a slow one", id="alone")
    private = item("Who keeps the lamp?", "Jadwiga Xqwu", answer_type="PERSON", id="private")
    export = export_of("type-masking", public_names=("Bolwick Xqwu",))
    shown = {one.id: one.question for one in export.release_items([public, alone, private]).items}
    assert shown == {opaque("public"): public.question, opaque("alone"): alone.question}


def test_a_part_of_a_public_name_that_documents_tell_stays(pipeline: Pipeline) -> None:
    names = KnownNames()
    names.know(Register({"tarnovelska": (Fact("Jadwiga Tarnovelska", "PERSON", ""),)}))
    text = Bundle(("How long is the Tarnovelska crater?",))
    [public] = TypeMasking(pipeline, public_names=["Jadwiga Tarnovelska"], names=names).operate([text])
    [private] = TypeMasking(pipeline, names=names).operate([text])
    assert public.prose == text.prose
    assert private.prose == ("How long is the [PERSON] crater?",)


DOCUMENT = (
    "The mill near Lisbon grinds rye. Lisbon lies in Portugal. Rye bread is made in Lisbon. The thistle grows "
    "beside the mill, and a thistle grows behind it. Henrik Vossabelle runs the mill."
)


@pytest.mark.parametrize(
    ("name", "doubted"),
    [
        ("Lisbon", True),  # a place, as the documents use it
        ("Thistle", True),  # a plant, in lower case
        ("Winter", True),  # an everyday word
        ("Henrik Vossabelle", False),
        ("Vossabelle", False),
        ("Thistle Vossabelle", False),
        ("Nobody Mentioned", False),
    ],
)
def test_documents_tell_what_is_no_name_of_a_person(pipeline: Pipeline, name: str, *, doubted: bool) -> None:
    [parsed] = pipeline.parse([Document("mill", "The mill", DOCUMENT, "")])
    passages = [part.passage for part in parsed]
    assert read_register(passages).doubts(name, frozenset({"PERSON"})) is doubted


@pytest.mark.parametrize(
    ("form", "kind", "named"),
    [
        ("Bolwick Xqwu", "PERSON", True),
        ("Ludwig van der Xqwu", "PERSON", True),
        ("B. Xqwu-Tarn", "PERSON", True),
        ("the Bank of Xqwu", "ORG", True),
        ("engineers at the Xqwu bureau", "PERSON", False),
        ("astronauts", "PERSON", False),
        ("the brass band of Xqwu", "ORG", False),
    ],
)
def test_a_description_is_no_name(form: str, kind: str, *, named: bool) -> None:
    assert is_written_as_name(form, kind) is named


@pytest.mark.parametrize(
    ("name", "types", "text"),
    [
        ("Quarrendon", {"quarrendon": "GPE"}, "Which mill lies in Quarrendon?"),
        ("keepers of the lamp", {}, "How long did the keepers of the lamp sleep?"),
    ],
    ids=["doubtful", "a description"],
)
def test_what_may_be_no_name_is_masked_only_where_it_was_seen(
    pipeline: Pipeline, name: str, types: dict[str, str], text: str
) -> None:
    names = KnownNames()
    names.know(Register(types=types))
    seen = Bundle(("Who signed it?", name), known=(Fact(name, "PERSON", ""),))
    other = Bundle((text, "the old one"))
    first, second = TypeMasking(pipeline, names=names).operate([seen, other])
    assert first.prose[1] == "[PERSON]"
    assert second.prose == other.prose


def test_what_documents_show_is_known_when_they_are_gone(pipeline: Pipeline, tmp_path: Path) -> None:
    names = KnownNames(tmp_path / "names.sqlite")
    spans = {"tarnovelska": (Fact("Jadwiga Tarnovelska", "PERSON", ""),), "4417": (Fact("4417-88213", "ID", ""),)}
    names.know(Register(spans))
    names.know(Register())
    [masked] = TypeMasking(pipeline, names=names).operate([Bundle(("The Tarnovelska mill has number 4417-88213.",))])
    assert masked.prose == ("The [PERSON] mill has number [ID].",)


_NAMES = st.lists(st.lists(st.sampled_from(["qa", "qb", "qc"]), min_size=1, max_size=3).map(tuple), max_size=5)
_TEXTS = st.lists(st.sampled_from(["Qa", "qb", "Qc", "Qab", "q", "b"]), max_size=12)


@given(_NAMES, _TEXTS, st.sampled_from([" ", "  ", "-", ", ", " of "]))
@example([("qb", "qb")], ["qb", "qb"], "-")
def test_it_finds_what_a_search_for_each_finds(names: list[tuple[str, ...]], words: list[str], between: str) -> None:
    known, text = KnownNames(), between.join(words)
    known.learn((" ".join(name), "PERSON") for name in names)
    found = {(form.text, form.rule) for form in known.find(Bundle((text,)))}
    patterns = [re.compile(rf"(?<!\w)(?=({r'[ ,-]{1,3}'.join(name)})(?!\w))", re.IGNORECASE) for name in names]
    expected = {match[1] for pattern in patterns for match in pattern.finditer(text)}
    assert found == {(form, "elsewhere") for form in expected if not (form.islower() and form.isalpha())}


def test_names_wait_until_they_are_settled(tmp_path: Path) -> None:
    names = KnownNames(tmp_path / "names.sqlite")
    names.learn([("Bolwick Xqwu", "PERSON"), ("Winter", "PERSON"), ("Bolwick  XQWU", "PERSON")])
    waiting = KnownNames(tmp_path / "names.sqlite").pending()
    assert len(waiting) == 2  # in prose and in anchors; an everyday word is not learnt, and a spelling is no other name
    assert names.find(Bundle(("Ask Bolwick Xqwu.",)), waiting)
    names.settle(waiting)
    names.learn([("Bolwick Xqwu", "PERSON"), ("Otmar Lindqvister", "PERSON")])
    assert len(names.pending()) == 2
    assert not names.find(Bundle(("Ask Bolwick Xqwu.",)), names.pending())


def test_who_turns_out_to_be_a_person_is_masked_and_waits_again(pipeline: Pipeline, tmp_path: Path) -> None:
    names = KnownNames(tmp_path / "names.sqlite")
    text = Bundle((CANARIES[0][0],))
    names.learn([("Bolwick Xqwu", "ORG")])
    names.settle(names.pending())
    known, age = len(names), names.leads()
    [kept] = TypeMasking(pipeline, ("PERSON",), names=names).operate([text])
    names.learn([("Bolwick Xqwu", "PERSON"), ("Bolwick Xqwu", "ORG")])
    waiting = names.pending()
    assert names.find(text, waiting)[0].type == "PERSON"
    assert len(names) > known  # whoever asks whether names came sees it
    assert names.leads() != age
    again = KnownNames(tmp_path / "names.sqlite")
    [masked] = TypeMasking(pipeline, ("PERSON",), names=again).operate([text])
    assert (kept.prose, masked.prose) == (text.prose, (CANARIES[0][1],))
    again.settle(waiting)
    again.learn([("Bolwick Xqwu", "ORG"), ("Bolwick Xqwu", "PERSON")])
    assert not again.pending()


def test_names_of_two_letters_are_found_only_as_names_are_written() -> None:
    names = KnownNames()
    names.learn([("Ng", "PERSON"), ("Mei Wu", "PERSON")])
    text = "Ng had 5 ng/ml by NG tube; MEI_WU, mei wu and Mei-Wu came."
    assert [form.text for form in names.find(Bundle((text,)))] == ["Ng", "MEI_WU", "mei wu", "Mei-Wu"]


def test_a_torn_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "names.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreCorruptError):
        KnownNames(tmp_path / "names.sqlite")
