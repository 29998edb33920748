"""Which sentences are read and which spans answer, over the real pipeline and encoder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from fedrag_flwr.inference.agreeing import agree
from fedrag_flwr.inference.comparing import decided
from fedrag_flwr.inference.reader import FEWEST, Reading, read
from fedrag_flwr.inference.reading import LINK_FEATURES, NEAR_FEATURES, Candidate, Pool, link_features, near_features
from fedrag_flwr.inference.sides import alternatives, rows_asked_of, said_by
from fedrag_flwr.inference.spans import SPAN_FEATURES, span_features, spans_of
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis
from fedrag_flwr.text.segment import under_title

TEXTS = [
    ("Red Kite (film)", "Red Kite is a 1987 adventure film directed by Tomas Hale."),
    ("Red Kite (film)", "It was shot on the coast."),
    ("Tomas Hale", "Tomas Hale (born 1952) is a film director who was born in the port of Sandmouth."),
    ("Tomas Hale", "He collects clocks."),
    ("Alder Lake", "Alder Lake is a lake in Denmark."),
    ("Brook Fell", "Brook Fell is a hill in the north of Norway."),
    ("Mirror Lake", "Mirror Lake is a lake in the mountains of Denmark."),
    ("Arden Monthly", "Arden Monthly was a literary magazine that ran from 1902 to 1939."),
    ("Farm and Field", "Farm and Field is a weekly magazine started in 1921."),
]


def candidates(question: str, encoder: Encoder, pipeline: Pipeline) -> list[Candidate]:
    scores = encoder.encode([under_title(*one) for one in TEXTS]) @ encoder.encode([question])[0]
    facts = pipeline.facts([text for _, text in TEXTS])
    places = [sum(title == before for before, _ in TEXTS[:i]) for i, (title, _) in enumerate(TEXTS)]
    return [
        Candidate(EvidenceUnit(f"{title}#0.{place}", text, "home", float(score), title), told, place)
        for (title, text), score, told, place in zip(TEXTS, scores, facts, places, strict=True)
    ]


def reading(question: str, encoder: Encoder, pipeline: Pipeline) -> Reading:
    return read(question, pipeline.question(question), candidates(question, encoder, pipeline))


HOPS = [
    ("In which town was the director of Red Kite born?", {TEXTS[0][1], TEXTS[2][1]}),
    ("Which was started first, Arden Monthly or Farm and Field?", {TEXTS[7][1], TEXTS[8][1]}),
    ("Are both Alder Lake and Brook Fell lakes?", {TEXTS[4][1], TEXTS[5][1]}),
]


@pytest.mark.parametrize(("question", "wanted"), HOPS)
def test_both_hops_are_read(question: str, wanted: set[str], encoder: Encoder, pipeline: Pipeline) -> None:
    units = reading(question, encoder, pipeline).units(4)
    assert wanted <= {unit.text for unit in units}
    assert FEWEST <= len(units) <= 4
    assert len(reading(question, encoder, pipeline).units(4, fewest=4)) == 4


@pytest.mark.parametrize(("question", "wanted"), HOPS)
def test_what_another_says_too_takes_no_further_place(
    question: str, wanted: set[str], encoder: Encoder, pipeline: Pipeline
) -> None:
    home = candidates(question, encoder, pipeline)
    twins = [replace(one, unit=replace(one.unit, id=f"t{n}", origin="abroad")) for n, one in enumerate(home)]
    read_twice = read(question, pipeline.question(question), [*twins, *home])
    units = read_twice.units(4, fewest=4, home="home")
    assert wanted <= {unit.text for unit in units}
    assert len({unit.text for unit in units}) == 4
    assert {unit.origin for unit in units} == {"home"}
    assert [unit.text for unit in read_twice.units(4, fewest=4)] == [unit.text for unit in units]


def test_the_second_hop_comes_nearer_by_its_title(encoder: Encoder, pipeline: Pipeline) -> None:
    question = HOPS[0][0]
    pool = Pool.of(question, pipeline.question(question), candidates(question, encoder, pipeline))
    linked = link_features(pool, np.where([one.unit.title == TEXTS[0][0] for one in pool.candidates], 3.0, -3.0))
    named = linked[:, LINK_FEATURES.index("title named by")]
    assert named[2] == named[3] == pytest.approx(1 / (1 + np.exp(-3.0)))
    assert named[[0, 1, 4, 5, 6, 7, 8]].max() == 0.0


YES_NO = [
    ("Are Alder Lake and Mirror Lake in the same country?", "yes"),
    ("Are Alder Lake and Brook Fell in the same country?", "no"),
    ("Are both Alder Lake and Mirror Lake lakes?", "yes"),
    ("Are both Alder Lake and Brook Fell lakes?", "no"),
]


@pytest.mark.parametrize(("question", "answer"), YES_NO)
def test_yes_or_no_is_read_without_the_model(question: str, answer: str, encoder: Encoder, pipeline: Pipeline) -> None:
    found = reading(question, encoder, pipeline)
    assert (found.known, found.spans) == (answer, ())


@pytest.mark.parametrize(
    "question",
    ["Is Alder Lake a lake?", "Is Alder Lake in Denmark?", "Is Brook Fell a hill and a lake?", "Are lakes both deep?"],
)
def test_what_is_asked_of_one_thing_is_left_to_the_model(question: str, encoder: Encoder, pipeline: Pipeline) -> None:
    assert reading(question, encoder, pipeline).known == ""


@pytest.mark.parametrize(("question", "answer"), YES_NO)
def test_what_another_device_gave_counts_passage_by_passage(
    question: str, answer: str, encoder: Encoder, pipeline: Pipeline
) -> None:
    given = [  # opaque ids: they tell no passage
        replace(one, unit=replace(one.unit, id=f"{number:032x}", origin="other" if number > 3 else "home"), place=0)
        for number, one in enumerate(candidates(question, encoder, pipeline))
    ]
    asked = pipeline.question(question)
    assert read(question, asked, given).known == answer
    groups = Pool.of(question, asked, given).groups().values()
    assert sorted(map(sorted, groups)) == [[0, 1], [2, 3], [4], [5], [6], [7], [8]]


def test_spans_stand_in_the_sentences_and_each_has_a_score(encoder: Encoder, pipeline: Pipeline) -> None:
    found = reading(HOPS[0][0], encoder, pipeline)
    held = [f"{one.unit.title} {one.unit.text}" for one in found.pool.candidates]
    assert len(found.spans) == len(found.likely)
    assert all(any(span.text in text for text in held) for span in found.spans)
    assert len({span.key for span in found.spans}) == len(found.spans)
    assert found.best in {span.text for span in found.spans}
    source = found.told_by()
    assert source is not None
    assert found.best in f"{source.title} {source.text}"
    assert "Sandmouth" in {span.text for span in found.spans}


def test_nothing_to_read(pipeline: Pipeline) -> None:
    for question in ("Who designed Tarn Bridge?", "Is Tarn Bridge old?"):
        found = read(question, pipeline.question(question), [])
        assert (found.units(4), found.best, found.told_by()) == ([], "", None)
        assert found.known in {"", "yes", "no"}


COMPARED = [
    ("Which was started first, A or B?", [["from 1902 to 1939"], ["in 1921"]], 0),
    ("Which was started later, A or B?", [["from 1902 to 1939"], ["in 1921"]], 1),
    ("Who is older, A or B?", [["born 1952"], ["born 1911"]], 1),
    ("Which is higher, A or B?", [["rises to 2,310 metres"], ["reaches 2,645 metres"]], 1),
    ("Which is higher, A or B?", [["rises to 1,907 metres (6,257 ft)"], ["reaches 2,450 metres"]], 1),
    ("Which bridge is longer, A or B?", [["opened 1937, 2,737 m"], ["opened 1964, 1,298 m"]], 0),
    ("Which was founded longer ago, A or B?", [["founded in 1937"], ["founded in 1964"]], 0),
    ("Who was born more recently, A or B?", [["born 28 March 1952"], ["born 3 June 1990"]], 1),
    ("Which is the most recent, A or B?", [["from 1952, 90 minutes"], ["from 1990, 80 minutes"]], 1),
    ("Which has fewer seats, A or B?", [["has 90 seats"], ["has 120"]], 0),
    ("Which has more seats, A or B?", [["opened in 1990"], ["has 120"]], None),
    ("Which was started first, A or B?", [["in 1921"], ["in 1921"]], None),
    ("Which was started first, A or B?", [["long ago"], ["in 1921"]], None),
    ("Who died first, A or B?", [["A (1902 – 1980)"], ["B ( 3 May 1921 – 4 June 1939)"]], 1),
    ("Who died later, A or B?", [["A (1902-1980) was a singer"], ["B died in Rome in 1939"]], 0),
    ("Who died later, A or B?", [["A was born in 1902"], ["B died in Rome in 1939"]], None),
    ("Who was born later, A or B?", [["A (1902 – 1980)"], ["B (1921 – 1939)"]], 1),
    ("Which is nicer, A or B?", [["in 1902"], ["in 1921"]], None),
    ("Which was first, A or B?", [["in 1902"]], None),
]


@pytest.mark.parametrize(("question", "told", "winner"), COMPARED)
def test_typed_facts_decide(question: str, told: list[list[str]], winner: int | None) -> None:
    assert decided(question, told) == winner
    if len(told) == 2 and winner is not None:
        assert decided(question, told[::-1]) == 1 - winner


SIDES = [  # title, text; asked about in SIDE_QUESTIONS
    ("Verona High School (Utah)", "Verona High School is a school in Elm County, Utah, United States."),
    ("High School", "High School is a film."),
    ("Marl College", "Marl College is a college in Elm County, Utah, in the United States."),
    ("Red Kite (film)", "Red Kite is an American film directed by Tomas Hale."),
    ("Low Tide (1990 film)", "Low Tide is a 1990 film directed by the Dane Ada Morrow."),
    ("Low Tide", "Low Tide may refer to a film or a song."),
    ("Tomas Hale", "Tomas Hale (1950 – 1999) was a Danish director."),
    ("Ada Morrow", "Ada Morrow (1940 – 2011) was a director from Denmark."),
]
SIDE_QUESTIONS = [  # question, the pair, the pair with whom it asks about in their place, yes or no
    ("Are Verona High School (Utah) and Marl College in the same country?", (0, 2), (0, 2), True),
    ("Are Verona High School (Utah) and Marl College in the same county?", (0, 2), (0, 2), True),
    ("Are Marl College and Red Kite (film) from the same county?", (2, 3), (2, 3), False),
    ("Do the films Red Kite (film) and Low Tide (1990 film) have directors of the same country?", (3, 4), (6, 7), True),
    ("Which film has the director who died first, Red Kite or Low Tide (1990 film)?", (3, 4), (6, 7), None),
    ("Which film whose director was born first is longer, Red Kite or Low Tide (1990 film)?", (3, 4), (6, 7), None),
]


@pytest.mark.parametrize(("question", "both", "asked", "yes"), SIDE_QUESTIONS)
def test_two_things_and_who_made_them(
    question: str, both: tuple[int, int], asked: tuple[int, int], yes: bool | None, pipeline: Pipeline
) -> None:
    facts = pipeline.facts([text for _, text in SIDES])
    pool = Pool.of(
        question,
        pipeline.question(question),
        [
            Candidate(EvidenceUnit(f"p{i}#0.0", text, "home", 0.5, title), facts[i])
            for i, (title, text) in enumerate(SIDES)
        ],
    )
    scores = np.zeros(len(SIDES))
    found = said_by(pool, scores)
    assert {rows[0] for rows in found} == set(both)
    assert {rows_asked_of(question, pool, rows)[0] for rows in found} == set(asked)
    if yes is not None:
        assert agree(question, pool, scores) is yes


SAID_OF_BOTH: list[tuple[str, list[tuple[str, str]], bool | None]] = [  # question, titles and texts, whether it holds
    (
        "Do Aspirin and Warfarin both cause constipation?",
        [("Aspirin", "Aspirin causes constipation."), ("Warfarin", "Warfarin often causes constipation.")],
        True,
    ),
    (
        "Do Aspirin and Warfarin both cause constipation?",
        [("Aspirin", "Aspirin does not cause constipation."), ("Warfarin", "Warfarin doesn't cause constipation.")],
        False,
    ),
    (
        "Do Aspirin and Warfarin both cause constipation?",
        [("Aspirin", "Aspirin causes constipation."), ("Warfarin", "Warfarin never causes constipation.")],
        False,
    ),
    (
        "Do Aspirin and Warfarin both cause constipation?",
        [("Aspirin", "No trial saw Aspirin cause constipation."), ("Warfarin", "Warfarin causes constipation.")],
        False,
    ),
    (
        "Do Aspirin and Warfarin both cause constipation?",
        [("Aspirin", "Aspirin causes constipation."), ("Warfarin", "Warfarin acts without a cause of constipation.")],
        False,
    ),
    (
        "Do Aspirin and Warfarin both cause constipation?",
        [
            ("Aspirin", "Aspirin is not new."),
            ("Aspirin", "Aspirin causes constipation."),
            ("Warfarin", "Warfarin does not cause fever, but it causes constipation."),
        ],
        True,
    ),
    (
        "Do Aspirin and Warfarin both cause constipation?",
        [
            ("Aspirin", "Aspirin causes not only fever but constipation."),
            ("Warfarin", "Warfarin causes constipation, whereas Aspirin does not."),
        ],
        True,
    ),
    (
        "Are No Way Home and Red Kite both films?",
        [("No Way Home", "No Way Home is a film."), ("Red Kite", "Red Kite is a film after No Way Home.")],
        True,
    ),
    (
        "Do Aspirin and Warfarin both not cause constipation?",
        [("Aspirin", "Aspirin does not cause constipation."), ("Warfarin", "Warfarin causes constipation.")],
        None,
    ),
    (
        "Are Aspirin and Warfarin different drugs?",
        [("Aspirin", "Aspirin is a drug."), ("Warfarin", "Warfarin is one of the drugs.")],
        None,
    ),
    (
        "Do the effects of Aspirin differ from the same effects of Warfarin?",
        [("Aspirin", "Aspirin has effects."), ("Warfarin", "Warfarin has effects.")],
        None,
    ),
    ("Are Aspirin and Warfarin both?", [("Aspirin", "Aspirin is."), ("Warfarin", "Warfarin is.")], None),
]


@pytest.mark.parametrize(("question", "texts", "yes"), SAID_OF_BOTH)
def test_what_a_passage_denies_it_does_not_say(
    question: str, texts: list[tuple[str, str]], yes: bool | None, pipeline: Pipeline
) -> None:
    found = [
        Candidate(EvidenceUnit(f"{title}#0.{n}", text, "home", 0.5, title), ()) for n, (title, text) in enumerate(texts)
    ]
    pool = Pool.of(question, pipeline.question(question), found)
    assert agree(question, pool, np.zeros(len(texts))) is yes


@pytest.mark.parametrize(
    ("question", "titles", "found"),
    [
        ("Which is older, Arden Monthly or Farm and Field?", ["Farm and Field", "Arden Monthly"], 2),
        ("Which is older, Arden Monthly or Farm and Field?", ["Arden Monthly", "Alder Lake"], 0),
        ("Are Arden Monthly and Farm and Field magazines?", ["Arden Monthly", "Farm and Field"], 0),
    ],
)
def test_alternatives_are_titles_that_the_question_sets_side_by_side(
    question: str, titles: list[str], found: int
) -> None:
    assert alternatives(question, titles) == ["Arden Monthly", "Farm and Field"][:found]


@pytest.mark.parametrize("text", ["-" * 20_000, "died " * 4_000, "(1900 - 1 May 1980)"])
def test_long_texts_cost_no_more_than_their_length(text: str) -> None:
    start = time.process_time()
    decided("Which of them died first, A or B?", [[text], ["(1900 - 1990)"]])
    assert time.process_time() - start < 1.0  # it took 5 s where each hyphen was followed to the end


LINES = st.text(st.sampled_from("abcé X1,.()' "), max_size=24)
UNITS = st.lists(
    st.tuples(LINES, LINES, st.floats(-1, 1), st.integers(0, 3)).map(
        lambda parts: Candidate(EvidenceUnit(f"d{parts[3]}#0.{parts[3]}", parts[1], "home", parts[2], parts[0]), ())
    ),
    max_size=6,
)


@given(LINES, UNITS)
def test_features_are_finite_whatever_is_read(question: str, units: Sequence[Candidate]) -> None:
    pool = Pool.of(question, QuestionAnalysis((), (), ""), units)
    near = near_features(pool)
    linked = link_features(pool, near[:, 0])
    rows = list(range(len(units)))
    spans = spans_of(question, pool, rows)
    told = span_features(question, pool, rows, near[:, 0], spans)
    assert near.shape == (len(units), len(NEAR_FEATURES))
    assert linked.shape == (len(units), len(LINK_FEATURES))
    assert told.shape == (len(spans), len(SPAN_FEATURES))
    assert agree(question, pool, near[:, 0]) in {True, False, None}
    assert agree(f"{question} when it began", pool, near[:, 0]) is None  # shared words tell nothing of order in time
    assert all(np.isfinite(matrix).all() for matrix in (near, linked, told))


@given(LINES, UNITS, st.integers(1, 8))
def test_the_order_of_sentences_changes_nothing(question: str, units: Sequence[Candidate], most: int) -> None:
    analysis = QuestionAnalysis((), (), "")
    there, back = (near_features(Pool.of(question, analysis, order)) for order in (units, units[::-1]))
    assert np.allclose(there, back[::-1])
    assert len(read(question, analysis, units).units(most)) <= most
