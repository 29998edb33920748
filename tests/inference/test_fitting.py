"""Which memories may answer which questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fedrag_flwr.inference.fitting import Fitting, is_about
from fedrag_flwr.inference.memorizer import Memorizer

from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Match, MemoryItem
from fedrag_flwr.text.asking import MOST_ANCHORS, item_anchors, question_anchors, type_anchor
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis

Row = tuple[str, str, str]  # question of the memory, its answer, its type


def memory(row: Row, encoder: Encoder, pipeline: Pipeline) -> MemoryItem:
    question, answer, kind = row
    anchors = item_anchors(pipeline.question(question), kind)
    vector = encoder.encode([question])[0]
    return MemoryItem(f"{question}{answer}", question, answer, "single", kind, (), anchors, vector, "here")


FIT: list[tuple[str, Row, str]] = [  # question, memory, part of the reason ("" where it fits)
    ("Who designed Tarn Bridge?", ("Who drew Tarn Bridge?", "Odile Varro", "PERSON"), ""),
    ("Who designed Tarn Bridge?", ("When was Tarn Bridge designed?", "1924", "YEAR"), "PERSON is asked for"),
    ("Who designed Tarn Bridge?", ("What did Tarn Bridge cost?", "$5", "MONEY"), "PERSON is asked for"),
    ("When did Tarn Bridge open?", ("Who opened Tarn Bridge?", "Odile Varro", "PERSON"), "DATE is asked for"),
    ("When did Tarn Bridge open?", ("In which year did Tarn Bridge open?", "1924", "YEAR"), ""),
    ("Where does the Ossel rise?", ("When does the Ossel rise?", "1924", "DATE"), "GPE is asked for"),
    ("Where does the Ossel rise?", ("Where does the Ossel rise?", "Mount Cairl", "LOC"), ""),
    ("Did Tarn Bridge open in 1924?", ("When did Tarn Bridge open?", "1924", "YEAR"), "yes or no is asked for"),
    ("Did Tarn Bridge open in 1924?", ("Did Tarn Bridge open in 1924?", "Yes", "YESNO"), ""),
    ("Who knew Odile Varro?", ("Who designed Tarn Bridge?", "Odile Varro", "PERSON"), "holds the answer itself"),
    ("Which is longer, the Ossel or the Marl?", ("Which river is longest?", "Ossel", "LOC"), ""),
    ("Which is longer, the Ossel or the Marl?", ("Which river is longest?", "Danube", "LOC"), "alternatives"),
    ("Which ship crossed the Ossel?", ("Which boat crossed the Ossel?", "Windhover", "NAME"), ""),
    ("Which river did Odile Varro love?", ("Which museum did Odile Varro love?", "Copper Hall", "NAME"), "a river is"),
    ("How many clocks are there?", ("How many clocks are shown?", "640", "CARDINAL"), ""),
    ("How many clocks are there?", ("How many visitors come?", "640", "CARDINAL"), "a clock is asked for"),
    ("Which gauge did Odile Varro read?", ("When did Odile Varro read?", "1924", "YEAR"), "is asked for"),
]


@pytest.mark.parametrize(("question", "row", "reason"), FIT)
def test_a_memory_must_be_of_the_kind_asked_for(
    question: str, row: Row, reason: str, encoder: Encoder, pipeline: Pipeline
) -> None:
    said = Fitting(encoder).misfit(question, pipeline.question(question), memory(row, encoder, pipeline))
    assert reason in said
    assert bool(said) == bool(reason)


COMPOSED: list[tuple[str, str, str, bool]] = [  # question, memory's question, its kind, whether it answers
    (
        "Which opened first, Tarn Bridge or Port Ferren?",
        "Which opened first, Port Ferren or Tarn Bridge?",
        "comparison",
        True,
    ),
    (
        "Which opened last, Tarn Bridge or Port Ferren?",
        "Which opened first, Port Ferren or Tarn Bridge?",
        "comparison",
        False,
    ),
    (
        "Which opened first, Tarn Bridge or Copper Hall?",
        "Which opened first, Port Ferren or Tarn Bridge?",
        "comparison",
        False,
    ),
    ("Did Tarn Bridge open in 1924?", "Did Tarn Bridge open in 1931?", "false-premise", False),
    ("Was it in 1931 that Tarn Bridge opened?", "Did Tarn Bridge open in 1931?", "false-premise", True),
    ("Did Tarn Bridge not open in 1931?", "Did Tarn Bridge open in 1931?", "false-premise", False),
]


@pytest.mark.parametrize(("question", "stored", "kind", "answers"), COMPOSED)
def test_a_composed_memory_answers_only_what_turns_on_the_same_names_and_numbers(
    question: str, stored: str, kind: str, answers: bool, encoder: Encoder, pipeline: Pipeline
) -> None:
    row = (stored, "Tarn Bridge", "NAME") if kind == "comparison" else (stored, "No", "YESNO")
    item = replace(memory(row, encoder, pipeline), kind=kind)
    said = Fitting(encoder).misfit(question, pipeline.question(question), item)
    assert (said == "") is answers, said


TURNED: list[tuple[str, Row, str]] = [  # question, memory, part of the reason ("" where it fits)
    ("When did Ann Lee die?", ("When was Ann Lee born?", "1900", "YEAR"), "it tells of "),
    ("When was Ann Lee born?", ("When did Ann Lee die?", "1980", "YEAR"), "it tells of "),
    ("When was the birth of Ann Lee?", ("When was Ann Lee born?", "1900", "YEAR"), ""),
    ("What was the year of Ann Lee's death?", ("When did Ann Lee die?", "1980", "YEAR"), ""),
    ("When did Ann Lee, born in Foo, die?", ("When was Ann Lee born?", "1900", "YEAR"), "it tells of "),
    ("When was Ann Lee, who died in Foo, born?", ("When did Ann Lee die?", "1980", "YEAR"), "it tells of "),
    ("When did Ann Lee die?", ("When did Ann Lee sign the treaty?", "1920", "YEAR"), "nothing of die"),
    ("When did Ann Lee die?", ("In which year was Ann Lee killed?", "1980", "YEAR"), ""),
    ("When did Ann Lee die?", ("When was Ann Lee discharged?", "1980", "YEAR"), "nothing of die"),
    ("Where was Ann Lee born?", ("What is the birthplace of Ann Lee?", "Lund", "GPE"), ""),
    ("When did Mr Jones die of Foo fever?", ("When did Mr Jones have Foo fever?", "1995", "YEAR"), "nothing of die"),
    ("When was Mr Jones discharged?", ("When did Mr Jones have Foo fever?", "1995", "YEAR"), "nothing of discharged"),
    ("When did the Foo mission begin?", ("When was the Foo mission launched?", "1995", "YEAR"), ""),
    ("How close did Foo come to Bar?", ("How near was Foo to Bar?", "5 km", "QUANTITY"), ""),
    ("When was Warfarin stopped?", ("When was Warfarin started?", "3 May 2019", "DATE"), "it tells of "),
    ("When was Warfarin discontinued?", ("When was Warfarin begun?", "3 May 2019", "DATE"), "it tells of "),
    ("When did Warfarin begin?", ("In what year was Warfarin started?", "2019", "YEAR"), ""),
    ("When was Warfarin ended?", ("When was Warfarin stopped?", "4 June 2019", "DATE"), ""),
    ("When did they give Warfarin?", ("When was Warfarin started?", "3 May 2019", "DATE"), ""),
    ("When did Tarn Bridge close?", ("When did Tarn Bridge open?", "1924", "YEAR"), "it tells of "),
    ("When did the Open Hall open?", ("When did the Open Hall close?", "1924", "YEAR"), "it tells of "),
    ("When did the Hall close?", ("When did the Open Hall close?", "1924", "YEAR"), ""),
    ("When was Mr Jones discharged?", ("When was Mr Jones admitted?", "4 June 2020", "DATE"), "it tells of "),
    ("When did Mr Jones leave Lund?", ("When did Mr Jones enter Lund?", "4 June 2020", "DATE"), "it tells of "),
    ("When did the Windhover leave Lund?", ("When was the Windhover launched at Lund?", "1911", "YEAR"), ""),
    ("When was the Foo Club dissolved?", ("When was the Foo Club founded?", "1911", "YEAR"), "it tells of "),
    ("When was the Foo Club established?", ("When was the Foo Club founded?", "1911", "YEAR"), ""),
    ("When was the Foo Club founded?", ("When did Ann Lee found the Foo Club?", "1911", "YEAR"), ""),
    (
        "When did Ann Lee dissolve the Foo Club?",
        ("When did Ann Lee found the Foo Club?", "1911", "YEAR"),
        "it tells of ",
    ),
    ("When was the body found in Lund?", ("When did they find the body in Lund?", "1911", "YEAR"), ""),
    ("Who was the last mayor of Lund?", ("Who was the first mayor of Lund?", "Ann Lee", "PERSON"), "it tells of "),
    ("Who was the mayor of Lund first?", ("Who was the first mayor of Lund?", "Ann Lee", "PERSON"), ""),
    ("Who ruled Lund before Bo?", ("Who ruled Lund after Bo?", "Ann Lee", "PERSON"), "it tells of "),
    ("After whom is the Lee Hall named?", ("Who is the Lee Hall named after?", "Ann Lee", "PERSON"), ""),
    ("Which moon of Foo is smallest?", ("Which is the largest moon of Foo?", "Bar", "NAME"), "it tells of "),
    ("Which moon of Foo is biggest?", ("Which is the largest moon of Foo?", "Bar", "NAME"), ""),
    ("What decreased in Lund?", ("What increased in Lund?", "rainfall", ""), "it tells of "),
    ("Who lost the Foo Cup?", ("Who won the Foo Cup?", "Ann Lee", "PERSON"), "it tells of "),
    ("Who was the winner of the Foo Cup?", ("Who won the Foo Cup?", "Ann Lee", "PERSON"), ""),
    ("Who bought Tarn Hall?", ("Who sold Tarn Hall?", "Ann Lee", "PERSON"), "it tells of "),
    ("What prevents Foo fever?", ("What causes Foo fever?", "bad water", ""), "it tells of "),
    ("What treats Foo fever?", ("Which drug is the treatment of Foo fever?", "Bar", "NAME"), ""),
    ("Who was the first woman in Lund?", ("Who was the first man in Lund?", "Ann Lee", "PERSON"), "it tells of "),
    ("When was the right knee seen?", ("When was the left knee seen?", "1990", "YEAR"), "it tells of "),
    ("Who left Lund?", ("Who arrived in Lund?", "Ann Lee", "PERSON"), "it tells of "),
    ("Which tumour was benign?", ("Which tumour was malignant?", "Bar", "NAME"), "it tells of "),
    (
        "Who did not sign the treaty of Foo?",
        ("Who signed the treaty of Foo?", "Ann Lee", "PERSON"),
        "denial is asked for",
    ),
    (
        "Who didn't sign the treaty of Foo?",
        ("Who signed the treaty of Foo?", "Ann Lee", "PERSON"),
        "denial is asked for",
    ),
    (
        "Who never signed the treaty of Foo?",
        ("Who signed the treaty of Foo?", "Ann Lee", "PERSON"),
        "denial is asked for",
    ),
    (
        "Who signed the treaty of Foo?",
        ("Who did not sign the treaty of Foo?", "Ann Lee", "PERSON"),
        "denial is asked for",
    ),
    ("Who never signed the treaty of Foo?", ("Who didn’t sign the treaty of Foo?", "Ann Lee", "PERSON"), ""),
    ("Who not only wrote but signed the treaty of Foo?", ("Who signed the treaty of Foo?", "Ann Lee", "PERSON"), ""),
    ("Who wrote No Way to Lund?", ("Who is the author of the novel No Way to Lund?", "Ann Lee", "PERSON"), ""),
    ('Who wrote "No Way to Lund"?', ("Who is the author of the novel Way to Lund?", "Ann Lee", "PERSON"), ""),
    ("What is the room no. of Bo?", ("Which room number does Bo have?", "12", "CARDINAL"), ""),
    ("Who wrote the Foo sonata no. 5?", ("Who composed the fifth Foo sonata?", "Ann Lee", "PERSON"), ""),
    (
        "When did Mr Jones have a stroke?",
        ("When did the mother of Mr Jones have a stroke?", "1990", "YEAR"),
        "kin: mother",
    ),
    ("When did Mr Jones's mother have a stroke?", ("When did Mr Jones have a stroke?", "1990", "YEAR"), "kin: mother"),
    (
        "When did his sister have a stroke?",
        ("When did Mr Jones' brother have a stroke?", "1990", "YEAR"),
        "kin: sister and brother",
    ),
    ("When did his mum have a stroke?", ("When did the mother of Mr Jones have a stroke?", "1990", "YEAR"), ""),
    ("When did both wives of Mr Jones die?", ("When did Mr Jones' wife die?", "1990", "YEAR"), ""),
    ("Who was the husband of Ann Lee?", ("Who was Ann Lee married to?", "Bo Lee", "PERSON"), ""),
    ("When was Teresa of Foo born?", ("When was Mother Teresa of Foo born?", "1900", "YEAR"), ""),
    ("When was mother Teresa of Foo born?", ("When was Mother Teresa of Foo born?", "1900", "YEAR"), ""),
    ("WHEN DID ANN LEE DIE?", ("When was Ann Lee born?", "1900", "YEAR"), "it tells of "),
]


@pytest.mark.parametrize(("question", "row", "reason"), TURNED)
def test_a_memory_must_not_tell_the_opposite_or_of_kin(
    question: str, row: Row, reason: str, encoder: Encoder, pipeline: Pipeline
) -> None:
    said = Fitting(encoder).misfit(question, pipeline.question(question), memory(row, encoder, pipeline))
    assert reason in said
    assert bool(said) == bool(reason)


def test_the_sentence_behind_a_memory_does_not_say_whose_fact_it_is(encoder: Encoder, pipeline: Pipeline) -> None:
    """Many tell of both, so the memory's question alone counts."""
    fitting = Fitting(
        encoder, (), lambda _: ("Ann Lee, whose mother died in 1910 and never saw Lund, was born in 1900.",)
    )
    item = memory(("When was Ann Lee born?", "1900", "YEAR"), encoder, pipeline)
    for question, fits in (("In what year was Ann Lee born?", True), ("When was Ann Lee's mother born?", False)):
        assert (fitting.misfit(question, pipeline.question(question), item) == "") is fits


