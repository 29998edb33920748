"""What a text does not state makes no memory, and what it states beside that still does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fedrag_flwr.memory.synthesis.rules import RuleSynthesizer
from fedrag_flwr.records import Document
from fedrag_flwr.text.pipeline import SpacyPipeline

PIPELINE = SpacyPipeline()

DENIED = [
    ("Nix Ltd", "Nix Ltd was founded not by Ann Lee but by Bob Roe in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "Nix Ltd was founded by Bob Roe, not Ann Lee.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "Nix Ltd moved to Rome, not Paris, in 1990.", "Where did Nix Ltd move?", "Paris"),
    (
        "Hydra Ltd",
        "Hydra Ltd was founded in Linwick in 1950, not in 1940.",
        "Which company was founded in 1940?",
        "Hydra Ltd",
    ),
    ("Hydra Ltd", "No engineer of Hydra Ltd met Carl Fox in 1951.", "When was Carl Fox met?", "1951"),
    (
        "Treaty",
        "Everyone except Carl Fox signed the treaty of Foo in 1920.",
        "Who signed the treaty of Foo?",
        "Carl Fox",
    ),
    ("Treaty", "Nobody but Ann Lee voted for the treaty in 1920.", "Who voted for the treaty in 1920?", "Nobody"),
    ("Acme", "Neither Acme Corp nor Borealis won the contract in 1999.", "Who won the contract?", "Borealis"),
    ("Argon", "Ann Lee, not Bob Roe, discovered argon in 1894.", "Who discovered argon?", "Bob Roe"),
    (
        "Argon",
        "It was not Ann Lee but Bob Roe who discovered argon in 1894.",
        "Who discovered argon in 1894?",
        "Ann Lee",
    ),
    ("Ann Lee", "Ann Lee never again visited Nix Ltd after 1990.", "What did Ann Lee visit?", "Nix Ltd"),
    ("Nix Ltd", "Nobody from Nix Ltd met Bob Roe in 1990.", "Who met Bob Roe?", "Nix Ltd"),
    (
        "Ann Lee",
        "Under no circumstances did Ann Lee meet Bob Roe in 1990.",
        "In what year did Ann Lee meet Bob Roe?",
        "1990",
    ),
    ("Ann Lee", "Few of the members of Nix Ltd knew Ann Lee.", "Who knew Ann Lee?", "members of Nix Ltd"),
    ("Ann Lee", "Ann Lee won no prize in 1990.", "When did Ann Lee win?", "1990"),
    (
        "Bank",
        "None of the people who had engaged in fraud met Ann Lee in 1990.",
        "Who had engaged in fraud?",
        "people",
    ),
    (
        "Mars",
        "Mars has no moons such as Phobos and Deimos.",
        "Which moons does Mars have?",
        "Phobos and Deimos",
    ),
]
ASKED = [
    (
        "Malaria",
        "Did Ann Lee discover malaria in 1880? Nobody knows.",
        "In what year did Ann Lee discover malaria?",
        "1880",
    ),
    (
        "Polio",
        'Albert Sabin asked: "Did Jonas Salk steal the vaccine from Albert Sabin in 1955?"',
        "Who stole the vaccine?",
        "Jonas Salk",
    ),
    (
        "Polio",
        "Q: Did Jonas Salk patent the vaccine in 1955? A: No.",
        "In what year did Jonas Salk patent the vaccine?",
        "1955",
    ),
    (
        "Marie Curie",
        "Had Marie Curie lived until 1940, she would have met Enrico Fermi.",
        "Until when had Marie Curie lived?",
        "1940",
    ),
    ("Ann Lee", "Were Ann Lee elected in 1990, Bob Roe would resign.", "In what year were Ann Lee elected?", "1990"),
]
SHARED = [
    (
        "Curie family",
        "Pierre Curie was born in 1859 and Marie Curie in 1867.",
        "In what year was Pierre Curie born?",
        "1867",
    ),
    (
        "Curie family",
        "Pierre Curie was born in 1859 and Marie Curie in 1867.",
        "When was Pierre Curie born in 1867?",
        "1859",
    ),
    (
        "Curie family",
        "Marie Curie was born in Warsaw and Pierre Curie in Paris.",
        "Where was Marie Curie born?",
        "Paris",
    ),
    (
        "Nix Ltd",
        "Nix Ltd was led by Ann Lee until 1990 and Bob Roe until 1995.",
        "Who led Nix Ltd until 1990?",
        "Bob Roe",
    ),
    ("Ann Lee", "Ann Lee was either born in 1900 or in 1901.", "In what year was Ann Lee born?", "1901"),
    ("Ann Lee", "Ann Lee was born in 1900 or 1901.", "In what year was Ann Lee born?", "1900"),
    ("Ann Lee", "Ann Lee served as coach from 1946 to 1953.", "When did Ann Lee serve as coach?", "1953"),
    (
        "Marie Curie",
        "Marie Curie won the prize in 1903 and Irene in 1935.",
        "In what year did Marie Curie win the prize?",
        "1935",
    ),
    (
        "Ann Lee",
        "Ann Lee ran 10 km in 40 minutes and 20 km in 90 minutes.",
        "How long did Ann Lee run 10 km?",
        "90 minutes",
    ),
    (
        "Ann Lee",
        "Ann Lee and Bob Roe were born in 1900 and 1910 respectively.",
        "In what year were Ann Lee and Bob Roe born?",
        "1910",
    ),
    ("Ann Lee", "Ann Lee has yet to visit Paris.", "Which place does Ann Lee have to visit?", "Paris"),
]
TOLD = [
    ("Hamlet", "It is a myth that Ann Lee wrote Hamlet in 1601.", "Who wrote Hamlet?", "Ann Lee"),
    (
        "Ann Lee",
        "Bob Roe wrongly stated that Ann Lee was born in Paris in 1900.",
        "Where was Ann Lee born?",
        "Paris",
    ),
    ("Ann Lee", "Ann Lee pretended that Bob Roe was born in Paris.", "Where was Bob Roe born?", "Paris"),
    ("Nix Ltd", "Suppose that Ann Lee founded Nix Ltd in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "Legend has it that Ann Lee founded Nix Ltd in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "The theory that Ann Lee founded Nix Ltd in 1990 is wrong.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "As Bob Roe claims, Ann Lee founded Nix Ltd in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "According to legend, Ann Lee founded Nix Ltd in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
]
OTHERWISE = [  # what the words say in another sense than a careless reader takes
    ("Aron Castle", "Aron Castle was abandoned before 1500.", "In what year was Aron Castle abandoned?", "1500"),
    ("Aron Castle", "Aron Castle was rebuilt after 1620.", "When was Aron Castle rebuilt?", "1620"),
    ("Aron Castle", "Aron Castle was sold between 1700 and 1710.", "In what year was Aron Castle sold?", "1700"),
    ("Acme", "Acme was founded by Leo Park before 1900.", "In what year was Acme founded?", "1900"),
    ("Acme Corporation", "Leo Park met Ann Wu after he left IBM.", "Who left IBM?", "Ann Wu"),
    (
        "Acme Corporation",
        "Ann Wu sued Leo Park because he had stolen the Mira Diamond.",
        "Who had stolen the Mira Diamond?",
        "Ann Wu",
    ),
    ("Case", "The theory that Leo Park killed Ann Wu was rejected.", "Who did Leo Park kill?", "Ann Wu"),
    ("Case", "The theory that Leo Park killed Ann Wu was rejected.", "What did Leo Park kill?", "theory"),
    ("Rome", "Rome was founded in 753 BC by Romulus.", "Where was Rome founded?", "753 BC"),
    ("Rome", "Rome was founded in 753 BC by Romulus.", "Which organisation was Rome founded in?", "753 BC"),
    ("Uruk", "Uruk was sacked in 1200 BC by raiders.", "In what year was Uruk sacked?", "1200"),
]
STATED = [
    ("Rome", "Rome was founded in 753 BC by Romulus.", "When was Rome founded?", "753 BC"),
    ("Acme Corporation", "Ann Wu joined in 1990. She left IBM in 1989.", "Who left IBM?", "Ann Wu"),
    ("Aron Castle", "Aron Castle was abandoned in 1500.", "In what year was Aron Castle abandoned?", "1500"),
    ("Nix Ltd", "Nix Ltd was founded not by Ann Lee but by Bob Roe in 1990.", "Who founded Nix Ltd?", "Bob Roe"),
    ("Nix Ltd", "Nix Ltd moved to Rome, not Paris, in 1990.", "Where did Nix Ltd move?", "Rome"),
    (
        "Hydra Ltd",
        "Hydra Ltd was founded in Linwick in 1950, not in 1940.",
        "When was Hydra Ltd founded in Linwick?",
        "1950",
    ),
    ("Argon", "Ann Lee, not Bob Roe, discovered argon in 1894.", "Who discovered argon in 1894?", "Ann Lee"),
    ("Nix Ltd", "Ann Lee had a few friends and founded Nix Ltd with no money.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "Ann Lee, who had no children, founded Nix Ltd in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
    ("No Doubt", "No Doubt is a band that was founded in Anaheim.", "Which band was founded in Anaheim?", "No Doubt"),
    (
        "Curie family",
        "Pierre Curie was born in 1859 and Marie Curie in 1867.",
        "In what year was Pierre Curie born?",
        "1859",
    ),
    (
        "Curie family",
        "Marie Curie was born in Warsaw and Pierre Curie in Paris.",
        "Where was Marie Curie born?",
        "Warsaw",
    ),
    (
        "Rosetta",
        "Rosetta passed Šteins in 2008 and Lutetia in 2010.",
        "In what year did Rosetta pass Lutetia?",
        "2010",
    ),
    ("Ann Lee", "Ann Lee worked in Rome and Paris in 1990.", "Where did Ann Lee work?", "Rome and Paris"),
    ("Nix Ltd", "It is known that Ann Lee founded Nix Ltd in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
    ("Nix Ltd", "Records show that Ann Lee founded Nix Ltd in 1990.", "Who founded Nix Ltd?", "Ann Lee"),
]


def asked_of(title: str, text: str) -> set[tuple[str, str]]:
    """Give the questions and answers that a document's text makes."""
    parsed = next(iter(PIPELINE.parse([Document("doc", title, text, "")])))
    return {(draft.question, draft.answer) for draft in RuleSynthesizer(per_sentence=40).drafts(parsed)}


def says_to(question: str, answer: str) -> Callable[[tuple[str, str]], bool]:
    """Tell the memories that give this answer to a question of these words, whatever else it asks."""
    words = set(question.rstrip("?").lower().split())
    return lambda item: item[1] == answer and words <= set(item[0].rstrip("?").lower().split())


@pytest.mark.parametrize(("title", "text", "question", "answer"), DENIED + ASKED + SHARED + TOLD + OTHERWISE)
def test_what_is_not_stated_is_no_memory(title: str, text: str, question: str, answer: str) -> None:
    assert not list(filter(says_to(question, answer), asked_of(title, text)))


@pytest.mark.parametrize(("title", "text", "question", "answer"), STATED)
def test_what_is_stated_still_is(title: str, text: str, question: str, answer: str) -> None:
    asked = asked_of(title, text)
    assert (question, answer) in asked, sorted(asked)
