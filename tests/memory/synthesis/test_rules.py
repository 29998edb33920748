"""Fact-level questions by rules over the parse: what they ask, of whom, and that their answers stand in the text."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.memory.synthesis.classes import class_in_name
from fedrag_flwr.memory.synthesis.inflection import participle_of_past, past, plural, singular, third_person
from fedrag_flwr.memory.synthesis.rules import Draft, RuleSynthesizer, rank
from fedrag_flwr.memory.synthesis.verify import verify
from fedrag_flwr.memory.synthesis.wording import Asked, tidy
from fedrag_flwr.records import Document
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.pipeline import SpacyPipeline

PIPELINE = SpacyPipeline()

CASES = [
    ("Pluto", "Pluto was discovered by Clyde Tombaugh in 1930.", "Who discovered Pluto?", "Clyde Tombaugh"),
    ("Pluto", "Pluto was discovered by Clyde Tombaugh in 1930.", "When was Pluto discovered?", "1930"),
    ("Pluto", "Pluto was discovered by Clyde Tombaugh in 1930.", "In what year was Pluto discovered?", "1930"),
    ("Yuri Gagarin", "Yuri Gagarin was born in Klushino in 1934.", "Where was Yuri Gagarin born?", "Klushino"),
    ("Yuri Gagarin", "Yuri Gagarin was born in Klushino in 1934.", "When was Yuri Gagarin born?", "1934"),
    (
        "Voyager 1",
        "Voyager 1 is a probe. It was launched on 5 September 1977.",
        "When was Voyager 1 launched?",
        "5 September 1977",
    ),
    (
        "Voyager 1",
        "Voyager 1 is a probe. It was launched on 5 September 1977.",
        "In what year was Voyager 1 launched?",
        "1977",
    ),
    ("Mars", "Mars has two moons.", "How many moons does Mars have?", "two"),
    ("Mars", "Mars has two moons, Phobos and Deimos.", "Which moons does Mars have?", "Phobos and Deimos"),
    (
        "Hubble Space Telescope",
        "The Hubble Space Telescope orbits Earth. Its primary mirror has a diameter of 2.4 metres.",
        "What is the diameter of the Hubble Space Telescope's primary mirror?",
        "2.4 metres",
    ),
    (
        "Hubble Space Telescope",
        "The Hubble Space Telescope is named after the astronomer Edwin Hubble.",
        "Which astronomer is the Hubble Space Telescope named after?",
        "Edwin Hubble",
    ),
    (
        "Hubble Space Telescope",
        "The Hubble Space Telescope is named after the astronomer Edwin Hubble.",
        "Who is the Hubble Space Telescope named after?",
        "Edwin Hubble",
    ),
    (
        "MESSENGER",
        "MESSENGER was the first spacecraft to orbit Mercury.",
        "Which spacecraft was the first to orbit Mercury?",
        "MESSENGER",
    ),
    (
        "Cassini",
        "Cassini was a spacecraft that was built by NASA and orbited Saturn for 13 years.",
        "How long did Cassini orbit Saturn?",
        "13 years",
    ),
    (
        "Cassini",
        "Cassini was a spacecraft that was built by NASA and orbited Saturn for 13 years.",
        "Which spacecraft orbited Saturn?",
        "Cassini",
    ),
    (
        "Curiosity",
        "Curiosity is a rover. The rover weighs 899 kilograms.",
        "How much does Curiosity weigh?",
        "899 kilograms",
    ),
    (
        "Curiosity",
        "Curiosity is a rover. The rover weighs 899 kilograms.",
        "What is the mass of Curiosity?",
        "899 kilograms",
    ),
    (
        "Mercury",
        "Mercury is a planet. It completes an orbit in 88 days.",
        "How long does Mercury take to complete an orbit?",
        "88 days",
    ),
    (
        "Titan",
        "Saturn's largest moon, Titan, was discovered by Christiaan Huygens in 1655.",
        "What was Saturn's largest moon?",
        "Titan",
    ),
    (
        "Voyager 2",
        "Voyager 2 is a probe. In 1989 it photographed a storm named the Great Dark Spot.",
        "What is the name of the storm that Voyager 2 photographed?",
        "Great Dark Spot",
    ),
    (
        "William Herschel",
        "William Herschel discovered Uranus in 1781.",
        "When was Uranus discovered?",
        "1781",
    ),
    (
        "William Herschel",
        "William Herschel discovered Uranus in 1781.",
        "What did William Herschel discover?",
        "Uranus",
    ),
    (
        "Curiosity",
        "Curiosity is a rover. There are 17 cameras on board.",
        "How many cameras does Curiosity have?",
        "17",
    ),
    (
        "Arecibo",
        "Arecibo had a dish. It collapsed in 2020.",
        "In what year did Arecibo collapse?",
        "2020",
    ),
]


def draft_document(title: str, text: str) -> list[Draft]:
    """Parse a document and make its drafts."""
    return RuleSynthesizer(per_sentence=40).drafts(parse(title, text))


def parse(title: str, text: str) -> Sequence[ParsedPassage]:
    """Parse one document."""
    return next(iter(PIPELINE.parse([Document("doc", title, text, "")])))


ODD = {  # what a table, a scan or a register may hold
    "words": ("word " * 40 + "\n") * 60,
    "missing": "NA " * 2_000,
    "numbers": " ".join(str(number * 37 % 9973) for number in range(1_500)),
    "initials": "a. B. c. D. " * 250,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ODD)
def test_a_text_without_sentences_is_passed_over_in_time_that_grows_with_its_length(kind: str) -> None:
    assert draft_document("Curiosity", "Curiosity is a rover with 17 cameras.\n\n" + ODD[kind])


@pytest.mark.parametrize(("title", "text", "question", "answer"), CASES)
def test_asks_what_people_ask(title: str, text: str, question: str, answer: str) -> None:
    asked = {(draft.question, draft.answer) for draft in draft_document(title, text)}
    assert (question, answer) in asked, sorted(asked)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Pluto", "Pluto was not discovered in 1920."),
        ("Pluto", "Some astronomers believe that Pluto formed in 2020."),
        ("Pluto", "Pluto could be visited in 2050."),
        ("Pluto", "We saw it in 1930."),
    ],
)
def test_asks_nothing_that_the_text_does_not_state(title: str, text: str) -> None:
    assert not [draft for draft in draft_document(title, text) if draft.answer_type in ("YEAR", "DATE")]


@pytest.mark.parametrize(
    ("title", "text", "answers"),
    [
        ("Voyager 2", "Voyager 2 did not orbit Neptune or visit Pluto.", ("Pluto", "Neptune")),
        ("Aurora", "The Aurora was never launched or tested in Norway.", ("Norway",)),
        ("Cassini", "Cassini might orbit Titan and visit Uranus.", ("Titan", "Uranus")),
        ("Velora", "There is no evidence that Velora prevents malaria in Kenya.", ("Kenya", "malaria")),
        ("Voyager", "NASA did not confirm that Voyager visited Pluto in 1990.", ("Pluto", "1990")),
        ("Aurora", "If the Aurora landed in Norway and sent data to Kenya, nobody noticed.", ("Norway", "Kenya")),
        ("Pluto", "Pluto is no longer a planet.", ("planet",)),
        ("Aurora", "The Aurora reportedly landed in Norway in 1990.", ("Norway", "1990")),
    ],
)
def test_what_is_denied_or_doubted_is_no_memory(title: str, text: str, answers: tuple[str, ...]) -> None:
    said = [draft for draft in draft_document(title, text) if any(answer in draft.answer for answer in answers)]
    assert not said


@pytest.mark.parametrize(
    ("title", "text", "answer"),
    [
        ("Aurora", "The Aurora was not built in Norway but launched in Kenya in 1990.", "1990"),
        ("Aurora", "The Aurora did not reach Mars and was lost in 1990.", "1990"),
        ("Aurora", "The Aurora was launched in 1990 and tested in Norway.", "Norway"),
        ("Aurora", "The news that the Aurora landed in Norway spread in 1990.", "1990"),
    ],
)
def test_a_denial_does_not_reach_what_is_said_beside_it(title: str, text: str, answer: str) -> None:
    assert answer in {draft.answer for draft in draft_document(title, text)}


def test_pronouns_of_another_subject_are_not_the_topic() -> None:
    text = "Pluto is a dwarf planet. Clyde Tombaugh found the planet in 1930. He was born in Streator."
    questions = [draft.question for draft in draft_document("Pluto", text)]
    assert "Where was Clyde Tombaugh born?" in questions
    assert not [question for question in questions if "Pluto born" in question]


def test_a_title_that_the_text_never_names_is_no_topic() -> None:
    drafts = draft_document("Miscellany", "It was launched in 1990. The launch took place in Florida.")
    assert not [draft for draft in drafts if "Miscellany" in draft.question]


def test_classes_that_the_document_tells_choose_the_wh_phrase() -> None:
    text = "The Deep Space Network received data from Rosetta in 2016. Rosetta was a mission."
    questions = [draft.question for draft in draft_document("Deep Space Network", text)]
    assert [question for question in questions if question.startswith("Which mission")], questions


def test_no_more_than_the_limit_and_no_duplicates() -> None:
    text = " ".join(text for _, text, _, _ in CASES)
    drafts = RuleSynthesizer(per_sentence=5).drafts(parse("Pluto", text))
    sentences = {draft.support for draft in drafts}
    assert all(sum(draft.support == sentence for draft in drafts) <= 5 for sentence in sentences)
    assert len({(draft.question, draft.answer, draft.support) for draft in drafts}) == len(drafts)


def test_answers_stand_in_the_sentence_or_are_the_topic() -> None:
    for title, text, _, _ in CASES:
        passages = parse(title, text)
        texts = {s.id: f"{title}. {s.text}" for parsed in passages for s in parsed.passage.sentences}
        reasons = [
            verify(draft, [texts[unit] for unit in draft.support]) for draft in RuleSynthesizer().drafts(passages)
        ]
        assert reasons.count("not-in-evidence") == 0
        assert reasons.count(None) >= 1


def test_twenty_sentences_a_second() -> None:
    passages = parse("Pluto", " ".join(text for _, text, _, _ in CASES))
    sentences = sum(len(parsed.passage.sentences) for parsed in passages)
    started = time.perf_counter()
    RuleSynthesizer().drafts(passages)
    assert sentences / (time.perf_counter() - started) > 20


@pytest.mark.parametrize(
    "text",
    [
        "()",
        "Yes. No. Why?",
        'Kal Aaj Aur Kal (Yesterday, Today and "Tomorrow) is a film from 1971.',
        "There, in 1930, was he who, having been seen, saw it.",
        "'s Gravenhage is the formal name of The Hague. ’s mission was launched in 1990.",
        "The steps ❶❷❸❹ were listed in ፩፱፪፬ by Anna Berg.",
        "1930. 1931, 1932 and 1933; 5 km, 6 km.",
        "the of and to in 1930 by with from",
        "Pluto's. Pluto’s moon’s name, whose, which that who is.",
        "A. B. C. was D. E. of F., G. and H. in I.",
    ],
)
def test_odd_texts_give_no_error_and_no_open_brackets(text: str) -> None:
    for draft in draft_document("Pluto", text):
        assert draft.question.count("(") == draft.question.count(")")
        assert draft.question.count('"') % 2 == 0


def test_an_empty_document_gives_nothing() -> None:
    assert RuleSynthesizer().drafts([]) == []


@pytest.mark.parametrize(
    ("lemma", "simple", "perfect", "third"),
    [
        ("launch", "launched", "launched", "launches"),
        ("write", "wrote", "written", "writes"),
        ("carry", "carried", "carried", "carries"),
        ("plan", "planned", "planned", "plans"),
        ("build", "built", "built", "builds"),
        ("have", "had", "had", "has"),
        ("fly", "flew", "flown", "flies"),
    ],
)
def test_verb_forms(lemma: str, simple: str, perfect: str, third: str) -> None:
    assert (past(lemma), participle_of_past(past(lemma), lemma), third_person(lemma)) == (simple, perfect, third)


@pytest.mark.parametrize(
    ("one", "many"), [("moon", "moons"), ("galaxy", "galaxies"), ("spacecraft", "spacecraft"), ("person", "people")]
)
def test_noun_forms(one: str, many: str) -> None:
    assert (plural(one), singular(many)) == (many, one)


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("ames research center", "center"),
        ("university of arizona", "university"),
        ("mitsubishi heavy industries", "company"),
        ("voyager 1", ""),
    ],
)
def test_class_within_a_name(name: str, noun: str) -> None:
    assert class_in_name(name) in (noun, "")


@given(st.text(max_size=80))
@settings(max_examples=80, deadline=None)
def test_tidy_twice_changes_nothing_more(text: str) -> None:
    once = tidy(tidy(text))
    assert tidy(once) == once


@given(
    st.lists(
        st.builds(
            Asked,
            st.sampled_from(["Who saw it?", "Who saw Pluto in 1930?", "Who saw Pluto?", "When was Pluto seen?"]),
            st.sampled_from(["Tombaugh", "1930", ""]),
            st.sampled_from(["PERSON", "YEAR", ""]),
            st.floats(0, 1),
        ),
        max_size=20,
    ),
    st.integers(0, 6),
)
@settings(max_examples=60, deadline=None)
def test_ranking_keeps_at_most_the_limit_and_one_answer_for_a_question(asked: list[Asked], limit: int) -> None:
    kept = rank(asked, limit)
    assert len(kept) <= limit
    assert len({item.question for item in kept}) == len(kept)
    assert all(item.score > 0 and item.answer for item in kept)