NUMBERED: list[tuple[str, Row, tuple[str, ...], str]] = [  # question, memory, its support, the number it lacks
    ("Who won the Foo Cup in 1912?", ("Who won the Foo Cup in 1912?", "Ann Lee", "PERSON"), (), ""),
    ("Who won the Foo Cup in 1950?", ("Who won the Foo Cup in 1912?", "Ann Lee", "PERSON"), (), "1950"),
    ("Who won the Foo Cup in 1950?", ("Who won the Foo Cup?", "Ann Lee", "PERSON"), (), "1950"),
    ("Who won the Foo Cup in 1950?", ("Who won the Foo Cup in [DATE]?", "Ann Lee", "PERSON"), (), "1950"),
    ("Who won the Foo Cup in 1912?", ("Who won the Foo Cup?", "Ann Lee", "PERSON"), ("Lee won it in 1912.",), ""),
    ("Who won the Foo Cup in 1950?", ("Who won the Foo Cup?", "Ann Lee", "PERSON"), ("Lee won it in 1912.",), "1950"),
    (
        "Who won the Foo Cup in 1950?",
        ("Who won the Foo Cup?", "Ann Lee", "PERSON"),
        ("The cup, given in 1950, was won by Lee in 1912.",),
        "1950",
    ),
    ("Who flew on Apollo 11?", ("Who flew on Apollo 12?", "Alan Bean", "PERSON"), (), "11"),
    ("Who flew on Apollo 11?", ("Who was the crew of Apollo 11?", "Alan Bean", "PERSON"), (), ""),
    ("Who fought in World War II?", ("Who fought in the World War?", "Alan Bean", "PERSON"), (), ""),
    ("Who was the 35th mayor of Lund?", ("Who was the 34th mayor of Lund?", "Ann Lee", "PERSON"), (), "35"),
    ("Who was the second mayor of Lund?", ("Who was the first mayor of Lund?", "Ann Lee", "PERSON"), (), "2"),
    ("Who rang five bells in Lund?", ("Who rang 5 bells in Lund?", "Ann Lee", "PERSON"), (), ""),
    ("Where did it fall to -5 degrees?", ("Where did it fall to 5 degrees?", "Lund", "GPE"), (), "minus5"),
    ("How many saw the Foo Cup in 1950?", ("How many saw the Foo Cup in 1912?", "500", "CARDINAL"), (), "1950"),
]


