"""Whom a pronoun means: the topic while it leads, and nobody where another person may be meant."""

from __future__ import annotations

import pytest

from tests.memory.synthesis.test_stating import asked_of, says_to

OTHERS = [
    (
        "Ann Lee",
        "Ann Lee was the wife of Bob Roe. Her husband was born in 1900. He died in 1950.",
        "In what year did Ann Lee die?",
        "1950",
    ),
    ("Ann Lee", "Bob Roe taught Ann Lee. He died in 1950 in Rome.", "Where did Ann Lee die?", "Rome"),
    (
        "Tom Hanks",
        "Tom Hanks was offered the role of Jerry, but Tom Cruise played him.",
        "Who played Tom Hanks?",
        "Tom Cruise",
    ),
    (
        "Carl Fox",
        "Carl Fox was born in Rome. The town was founded by Bob Roe. He died in 1900.",
        "In what year did Carl Fox die?",
        "1900",
    ),
    (
        "Ann Lee",
        "Ann Lee was born in Rome. She married Bob Roe. He died in 1900. She moved to Paris.",
        "In what year did Ann Lee die?",
        "1900",
    ),
    (
        "Carl Fox",
        "Carl Fox met Bob Roe in 1950. Bob Roe sold his house in 1960.",
        "Who sold Carl Fox's house?",
        "Bob Roe",
    ),
    (
        "Carl Fox",
        "Carl Fox was an actor. He moved to Texas. Jerry sold the house. He is buried in Rome.",
        "Where is Carl Fox buried?",
        "Rome",
    ),
    (
        "Foo Bridge",
        "Foo Bridge stands in Rome. Nix Tower is near Foo Bridge. Its height is 50 metres.",
        "What is the height of Foo Bridge?",
        "50 metres",
    ),
    ("Carl Fox", "Carl Fox met Bob Roe in 1950 and admired him.", "Who did Carl Fox admire?", "Carl Fox"),
]
TOPIC = [
    (
        "Carl Fox",
        "Carl Fox was a composer. His music was played by Bob Roe. In 1950 he moved to Texas.",
        "In what year did Carl Fox move to Texas?",
        "1950",
    ),
    (
        "Carl Fox",
        "Carl Fox was born in Rome. He studied in Paris. In 1950 he met Bob Roe. He died in 1960.",
        "In what year did Carl Fox die?",
        "1960",
    ),
    (
        "Carl Fox",
        "Carl Fox was an actor. His first film was released in 1950. He moved to Texas.",
        "Where did Carl Fox move?",
        "Texas",
    ),
    (
        "Carl Fox",
        "Carl Fox was an actor. He moved to Texas. His wife was Eva Roe. He is buried in Rome.",
        "Where is Carl Fox buried?",
        "Rome",
    ),
    (
        "Carl Fox",
        "William Carl Fox was an actor. He lived in Texas. Fox met Bob Roe in 1950. He died in Rome.",
        "Where did Carl Fox die?",
        "Rome",
    ),
    (
        "Carl Fox",
        "Carl Fox was an actor. Bob Roe invited him to Rome in 1970.",
        "Where did Bob Roe invite Carl Fox?",
        "Rome",
    ),
]


@pytest.mark.parametrize(("title", "text", "question", "answer"), OTHERS)
def test_a_pronoun_that_may_mean_another_is_not_the_topic(title: str, text: str, question: str, answer: str) -> None:
    assert not list(filter(says_to(question, answer), asked_of(title, text)))


@pytest.mark.parametrize(("title", "text", "question", "answer"), TOPIC)
def test_a_topic_that_leads_is_what_the_pronoun_means(title: str, text: str, question: str, answer: str) -> None:
    asked = asked_of(title, text)
    assert (question, answer) in asked, sorted(asked)
