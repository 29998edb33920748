"""The expected type of answer, over a table of questions, and what a question names."""

import pytest

from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.questions import matches_type

QUESTIONS = [
    ("In what year was Voyager 1 launched?", "YEAR"),
    ("What year did Apollo 11 land?", "YEAR"),
    ("Which year saw the first flight?", "YEAR"),
    ("The director of Gravity was born in what year?", "YEAR"),
    ("When was the Hubble Space Telescope launched?", "DATE"),
    ("Since when has the agency existed?", "DATE"),
    ("On what date did Cassini reach Saturn?", "DATE"),
    ("What is the birth date of Mike Cahill?", "DATE"),
    ("What is the date of death of the director of Aag?", "DATE"),
    ("How many moons does Mars have?", "CARDINAL"),
    ("How many people live in Oslo?", "CARDINAL"),
    ("What is the population of Norway?", "CARDINAL"),
    ("What number of instruments does Juno carry?", "CARDINAL"),
    ("How many kilometres did the rover drive?", "QUANTITY"),
    ("How many years did the mission last?", "QUANTITY"),
    ("How tall is the Saturn V?", "QUANTITY"),
    ("How far is Neptune from the Sun?", "QUANTITY"),
    ("How heavy was Sputnik 1?", "QUANTITY"),
    ("How fast does New Horizons travel?", "QUANTITY"),
    ("How long did the flight take?", "QUANTITY"),
    ("How wide is the main mirror of the telescope?", "QUANTITY"),
    ("How old was John Glenn on his second flight?", "QUANTITY"),
    ("How much does the lander weigh?", "QUANTITY"),
    ("What is the mass of Voyager 1?", "QUANTITY"),
    ("What was the diameter of the primary mirror of Hubble?", "QUANTITY"),
    ("What mass did Sputnik 1 have?", "QUANTITY"),
    ("How much did the James Webb Space Telescope cost?", "MONEY"),
    ("How much money did the company raise?", "MONEY"),
    ("What was the budget of the film Gravity?", "MONEY"),
    ("What percentage of the atmosphere of Mars is carbon dioxide?", "PERCENT"),
    ("Who discovered Uranus?", "PERSON"),
    ("Who was the first person on the Moon?", "PERSON"),
    ("Whom did Marie Curie marry?", "PERSON"),
    ("By whom was the comet discovered?", "PERSON"),
    ("Whose theory did Eddington test?", "PERSON"),
    ("Which astronomer discovered Titan?", "PERSON"),
    ("What scientist proposed the mission?", "PERSON"),
    ("Which American actress starred in Contact?", "PERSON"),
    ("Who is the paternal grandfather of Wenceslaus Of Niemodlin?", "PERSON"),
    ("What is the name of the director of Aag?", "PERSON"),
    ("The novel was written by what French author?", "PERSON"),
    ("Which agency built Rosetta?", "ORG"),
    ("What company manufactured the engine?", "ORG"),
    ("Which organisation runs the observatory?", "ORG"),
    ("At which university did Vera Rubin study?", "ORG"),
    ("Which band released the album?", "ORG"),
    ("Where was Ariane 5 launched?", "GPE"),
    ("Where is the headquarters of ESA?", "GPE"),
    ("In which city was Kepler born?", "GPE"),
    ("What country does the footballer play for?", "GPE"),
    ("What is the capital of France?", "GPE"),
    ("From which site did Voyager 1 lift off?", "LOC"),
    ("Which river flows through Cologne?", "LOC"),
    ("Is Titan larger than Mercury?", "YESNO"),
    ("Did Huygens land on Titan?", "YESNO"),
    ("Was the probe built in Germany?", "YESNO"),
    ("Were Scott Derrickson and Ed Wood of the same nationality?", "YESNO"),
    ("Are Voyager 1 and Voyager 2 still active?", "YESNO"),
    ("Does Europa have an ocean?", "YESNO"),
    ("In 1990, did the shuttle carry Hubble?", "YESNO"),
    ("In 1990, did the shuttle in which Hubble lay land again?", "YESNO"),
    ("Red Kite, is a film and a remake of Blue Kite, released in which year?", "YEAR"),
    ("Ada Morrow, is an engineer who was an assistant to which senator?", "PERSON"),
    ("Which rocket launched Cassini?", "NAME"),
    ("Which telescope replaced Hubble?", "NAME"),
    ("What spacecraft first visited Neptune?", "NAME"),
    ("Which moon of Saturn has a thick atmosphere?", "NAME"),
    ("What is Jupiter's largest moon?", "NAME"),
    ("Which film won the award?", "NAME"),
    ("On which rocket did Voyager 1 fly?", "NAME"),
    ("What is the name of the rover that landed in 2012?", "NAME"),
    ("Why did the mission fail?", ""),
    ("How does a reaction wheel work?", ""),
    ("What profession do Raj Kapoor and Mike Cahill share?", ""),
    ("Which is older, Voyager 1 or Pioneer 10?", ""),
    ("Was Kepler born in Germany or Austria?", ""),
    ("Name the rocket.", ""),
]


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
def test_answer_type(pipeline: Pipeline, question: str, expected: str) -> None:
    assert pipeline.question(question).answer_type == expected


@pytest.mark.parametrize(
    ("question", "anchors"),
    [
        ("In what year was Voyager 1 launched?", {"voyager 1"}),
        ("What is the name of the rocket that carried the James Webb Space Telescope?", {"james webb space telescope"}),
        ("Which agency built the Rosetta probe?", {"rosetta"}),
        ("How heavy was NASA's Juno when it left Earth on 5 August 2011?", {"nasa", "juno", "5 august 2011"}),
        ("What kind of planet is it?", {"planet"}),
    ],
)
def test_question_names_its_things(pipeline: Pipeline, question: str, anchors: set[str]) -> None:
    assert anchors <= set(pipeline.question(question).anchors)


@pytest.mark.parametrize("word", ["what year", "year", "name", "kind", "which", "who"])
def test_the_form_of_the_answer_is_no_anchor(pipeline: Pipeline, word: str) -> None:
    for question in ("In what year did it fly?", "What is the name of it?", "Which kind is it?", "Who is it?"):
        assert word not in pipeline.question(question).anchors


@pytest.mark.parametrize("text", ["", " ", "?", "what", "Who", "how many", "which of", ",", "In 1990,"])
def test_a_question_may_be_broken(pipeline: Pipeline, text: str) -> None:
    pipeline.question(text)


@pytest.mark.parametrize(
    ("expected", "fact", "fits"),
    [
        ("", "DATE", True),
        ("DATE", "YEAR", True),
        ("NAME", "PRODUCT", True),
        ("YEAR", "PERSON", False),
        ("GPE", "ORG", False),
    ],
)
def test_types_that_fit(expected: str, fact: str, fits: bool) -> None:
    assert matches_type(expected, fact) is fits