@pytest.mark.parametrize(("question", "row", "support", "lacking"), NUMBERED)
def test_a_memory_tells_nothing_of_other_years_and_numbers(
    question: str, row: Row, support: tuple[str, ...], lacking: str, encoder: Encoder, pipeline: Pipeline
) -> None:
    fitting, item = Fitting(encoder, (), lambda _: support), memory(row, encoder, pipeline)
    said = fitting.misfit(question, pipeline.question(question), item)
    assert said == (f"it tells nothing of {lacking}" if lacking else "")


def test_nouns_are_encoded_once(encoder: Encoder, pipeline: Pipeline) -> None:
    fitting = Fitting(encoder)
    item = memory(("Which museum is it?", "Copper Hall", "NAME"), encoder, pipeline)
    analysis = pipeline.question("Which river is it?")
    first = fitting.misfit("Which river is it?", analysis, item)
    assert "a river is asked for" in first
    assert set(fitting.nouns) == {"museum", "river"}
    assert fitting.misfit("Which river is it?", analysis, item) == first


def test_a_memory_that_holds_too_little_of_a_question_is_about_something_else(
    encoder: Encoder, pipeline: Pipeline
) -> None:
    item = memory(("Which ship sank off Mount Cairl?", "Windhover", "NAME"), encoder, pipeline)
    near, far = "Which ship sank off Mount Cairl in 1924?", "Which crew loaded copper ingots at Lund before daybreak?"
    assert is_about(near, pipeline.question(near), item)
    assert not is_about(far, pipeline.question(far), item)


