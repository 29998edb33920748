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
HEDGED = [  # what a copula denies or doubts its relative clause does not state, and an adverb of doubt doubts a verb
    ("Velin", "Velin is not the drug that caused the rash of Ann Lee.", "What caused the rash of Ann Lee?", "Velin"),
    ("Velin", "Velin may be the drug that caused the rash of Ann Lee.", "What caused the rash of Ann Lee?", "Velin"),
    ("Velin", "Velin is not one of the drugs that caused the rash of Ann Lee.", "What caused the rash?", "Velin"),
    ("Velin", "Velin is not the drug that Ann Lee took in 1990.", "What did Ann Lee take?", "Velin"),
    ("Aspirin", "Aspirin is not a drug made by Bayer.", "What did Bayer make?", "Aspirin"),
    ("Aspirin", "Aspirin is not a drug made by Bayer.", "Which drug made?", "Aspirin"),
    ("Ann Lee", "Ann Lee was not the doctor who treated Bob Roe in 1990.", "Who treated Bob Roe?", "Ann Lee"),
    ("Ann Lee", "Ann Lee was no doctor who treated Bob Roe in 1990.", "Who treated Bob Roe?", "Ann Lee"),
    ("Ann Lee", "Ann Lee was a nurse, not the doctor who treated Bob Roe.", "Who treated Bob Roe?", "nurse"),
    (
        "Ann Lee",
        "Carl Fox claims that Ann Lee is the doctor who treated Bob Roe in 1990.",
        "Who treated Bob Roe?",
        "Ann Lee",
    ),
    *(
        ("Mr Jones", f"The stroke of Mr Jones was {doubt} caused by warfarin.", "What was the stroke by?", "warfarin")
        for doubt in (
            *("likely", "unlikely", "most likely", "presumably", "apparently", "seemingly", "potentially", "probably"),
            *("possibly", "perhaps"),
        )
    ),
    ("Mr Jones", "Maybe Mr Jones took aspirin in 2019.", "In what year did Mr Jones take aspirin?", "2019"),
    ("Mr Jones", "Mr Jones had NO stroke in 2019.", "When did Mr Jones have?", "2019"),
    ("Mr Jones", "Findings: No fracture was seen by Ann Lee in 2019.", "Who saw?", "Ann Lee"),
    ("Mr Jones", "(No fracture was seen by Ann Lee in 2019.)", "Who saw?", "Ann Lee"),
    ("Mr Jones", "Nothing else; No fracture was seen by Ann Lee in 2019.", "Who saw?", "Ann Lee"),
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
    ("Aron Castle", "Aron Castle was completed by 1450.", "When was Aron Castle completed?", "1450"),
    ("Aron Castle", "Aron Castle was completed by 5 May 1450.", "What did 5 May 1450 complete?", "Aron Castle"),
    ("Aron Castle", "Aron Castle was completed by the 1450s.", "What did the 1450s complete?", "Aron Castle"),
    ("Ann Lee", "The trial of Ann Lee was postponed to 5 May 2021.", "When was the trial postponed?", "5 May 2021"),
]
LASTED = [  # what tells when, and not how long
    ("Mr Jones", "Mr Jones took aspirin three days ago.", "How long did Mr Jones take aspirin?", "three days"),
    ("Mr Jones", "Mr Jones took aspirin three days ago.", "How many days did Mr Jones take aspirin?", "three days"),
    ("Mr Jones", "Mr Jones needed dialysis six months ago.", "How long did Mr Jones need dialysis?", "six months"),
    ("Mr Jones", "Mr Jones required dialysis two weeks after admission.", "How long did Mr Jones?", "two weeks"),
    ("Mr Jones", "Mr Jones required dialysis two weeks after admission.", "How many weeks did Mr Jones?", "two weeks"),
    ("Mr Jones", "Mr Jones took aspirin two days before he was admitted.", "How many days did Mr Jones?", "two days"),
    ("Mr Jones", "Mr Jones took aspirin two weeks later.", "How many weeks did Mr Jones?", "two weeks"),
    ("Ann Lee", "Ann Lee ran the hospital ten years ago.", "How long did Ann Lee run the hospital?", "ten years"),
]
ELSEWHERE = [  # what is said of a part, an object or another place
    (
        "Linwick",
        "Linwick is a town in Ossland. There are 14 towns in the county.",
        "How many towns does Linwick have?",
        "14",
    ),
    ("Linwick", "Linwick is a town. There are 14 towns in Ossland.", "How many towns does Linwick have?", "14"),
    ("Linwick", "Linwick is a town. In Ossland there are 14 towns.", "How many towns does Linwick have?", "14"),
    ("Linwick", "Linwick is a town. There are 14 towns that lie in Ossland.", "How many does Linwick have?", "14"),
    ("Saturn", "Saturn has a moon with a diameter of 5,150 km.", "What is the diameter of Saturn?", "5,150 km"),
    ("Saturn", "Saturn has a moon with a diameter of 5,150 km.", "How wide is Saturn?", "5,150 km"),
    ("NASA", "NASA launched a probe with a mass of 500 kg.", "What was the mass of NASA?", "500 kg"),
    (
        "Aron Castle",
        "Aron Castle was built in 1200. A fire destroyed the village church. It was rebuilt in 1620.",
        "In what year was Aron Castle rebuilt?",
        "1620",
    ),
    (
        "Humira",
        "Humira was started in 2018. A chest X-ray showed a lesion in the left lung. It was removed in 2019.",
        "In what year was Humira removed?",
        "2019",
    ),
    (
        "Vertigo",
        "Vertigo is a film by Alfred Hitchcock. Psycho followed in 1960. The film was shot in California.",
        "Where was Vertigo shot?",
        "California",
    ),
    (
        "Vertigo",
        "Vertigo is a film by Alfred Hitchcock. Psycho followed in 1960. The film was shot in California.",
        "Where was the film shot?",
        "California",
    ),
    (
        "Vertigo",
        "Vertigo is a film by Alfred Hitchcock. Psycho followed in 1960. The film's score was written by Ann Lee.",
        "Who wrote score?",
        "Ann Lee",
    ),
    (
        "Vertigo",
        "Vertigo is a film. Another film followed in 1960. The film was shot in California.",
        "Where was Vertigo shot?",
        "California",
    ),
    (
        "Humira",
        "Humira is a drug. Enbrel followed in 2019. The drug was stopped in May 2021.",
        "When was Humira stopped?",
        "May 2021",
    ),
]
CALLED = [  # what one is made, or is to another, is neither a name nor a profession
    (
        "Ann Lee",
        "Ann Lee was named director of the hospital in 2010.",
        "What was the name of Ann Lee?",
        "director of the hospital",
    ),
    (
        "Ann Lee",
        "Ann Lee was named director of the hospital in 2010.",
        "What name was given to Ann Lee?",
        "director of the hospital",
    ),
    ("Linwick", "Linwick was named a city in 2000.", "What was the name of Linwick?", "city"),
    (
        "Uranus",
        "Uranus was called Georgium Sidus by William Herschel.",
        "What was the name of William Herschel?",
        "Georgium Sidus",
    ),
    *(
        ("Ann Lee", f"Ann Lee was the {kin} of Bob Roe.", "What was the profession of Ann Lee?", kin)
        for kin in ("wife", "husband", "daughter", "friend", "brother", "rival")
    ),
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
    ("Velin", "Velin is the drug that Ann Lee took in 1990.", "What did Ann Lee take?", "Velin"),
    ("Aspirin", "Aspirin is a drug made by Bayer.", "Which drug was made by Bayer?", "Aspirin"),
    ("Ann Lee", "Ann Lee was the doctor who treated Bob Roe in 1990.", "Who treated Bob Roe?", "Ann Lee"),
    (
        "Ann Lee",
        "Ann Lee was the doctor who treated Bob Roe; it is said that Carl Fox left.",
        "Who treated Bob Roe?",
        "Ann Lee",
    ),
    (
        "Mr Jones",
        "The stroke of Mr Jones was caused by warfarin.",
        "What was the stroke of Mr Jones caused by?",
        "warfarin",
    ),
    ("Ann Lee", "Ann Lee joined No Doubt in 1990.", "In what year did Ann Lee join No Doubt?", "1990"),
    ("Ann Lee", "Ann Lee directed Dr. No in 1962.", "Who directed Dr. No?", "Ann Lee"),
    ("Aron Castle", "Aron Castle was completed in 1450.", "When was Aron Castle completed?", "1450"),
    ("Aron Castle", "Aron Castle was built by Ann Lee by 1450.", "Who built Aron Castle?", "Ann Lee"),
    ("Mr Jones", "Mr Jones needed dialysis for six months.", "How long did Mr Jones need dialysis?", "six months"),
    (
        "Mr Jones",
        "Mr Jones needed dialysis for two days before admission.",
        "How long did Mr Jones need dialysis?",
        "two days",
    ),
    ("Case", "The trial took two years after the appeal.", "How long did the trial take?", "two years"),
    (
        "Case",
        "The war lasted three years before a treaty was signed.",
        "How many years did the war last?",
        "three years",
    ),
    (
        "Linwick",
        "Linwick is a town in Ossland. There are 14 churches in the town.",
        "How many churches does Linwick have?",
        "14",
    ),
    ("Linwick", "Linwick is a town. There are 14 churches.", "How many churches does Linwick have?", "14"),
    ("Hubble", "Hubble is a telescope with a mass of 500 kg.", "What is the mass of Hubble?", "500 kg"),
    ("Hubble", "Hubble was launched with a mass of 500 kg.", "What was the mass of Hubble?", "500 kg"),
    ("Hubble", "NASA launched Hubble with a mass of 500 kg.", "What was the mass of Hubble?", "500 kg"),
    (
        "Aron Castle",
        "Aron Castle was built in 1200. Its tower burned down. It was rebuilt in 1620.",
        "In what year was Aron Castle rebuilt?",
        "1620",
    ),
    (
        "Aron Castle",
        "Aron Castle was built in 1200. The tower burned down. It was rebuilt in 1620.",
        "In what year was Aron Castle rebuilt?",
        "1620",
    ),
    (
        "Aron Castle",
        "Aron Castle was built in 1200. A fire destroyed it. It was rebuilt in 1620.",
        "In what year was Aron Castle rebuilt?",
        "1620",
    ),
    (
        "Aron Castle",
        "Aron Castle was built in 1200. Fire destroyed the castle. It was rebuilt in 1620.",
        "In what year was Aron Castle rebuilt?",
        "1620",
    ),
    (
        "Vertigo",
        "Vertigo is a film. Alfred Hitchcock made it in 1958. The film was shot in California.",
        "Where was Vertigo shot?",
        "California",
    ),
    (
        "Humira",
        "Humira is a drug. A rash followed in 2019. The drug was stopped in May 2021.",
        "When was Humira stopped?",
        "May 2021",
    ),
    (
        "Vesta",
        "Vesta is an asteroid. A year on it lasts 3.6 Earth years.",
        "How many years does a year on Vesta last?",
        "3.6 Earth years",
    ),
    ("Uranus", "Uranus was called Georgium Sidus.", "What was the name of Uranus?", "Georgium Sidus"),
    ("Lupus", "The scarring is called pulmonary fibrosis.", "What is the name of the scarring?", "pulmonary fibrosis"),
    ("Ann Lee", "Ann Lee was a Danish nurse.", "What was the profession of Ann Lee?", "nurse"),
]
OPEN_ENDED = [
    "No diagnosis has been made yet",
    "This is the largest crater measured yet",
    "Ann Lee was born in Rome, and was not",
]


