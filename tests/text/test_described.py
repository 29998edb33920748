"""Which phrases of a question describe a thing without naming it."""

import pytest

from fedrag_flwr.text import SpacyPipeline

DESCRIBED = [  # question, phrase, its noun, the question with a name in its place
    (
        "Which rocket launched the probe that first visited Pluto?",
        "the probe that first visited Pluto",
        "probe",
        "Which rocket launched X?",
    ),
    (
        "In which city was the designer of the Tarn Bridge born?",
        "the designer of the Tarn Bridge",
        "designer",
        "In which city was X born?",
    ),
    (
        "When was the observatory that a Fregat stage sent off in December 2013 switched off?",
        "the observatory that a Fregat stage sent off in December 2013",
        "observatory",
        "When was X switched off?",
    ),
    (
        "What is the diameter of the planet whose rotation was measured in 1965?",
        "the planet whose rotation was measured in 1965",
        "planet",
        "What is the diameter of X?",
    ),
    (
        "How long does the comet on which the lander Philae touched down take to orbit the Sun?",
        "the comet on which the lander Philae touched down",
        "comet",
        "How long does X take to orbit the Sun?",
    ),
    (
        "Which upper stage pushed the observatory that measured two billion stars away from Earth?",
        "the observatory that measured two billion stars",
        "observatory",
        "Which upper stage pushed X away from Earth?",
    ),
]


@pytest.mark.parametrize(("question", "phrase", "noun", "named"), DESCRIBED)
def test_a_described_thing_is_found(question: str, phrase: str, noun: str, named: str) -> None:
    found = {part.text: part for part in SpacyPipeline().question(question).descriptions}
    assert phrase in found
    assert found[phrase].noun == noun
    assert found[phrase].named("X") == named
    assert all(f"{part.before}{part.text} {part.after}".replace(" ?", "?") == question for part in found.values())


PLAIN = [
    "Who discovered Uranus?",
    "Which rocket launched Sputnik 1?",
    "How many moons does Mars have?",
    "Which is higher, Mount Ferran or Mount Oska?",
    "",
    "?",
    "that which",
    "What is the name of the river?",
    "Ida Lorne is a figure of an opera composed by who?",
    "The Northern League includes the Varro team that was formed in what year?",
]


@pytest.mark.parametrize("question", PLAIN)
def test_a_question_that_names_everything_has_none(question: str) -> None:
    assert SpacyPipeline().question(question).descriptions == ()
