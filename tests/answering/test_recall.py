"""A memory answers where it knows: what is near in wording and asks for something else is not answered from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedrag_flwr.answering.recall import Recall, Recalled, names_of
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.pipeline import Pipeline

# (question, answer, the answer's type, the sentence behind it under its title)
MEMORIES = (
    ("Who bought the mill of Ostrand?", "Mirko Delling", "PERSON", "Mirko Delling bought the mill of Ostrand in 1934."),
    ("When was the mill of Ostrand bought?", "1934", "YEAR", "Mirko Delling bought the mill of Ostrand in 1934."),
    ("How much does the ticket for the Pell fair cost?", "9 pounds", "MONEY", "A ticket for the Pell fair: 9 pounds."),
    ("In which year was the Pell fair first held?", "1888", "YEAR", "The Pell fair was first held in 1888."),
    ("When was Tine Aldgaard born?", "1947", "YEAR", "Tine Aldgaard was born in Skarnes in 1947."),
    ("Where was Tine Aldgaard born?", "Skarnes", "GPE", "Tine Aldgaard was born in Skarnes in 1947."),
    ("How deep is Lake Orre?", "41 metres", "QUANTITY", "Lake Orre, on the island of Hessa, is 41 metres deep."),
    ("Which ferry crosses Lake Orre?", "Lisbet", "PRODUCT", "The ferry Lisbet crosses Lake Orre."),
    ("On which island does Lake Orre lie?", "Hessa", "LOC", "Lake Orre, on the island of Hessa, is 41 metres deep."),
    ("How many patients does the Vaer clinic treat?", "310", "CARDINAL", "The Vaer clinic treats 310 patients a day."),
    ("What did Tine Aldgaard receive in 1981?", "Silver Medal", "NAME", "In 1981 she received the Silver Medal."),
    ("Who leads the HR department?", "Oda Renn", "PERSON", "Oda Renn leads the HR department."),
    ("Is the Brun chapel open on Sundays?", "no", "YESNO", "The Brun chapel is closed on Sundays."),
    ("How many clocks does the Brun chapel show?", "6", "CARDINAL", "The Brun chapel shows 6 clocks."),
)

KNOWN = [
    *((question, answer) for question, answer, *_ in MEMORIES),
    ("By whom was the mill of Ostrand bought?", "Mirko Delling"),
    ("Who bought the mill of Ostrand in 1934?", "Mirko Delling"),  # the sentence tells the year
    ("In what year was the mill of Ostrand bought?", "1934"),
    ("What is the price of the ticket for the Pell fair?", "9 pounds"),
    ("When was Tine Aldgaard born in Skarnes?", "1947"),
    ("What was Tine Aldgaard's year of birth?", "1947"),
    ("How many patients does the Vaer clinic treat a day?", "310"),
    ("Which medal did Tine Aldgaard receive in 1981?", "Silver Medal"),
]

UNKNOWN = {
    "another name": [
        "Who bought the mill of Grann?",
        "When was the mill of Holm bought?",
        "How much does the ticket for the Dorn fair cost?",
        "When was Tine Ekholm born?",
        "Where was Ruth Aldgaard born?",
        "How deep is Lake Ulm?",
        "How many patients does the Tarn clinic treat?",
        "Is the Dorn chapel open on Sundays?",
    ],
    "another name that is a common word": [
        "Where was Per Aldgaard born?",
        "When was Will Aldgaard born?",
        "Who leads the IT department?",
    ],
    "another number": [
        "Who bought the mill of Ostrand in 1935?",
        "Who leads the HR 2 department?",
    ],
    "another relation": [
        "Who sold the mill of Ostrand?",
        "Who built the mill of Ostrand?",
        "Who did not buy the mill of Ostrand?",
        "When did Tine Aldgaard die?",
        "When was Lake Orre drained?",
        "How wide is Lake Orre?",
        "In which year was the Pell fair last held?",
        "How many nurses does the Vaer clinic employ?",
        "When did the mother of Tine Aldgaard die?",
        "Where was the mother of Tine Aldgaard born?",
    ],
    "another thing": [
        "Which island was Tine Aldgaard born on?",
        "Which island is 41 metres deep?",
        "Which bus crosses Lake Orre?",
        "In which county does Lake Orre lie?",
        "How many beds does the Vaer clinic have?",
        "Which book did Tine Aldgaard receive in 1981?",
    ],
    "another kind": [
        "Which ferry was the mill of Ostrand bought with?",
        "Who was the Pell fair first held by?",
        "How much did the mill of Ostrand cost?",
        "Who crosses Lake Orre?",
    ],
    "yes or no": [
        "Was the mill of Ostrand bought in 1934?",
        "Was Tine Aldgaard born in Skarnes?",
        "Is Lake Orre 41 metres deep?",
        "When is the Brun chapel open on Sundays?",
    ],
    "what is read, not recalled": [
        "How was the mill of Ostrand bought?",
        "Why was the mill of Ostrand bought?",
        "Why does the ticket for the Pell fair cost 9 pounds?",
        "How does the ferry cross Lake Orre?",
        "'How' is Lake Orre 41 metres deep?",
        "Why Lisbet?",
        "What is a ferry?",
        "What are the ferries of Lake Orre?",
    ],
    "nothing of it": [
        "What did the Duke of Pell eat at his wedding?",
        "What is the capital of France?",
        "?",
        "",
    ],
}


@pytest.fixture(scope="module")
def recall(encoder: Encoder, pipeline: Pipeline) -> Recall:
    behind = {f"m{number}": sentence for number, (*_, sentence) in enumerate(MEMORIES)}
    items = [
        MemoryItem(
            f"m{number}",
            question,
            answer,
            "single",
            kind,
            (f"e{number}",),
            item_anchors(pipeline.question(question), kind),
            encoder.encode([question])[0],
            "home",
        )
        for number, (question, answer, kind, _) in enumerate(MEMORIES)
    ]
    return Recall(Matcher(items, 0.6), encoder, 0.5, 1.0, Quorum("home"), lambda item: [behind.get(item.id, "")])


def asked(recall: Recall, question: str, encoder: Encoder, pipeline: Pipeline) -> Recalled | None:
    return recall.known(question, encoder.encode([question])[0], pipeline.question(question))


@pytest.mark.parametrize(("question", "answer"), KNOWN)
def test_a_memory_that_knows_answers(
    question: str, answer: str, recall: Recall, encoder: Encoder, pipeline: Pipeline
) -> None:
    found = asked(recall, question, encoder, pipeline)
    assert found is not None
    assert found.match.item.answer == answer
    assert found.match.score >= recall.least
    assert found.relation == 1.0


@pytest.mark.parametrize(
    "question", [pytest.param(one, id=f"{why}: {one}") for why, many in UNKNOWN.items() for one in many]
)
def test_a_memory_that_only_comes_near_does_not(
    question: str, recall: Recall, encoder: Encoder, pipeline: Pipeline
) -> None:
    assert asked(recall, question, encoder, pipeline) is None


def test_without_memories_nothing_is_recalled(encoder: Encoder, pipeline: Pipeline, recall: Recall) -> None:
    empty = replace(recall, matcher=Matcher([], 0.6))
    assert asked(empty, KNOWN[0][0], encoder, pipeline) is None


@pytest.mark.parametrize(("told", "known"), [(0.5, True), (1.0, False)])
def test_how_much_a_memory_must_tell_is_a_setting(
    told: float, known: bool, recall: Recall, encoder: Encoder, pipeline: Pipeline
) -> None:
    question = "When was the mill of Ostrand bought cheaply?"
    found = asked(replace(recall, told=told), question, encoder, pipeline)
    assert (found is not None) == known


def test_another_devices_memory_answers_only_under_its_own_words(
    recall: Recall, encoder: Encoder, pipeline: Pipeline
) -> None:
    """Whoever puts the vector of another question behind a memory's words is not believed."""
    own = next(one for one in recall.matcher.items if one.answer == "41 metres")
    honest = replace(own, id="f1", origin="rivers", question="How deep is Lake Orre?")
    forged = replace(honest, id="f2", question="How deep is Lake Orre in the eastern arm of the fjord?")
    for item, known in ((honest, True), (forged, False)):
        changed = replace(recall, matcher=Matcher([item], 0.6))
        assert (asked(changed, "How deep is Lake Orre?", encoder, pipeline) is not None) == known


NAMES = [
    ("Who designed Tarn Bridge?", {"tarn", "bridge"}),
    ("Odile Varro was born where?", {"odile", "varro"}),
    ("Where was Per Aldgaard born?", {"per", "aldgaard"}),
    ("Does Tine Aldgaard paint?", {"tine", "aldgaard"}),
    ("Who leads the IT department?", {"it"}),
    ("In which town does it lie?", set()),
    ("Tell me who it was.", set()),
    ("How many of the 12 ships were lost in 1934?", {"12", "1934"}),
    ("How many of the twelve ships were lost?", {"twelve"}),
    ("Who lives in The Hague?", {"hague"}),
    ("", set()),
]


@pytest.mark.parametrize(("question", "names"), NAMES)
def test_names_and_numbers_of_a_question(question: str, names: set[str]) -> None:
    assert names_of(question) == names
