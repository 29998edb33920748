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


@pytest.mark.parametrize(
    ("question", "phrase", "noun"),
    [
        ("Where was the designer of the Ossel Bridge born?", "the designer of the Ossel Bridge", "designer"),
        ("When did Odile Varro's teacher die?", "Odile Varro's teacher", "teacher"),
        ("What is the most popular hotel in Jonas Keel's city of birth?", "Jonas Keel's city of birth", "city"),
        ("Who governs the province where Lindmoor is located?", "the province where Lindmoor is located", "province"),
        ("When did the author of The Salt That Burns retire?", "the author of The Salt That Burns", "author"),
    ],
)
def test_the_shortest_phrase_that_tells_a_thing_by_a_name_is_found(question: str, phrase: str, noun: str) -> None:
    found = SpacyPipeline().question(question).inner
    assert found is not None
    assert (found.text, found.noun) == (phrase, noun)
    assert question.startswith(found.before)
    assert found.named("Vessland") == question.replace(phrase, "Vessland")


@pytest.mark.parametrize(
    "question",
    [
        "What is the height of the Grey Lighthouse?",
        "Who is the designer of Tarn Bridge?",
        "How many clocks does Copper Hall show?",
        "Which is longer, the bridge at Lindmoor or the viaduct over the Marrow Valley?",
        "Was the designer of Tarn Bridge born in Vessland?",
        "How do I reset the password of my account?",
        "Which ships were under the command of the captain?",
    ],
)
def test_what_is_asked_for_itself_is_no_step(question: str) -> None:
    assert SpacyPipeline().question(question).inner is None
