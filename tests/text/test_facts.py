"""Typed facts: a table of texts with what must and must not be found."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.records import Document
from fedrag_flwr.text.facts import typed_spans
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.quantities import is_telling_date, numeric_spans
from fedrag_flwr.text.words import normalise_anchor, normalise_line

FOUND = [
    ("Voyager 1 was launched by NASA on September 5, 1977.", {("NASA", "ORG"), ("September 5, 1977", "DATE")}),
    ("It flew on a Titan IIIE-Centaur rocket.", {("Titan IIIE-Centaur", "NAME"), ("rocket", "CONCEPT")}),
    (
        "Ariane 5 carried the James Webb Space Telescope.",
        {("Ariane 5", "NAME"), ("James Webb Space Telescope", "NAME")},
    ),
    (
        "It landed on comet 67P/Churyumov–Gerasimenko in 2014.",
        {("67P/Churyumov–Gerasimenko", "NAME"), ("2014", "YEAR")},
    ),
    ("The mirror is 2.4 metres wide and weighs 1,200 kg.", {("2.4 metres", "QUANTITY"), ("1,200 kg", "QUANTITY")}),
    ("It weighs 5 kg and moves at 17 km/s.", {("5 kg", "QUANTITY"), ("17 km/s", "QUANTITY")}),
    ("It cost $4.7 billion, about 12% more.", {("$4.7 billion", "MONEY"), ("12%", "PERCENT")}),
    ("It cost 20 million euros.", {("20 million euros", "MONEY")}),
    ("The mission lasted twelve years.", {("twelve years", "QUANTITY")}),
    ("It sold over 150 million copies.", {("150 million", "CARDINAL")}),
    ("He was born on 7 October 1592.", {("7 October 1592", "DATE")}),
    ("It was built in the 19th century and rebuilt in the 1990s.", {("19th century", "DATE"), ("1990s", "DATE")}),
    ("She studied at the University of Oxford.", {("University of Oxford", "ORG")}),
    ("The engine was made by Pratt & Whitney.", {("Pratt & Whitney", "ORG")}),
    ("In April 1990 Discovery placed the telescope in orbit.", {("April 1990", "DATE"), ("Discovery", "NAME")}),
    ("It left on 5 September 1977, sixteen days later.", {("5 September 1977", "DATE"), ("sixteen days", "QUANTITY")}),
    ("The universe is about 13.8 billion years old.", {("13.8 billion years", "QUANTITY")}),
    ("Cassini circled Saturn 294 times in all.", {("294", "CARDINAL")}),
    ("It flew towards Halley's Comet.", {("Halley's Comet", "NAME")}),
    ("The asteroid was first called 1999 RQ36.", {("1999 RQ36", "NAME")}),
    ("It appears in the film Quantum of Solace.", {("Quantum of Solace", "NAME")}),
    ("President Barack Obama spoke.", {("Barack Obama", "PERSON")}),
    ('The song "Hey Jude" became a hit.', {("Hey Jude", "WORK_OF_ART")}),
]
TYPES = {
    *("CARDINAL", "ORDINAL", "DATE", "TIME", "YEAR", "QUANTITY", "MONEY", "PERCENT", "NAME", "CONCEPT", "PERSON"),
    *("ORG", "GPE", "LOC", "FAC", "NORP", "EVENT", "PRODUCT", "WORK_OF_ART", "LAW", "LANGUAGE"),
}


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_facts_of_a_sentence(pipeline: Pipeline, text: str, expected: set[tuple[str, str]]) -> None:
    found = {(fact.text, fact.type) for fact in pipeline.facts([text])[0]}
    assert expected <= found


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("He said that it was his.", {"He", "it", "his"}),
        ("In London it rained.", {"In London", "it"}),
        ("However, It failed.", {"However", "It"}),
        ("The budget is decided annually.", {"annually", "The budget"}),
    ],
)
def test_function_words_are_no_facts(pipeline: Pipeline, text: str, absent: set[str]) -> None:
    assert absent.isdisjoint(fact.text for fact in pipeline.facts([text])[0])


@pytest.mark.parametrize("name", ["Augustus", "Juneau", "Novak", "Octavia", "Decker", "Augustine"])
def test_a_name_that_begins_like_a_month_is_no_date(name: str) -> None:
    assert list(numeric_spans(f"It was {name} who came.")) == []
    assert not is_telling_date(name)


@pytest.mark.parametrize("text", ["Nov. 1977", "5 Sept 1977", "August", "Sept.", "In Oct. 1592", "Aug 3"])
def test_months_are_dates_with_and_without_their_stop(text: str) -> None:
    assert "DATE" in [kind for _, _, kind in numeric_spans(f"{text}, they came.")]


def test_the_title_and_its_short_form_are_one_thing(pipeline: Pipeline) -> None:
    text = "Mike Cahill (born July 5, 1979) is an American director. Cahill won a prize at Sundance."
    (passage,) = next(iter(pipeline.parse([Document("d", "Mike Cahill (director)", text, "")])))
    anchors = [{fact.anchor for fact in sentence.facts} for sentence in passage.passage.sentences]
    assert all("mike cahill" in one for one in anchors)
    assert {fact.type for fact in passage.passage.facts if fact.anchor == "mike cahill"} == {"PERSON"}


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Triton", "Triton is by far the biggest moon of Neptune. Triton is cold.", "NAME"),
        ("Vera Rubin", "Vera Rubin was an American astronomer. Rubin studied galaxies.", "PERSON"),
        ("Darmstadt", "Darmstadt is a city in Germany.", "GPE"),
        ("Space Shuttle", "The Space Shuttle was a partly reusable spacecraft.", "NAME"),
        ("Photosynthesis", "In plants photosynthesis makes sugar from light.", "CONCEPT"),
    ],
)
def test_a_definition_tells_its_title_s_type(pipeline: Pipeline, title: str, text: str, expected: str) -> None:
    (passage,) = next(iter(pipeline.parse([Document("d", title, text, "")])))
    types = {fact.type for fact in passage.passage.facts if fact.anchor == normalise_anchor(title)}
    assert types == {expected}


LINE = 'Voyager 1 the moon of Saturn , and 5 kg in 1977 NASA \'s big - 67P/A $ 3 % "Hey Jude" . St. J. launched it'
WORDS = LINE.split(" ")


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), max_size=20))
def test_facts_never_overlap_and_carry_anchors(pipeline: Pipeline, words: list[str]) -> None:
    doc = pipeline.language(normalise_line(" ".join(words)))
    spans = typed_spans(doc, "Voyager 1")
    for before, after in pairwise(spans):
        assert before.end <= after.start
    for span in spans:
        assert 0 <= span.start < span.end <= len(doc)
        assert span.type in TYPES
        assert span.anchor == normalise_anchor(span.anchor) != ""