def test_a_memory_of_what_a_question_describes_does_not_answer_what_it_asks(
    encoder: Encoder, pipeline: Pipeline
) -> None:
    question = "Which yard launched the ship that sank off Mount Cairl?"
    analysis = pipeline.question(question)
    described = memory(("What sank off Mount Cairl?", "Windhover", "NAME"), encoder, pipeline)
    asked = memory(("Which yard launched the ship Windhover?", "Lund", "GPE"), encoder, pipeline)
    assert not is_about(question, analysis, described)
    assert is_about(question, analysis, asked)
    named = memory(("Which ship sank off Mount Cairl?", "Windhover", "NAME"), encoder, pipeline)
    assert "describes" in Fitting(encoder).misfit(question, analysis, named)


CALLED = [
    ("Windhover", "frigate", True),
    ("Windhover", "mountain", False),
    ("Lund", "town", None),
    ("Odile Varro", "engineer", True),
]


@pytest.mark.parametrize(("name", "noun", "called"), CALLED)
def test_memories_say_what_a_name_is(
    name: str, noun: str, called: bool | None, encoder: Encoder, pipeline: Pipeline
) -> None:
    rows: list[Row] = [
        ("Which ship sank off Mount Cairl?", "Windhover", "NAME"),
        ("Who drew Tarn Bridge?", "Odile Varro", "PERSON"),
        ("What lies on the Ossel?", "Lund", "GPE"),
    ]
    fitting = Fitting(encoder, [memory(row, encoder, pipeline) for row in rows], home="here")
    assert fitting.is_called(name, noun) is called
    assert fitting.is_called("Odile Varro", "bridge") is False


