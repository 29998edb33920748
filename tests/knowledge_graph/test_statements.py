"""Statements: which sentence states a relation, and which tuples say nothing of a thing."""

from __future__ import annotations

import pytest

from fedrag_flwr.knowledge_graph.statements import statements_of
from fedrag_flwr.records import EvidenceTuple, Fact, Passage, Sentence

TEXTS = (
    "The bridge is old.",
    "Varro drew it.",
    "Linwick lies north.",
    "Varro drew Linwick Bridge.",
    "Varro drew more.",
)
PASSAGE = Passage(
    "p",
    "d",
    "Linwick Bridge",
    " ".join(TEXTS),
    tuple(Sentence(f"s{number}", "p", text) for number, text in enumerate(TEXTS)),
)


@pytest.mark.parametrize(
    ("head", "tail", "sentence"),
    [
        ("Varro", "Linwick Bridge", "s3"),  # both ends, though the head alone stands earlier
        ("Odile", "Linwick", "s2"),  # the tail alone, before a sentence with both of others
        ("Varro", "harbour", "s1"),  # the head alone: the first that holds it
        ("Odile", "harbour", "s0"),  # neither
    ],
)
def test_a_statement_names_the_sentence_that_states_it(head: str, tail: str, sentence: str) -> None:
    [stated] = statements_of([EvidenceTuple(head, "drew", tail, "p")], {"p": PASSAGE})
    assert (stated.sentence_id, stated.passage_id, stated.document_id) == (sentence, "p", "d")


@pytest.mark.parametrize(("head", "tail"), [("Varro", "the Varro"), ("", "Varro"), ("Varro", "x" * 500)])
def test_what_says_nothing_of_a_thing_is_left_out(head: str, tail: str) -> None:
    assert not list(statements_of([EvidenceTuple(head, "is", tail, "p")], {"p": PASSAGE}))


def test_types_come_from_the_passage() -> None:
    typed = Passage("p", "d", "Mill", "In 1924.", (Sentence("s", "p", "In 1924.", (Fact("1924", "DATE", "1924"),)),))
    told = EvidenceTuple("Mill", "opened in", "1924", "p", factual=0.5, confidence=0.5)
    [stated] = statements_of([told], {"p": typed})
    assert (stated.tail.type, stated.weight) == ("DATE", 0.25)
    assert [end.text for end in stated.things] == ["Mill"]
