"""Which passage bears an answer: what none bears is left out, and what bears it comes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.explain import bearing_first, borne, fills_mask, in_words, says_mask, sentences_of
from fedrag_flwr.answering.sentences import content_words
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.segment import under_title

BRIDGE = EvidenceUnit("b", "It was opened in 1924 after two years of work.", "bridges", 0.5, "Tarn Bridge")
SALT = EvidenceUnit("s", "Salt is mined in the north and shipped from Port Ferren.", "harbours", 0.5, "Salt")
UNITS = (BRIDGE, SALT)

# (an answer, its sentences that are kept, each with the unit that bears it)
ANSWERS: list[tuple[str, list[tuple[str, str]]]] = [
    ("Tarn Bridge was opened in 1924.", [("Tarn Bridge was opened in 1924.", "b")]),
    ("Salt is shipped from Port Ferren. It is mined in the north.", [
        ("Salt is shipped from Port Ferren.", "s"),
        ("It is mined in the north.", "s"),
    ]),
    ("Salt is mined in the north. Gulls cry over empty quarries.", [("Salt is mined in the north.", "s")]),
    ("The bridge was opened in 1924. Salt is shipped from the north.", [
        ("The bridge was opened in 1924.", "b"),
        ("Salt is shipped from the north.", "s"),
    ]),
    ("Gulls cry over empty quarries.", []),
    ("It is. They were.", []),
    ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "kept"), ANSWERS)
def test_a_sentence_is_kept_where_a_passage_bears_it(answer: str, kept: list[tuple[str, str]]) -> None:
    assert [(one.text, one.unit.id) for one in borne(answer, UNITS)] == kept
    assert borne(answer, ()) == []


SAID = st.lists(
    st.sampled_from(["bridge", "opened", "1924", "salt", "gulls", "the", "north", "Ferren", "§"]), max_size=9
)
TEXTS = st.lists(SAID.map(" ".join), max_size=5).map(
    lambda said: " ".join(f"{one.capitalize()}." for one in said if one)
)
READ = st.lists(
    st.builds(lambda words, name: EvidenceUnit(name, " ".join(words), "a", 0.5), SAID, st.text("xyz")), max_size=4
)


@given(TEXTS, READ)
def test_nothing_is_kept_that_no_passage_bears(answer: str, units: list[EvidenceUnit]) -> None:
    found = borne(answer, units)
    kept = [one.text for one in found]
    assert kept == [one for one in sentences_of(answer) if one in kept]
    for one in found:
        words = content_words(one.text)
        assert one.unit in units
        shared = [len(words & content_words(under_title(unit.title, unit.text))) for unit in units]
        assert max(shared) >= 0.6 * len(words) > 0
        assert shared[units.index(one.unit)] == max(shared)
    for sentence in sentences_of(answer):
        words = content_words(sentence)
        if words and any(words <= content_words(unit.text) for unit in units):
            assert sentence in kept


@given(TEXTS, TEXTS, READ)
def test_what_bears_an_answer_comes_first_and_nothing_is_lost(
    question: str, answer: str, units: list[EvidenceUnit]
) -> None:
    ordered = bearing_first(question, answer, units)
    assert sorted(ordered, key=repr) == sorted(units, key=repr)
    assert bearing_first(question, answer, ordered) == ordered


@pytest.mark.parametrize(
    ("question", "answer", "first"),
    [
        ("When was Tarn Bridge opened?", "1924", "b"),
        ("Where is salt shipped from?", "Port Ferren", "s"),
        ("Where is salt shipped from?", "a harbour", "s"),  # no passage holds the answer: the question's words decide
        ("What opened in 1924?", "Tarn Bridge", "b"),  # as its title says
    ],
)
def test_the_passage_that_holds_the_answer_comes_first(question: str, answer: str, first: str) -> None:
    for units in (UNITS, UNITS[::-1]):
        assert bearing_first(question, answer, units)[0].id == first


SENTENCES = [
    ("It opened in 1924. It is green.", ["It opened in 1924.", "It is green."]),
    ("It is 3.5 m long and by J. keel.", ["It is 3.5 m long and by J. keel."]),
    ('"Is it?" "It is."', ['"Is it?', '"It is."']),
    ("Ask Dr. Nils Falk. He knows.", ["Ask Dr. Nils Falk.", "He knows."]),
    ("No. It is closed.", ["No.", "It is closed."]),
    ("one line without a stop", ["one line without a stop"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "sentences"), SENTENCES)
def test_the_sentences_of_an_answer(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_surer_answer_is_not_told_as_a_less_sure_one(one: float, other: float) -> None:
    order = ["unsure", "likely", "sure"]
    low, high = sorted((one, other))
    assert order.index(in_words(low)) <= order.index(in_words(high))


PAINTED = EvidenceUnit(
    "m", "The hall shows a river. It was painted by [PERSON] in 1998.", "museums", 0.5, "Copper Hall"
)
SURVEY = EvidenceUnit("o", "Odile Varro measured the bridge. It is shut on Wednesday.", "bridges", 0.5, "Tarn Bridge")
COURSE = EvidenceUnit("c", "Course: Rowing; Day: Wed; Time: 16:30; Teacher: [PERSON]", "museums", 0.5)


@pytest.mark.parametrize(
    ("question", "answer", "empty"),
    [
        ("Who is the warden of the hall?", "The warden of the hall is [PERSON].", True),
        ("Who is the warden of the hall?", "[PERSON]", True),
        ("Who is the warden of the hall?", "[PERSON] of the parish", False),
        ("Who is the warden of the hall?", "The warden", False),
        ("Who is the warden of the hall?", "", False),
    ],
)
def test_an_answer_that_adds_only_a_mask_says_nothing(question: str, answer: str, empty: bool) -> None:
    assert says_mask(question, answer) == empty


@pytest.mark.parametrize(
    ("question", "answer", "filled"),
    [
        ("By whom was it painted in 1998?", "Odile Varro", True),
        ("By whom was it painted in 1998?", "It was painted by [PERSON].", False),  # says what stands there
        ("In which year was it painted?", "1998", False),
        ("Who measured the bridge?", "Odile Varro", False),  # another sentence tells it
        ("By whom was it painted in 1998?", "", False),
        ("When is the rowing course?", "On Wednesday at 16:30", False),  # the mask stands beside what is asked for
        ("Who is the teacher of the rowing course?", "Odile Varro teaches rowing", True),
        ("Who is the teacher of the rowing course?", "Nobody", False),
    ],
)
def test_no_name_of_home_is_put_where_another_device_holds_a_mask(question: str, answer: str, filled: bool) -> None:
    assert fills_mask(question, answer, (PAINTED, SURVEY, COURSE), "bridges") == filled