SAYING: list[tuple[list[str], bool | None]] = [(["evil"], None), (["here"], False), (["a", "b"], False)]


@pytest.mark.parametrize(("origins", "called"), SAYING)
def test_what_a_name_is_not_is_said_by_home_or_two(
    origins: list[str], called: bool | None, encoder: Encoder, pipeline: Pipeline
) -> None:
    ship = memory(("Which ship sank off Mount Cairl?", "Windhover", "NAME"), encoder, pipeline)
    person = memory(("Who sank off Mount Cairl?", "Windhover", "PERSON"), encoder, pipeline)
    for item, noun in ((ship, "mountain"), (ship, "engineer"), (person, "bridge")):
        told = [replace(item, id=origin, origin=origin) for origin in [*origins, *origins]]
        assert Fitting(encoder, told, home="here").is_called("Windhover", noun) is called
    unnamed = replace(memory(("What burnt at Lund?", "Windhover", "NAME"), encoder, pipeline), origin="c")
    question = "Which mountain burnt at Lund?"
    said = [replace(ship, id=origin, origin=origin) for origin in origins]
    misfit = Fitting(encoder, said, home="here").misfit(question, pipeline.question(question), unnamed)
    assert misfit == ("" if called is None else "it tells a ship, a mountain is asked for")


def test_what_other_memories_call_an_answer_counts(encoder: Encoder, pipeline: Pipeline) -> None:
    unnamed = memory(("What burnt on Mount Cairl?", "Copper Hall", "NAME"), encoder, pipeline)
    named = memory(("Which museum stands in Lund?", "Copper Hall", "NAME"), encoder, pipeline)
    question = "Which river burnt on Mount Cairl?"
    analysis = pipeline.question(question)
    assert Fitting(encoder).misfit(question, analysis, unnamed) == ""
    assert "a river is asked for" in Fitting(encoder, [unnamed, named]).misfit(question, analysis, unnamed)