def asked_of(title: str, text: str) -> set[tuple[str, str]]:
    """Give the questions and answers that a document's text makes."""
    parsed = next(iter(PIPELINE.parse([Document("doc", title, text, "")])))
    return {(draft.question, draft.answer) for draft in RuleSynthesizer(per_sentence=40).drafts(parsed)}


def says_to(question: str, answer: str) -> Callable[[tuple[str, str]], bool]:
    """Tell the memories that give this answer to a question of these words, whatever else it asks."""
    words = set(question.rstrip("?").lower().split())
    return lambda item: item[1] == answer and words <= set(item[0].rstrip("?").lower().split())


@pytest.mark.parametrize(
    ("title", "text", "question", "answer"),
    DENIED + HEDGED + ASKED + SHARED + TOLD + OTHERWISE + LASTED + ELSEWHERE + CALLED,
)
def test_what_is_not_stated_is_no_memory(title: str, text: str, question: str, answer: str) -> None:
    assert not list(filter(says_to(question, answer), asked_of(title, text)))


@pytest.mark.parametrize(("title", "text", "question", "answer"), STATED)
def test_what_is_stated_still_is(title: str, text: str, question: str, answer: str) -> None:
    asked = asked_of(title, text)
    assert (question, answer) in asked, sorted(asked)


@pytest.mark.parametrize("text", OPEN_ENDED)
def test_a_text_may_end_in_the_middle_of_a_sentence(text: str) -> None:
    assert isinstance(asked_of("Ann Lee", text), set)