@pytest.mark.parametrize(
    ("kind", "anchors"),
    [("PERSON", ("answer:person",)), ("YEAR", ("answer:time",)), ("DATE", ("answer:time",)), ("", ()), ("NAME", ())],
)
def test_types_that_answer_the_same_share_an_anchor(kind: str, anchors: tuple[str, ...]) -> None:
    assert type_anchor(kind) == anchors


def test_a_question_has_the_same_anchors_asked_or_stored(pipeline: Pipeline) -> None:
    analysis = pipeline.question("Which river does Tarn Bridge cross?")
    asked = question_anchors(analysis)
    assert asked == item_anchors(analysis, analysis.answer_type) == item_anchors(analysis, "")
    assert "tarn bridge" in asked
    assert "asks:river" in asked


def test_anchors_are_as_many_as_a_message_holds() -> None:
    analysis = QuestionAnalysis((), tuple(f"place {number}" for number in range(200)), "PERSON", "river")
    anchors = question_anchors(analysis)
    assert len(anchors) == MOST_ANCHORS
    assert anchors[-2:] == ("answer:person", "asks:river")


ROWS: list[Row] = [
    ("Who designed Tarn Bridge?", "Odile Varro", "PERSON"),
    ("When was Tarn Bridge designed?", "1924", "YEAR"),
    ("Where does the Ossel rise?", "Mount Cairl", "LOC"),
]


@pytest.mark.parametrize(
    ("question", "delta", "answer"),
    [
        ("Who designed Tarn Bridge?", 0.8, "Odile Varro"),
        ("When was Tarn Bridge designed?", 0.8, "1924"),
        ("Where does the river Ossel rise?", 0.6, "Mount Cairl"),
        ("Where does the river Ossel rise?", 1.01, None),  # no score reaches it
        ("How many sailors drowned?", 0.8, None),
        ("How much did Tarn Bridge cost?", 0.2, None),  # near enough, but no amount of money
    ],
)
def test_memory_answers_where_it_is_near_and_fits(
    question: str, delta: float, answer: str | None, encoder: Encoder, pipeline: Pipeline
) -> None:
    items = [memory(row, encoder, pipeline) for row in ROWS]
    memorizer = Memorizer(Matcher(items, 0.7), delta, Fitting(encoder), "here")
    analysis = pipeline.question(question)
    matches = memorizer.recall(encoder.encode([question])[0], analysis, 3)
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    found = memorizer.answer(question, analysis, matches)
    assert (found.item.answer if found else None) == answer


def test_another_devices_memory_with_a_made_up_embedding_is_not_believed(encoder: Encoder, pipeline: Pipeline) -> None:
    fitting, question = Fitting(encoder), "Who designed Tarn Bridge?"
    [asked], analysis = encoder.encode([question]), pipeline.question(question)
    honest = replace(memory(ROWS[0], encoder, pipeline), origin="a")
    half = replace(honest, id="half", embedding=honest.embedding.astype(np.float16).astype(np.float32))
    forged = replace(honest, id="forged", question="Who designed the Tarn Bridge model?", embedding=asked)
    for item, believed in ((honest, True), (half, True), (forged, False), (replace(forged, origin="here"), True)):
        memorizer = Memorizer(Matcher([item], 0.7), 0.8, fitting, "here")
        fitting.true.clear()
        matches = memorizer.recall(asked, analysis, 3)
        assert (memorizer.answer(question, analysis, matches) is not None) == believed


def test_the_best_of_those_that_fit_answers(encoder: Encoder, pipeline: Pipeline) -> None:
    items = [memory(row, encoder, pipeline) for row in ROWS]
    matches = [Match(items[1], 0.99, 1.0, 1.0), Match(items[0], 0.9, 0.9, 0.9), Match(items[0], 0.85, 0.9, 0.9)]
    memorizer = Memorizer(Matcher([], 0.7), 0.8, Fitting(encoder), "here")
    question = "Who designed the bridge?"
    assert memorizer.answer(question, pipeline.question(question), matches) is matches[1]
    assert memorizer.recall(np.zeros(encoder.dimension, np.float32), QuestionAnalysis((), (), ""), 5) == []
