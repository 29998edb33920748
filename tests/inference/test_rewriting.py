"""A description in a question is replaced by the name that memories or sentences lead to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fedrag_flwr.inference.fitting import Fitting
from fedrag_flwr.inference.hops import EACH, Hops
from fedrag_flwr.inference.rewriting import Rewriter, is_said, tells

from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit, MemoryItem, Vector
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import Pipeline

ROWS = [  # question, answer, type, origin
    ("Which ship sank off Mount Cairl in 1924?", "Windhover", "NAME", "a"),
    ("Which mountain rises above Lund?", "Mount Cairl", "LOC", "a"),
    ("Who commanded the Windhover?", "Jonas Keel", "PERSON", "b"),
    ("When was the Windhover launched?", "May 1911", "DATE", "b"),
    ("What colour was the Windhover?", "green", "", "b"),
    ("What did Odile Varro paint?", "Windhover", "NAME", "c"),
]


@pytest.fixture(scope="module")
def items(encoder: Encoder, pipeline: Pipeline) -> list[MemoryItem]:
    vectors = encoder.encode([question for question, *_ in ROWS])
    return [
        MemoryItem(
            f"i{number}", question, answer, "single", kind, (), item_anchors(pipeline.question(question), kind),
            vectors[number], origin,
        )
        for number, (question, answer, kind, origin) in enumerate(ROWS)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def rewriter(items: list[MemoryItem], encoder: Encoder, pipeline: Pipeline) -> Rewriter:
    def nothing(vector: Vector, count: int) -> Sequence[EvidenceUnit]:
        return ()

    return Rewriter(Matcher(items, 0.7), Fitting(encoder, items, home="b"), encoder, pipeline, nothing)


def test_a_memory_names_what_is_described(rewriter: Rewriter, pipeline: Pipeline) -> None:
    question = "Who commanded the ship that sank off Mount Cairl?"
    best, *_ = rewriter.rewrites(question, pipeline.question(question))
    assert (best.question, best.name) == ("Who commanded Windhover?", "Windhover")
    assert isinstance(best.source, MemoryItem)
    assert best.source.id == "i0"
    assert 0.5 < best.reach <= 1.0


def test_a_sentence_names_what_is_described(rewriter: Rewriter, encoder: Encoder, pipeline: Pipeline) -> None:
    text = "The first bridge over the Ossel at Lund is Tarn Bridge."
    unit = EvidenceUnit("d#0.0", text, "a", 0.9, "Lund")
    reading = Rewriter(rewriter.matcher, rewriter.fitting, encoder, pipeline, lambda vector, count: [unit])
    question = "Who designed the bridge that first crossed the Ossel?"
    names = {rewrite.name: rewrite for rewrite in reading.rewrites(question, pipeline.question(question))}
    assert names["Tarn Bridge"].source is unit
    assert names["Tarn Bridge"].question == "Who designed Tarn Bridge?"


def test_names_of_another_kind_and_names_in_the_question_are_not_offered(
    rewriter: Rewriter, pipeline: Pipeline
) -> None:
    question = "Who painted the mountain that stands where the Windhover sank?"
    names = {rewrite.name for rewrite in rewriter.rewrites(question, pipeline.question(question))}
    assert names <= {"Mount Cairl"}


def test_a_question_without_a_description_is_left_alone(rewriter: Rewriter, pipeline: Pipeline) -> None:
    assert rewriter.rewrites("Who painted it?", pipeline.question("Who painted it?")) == []


def test_memories_about_a_name_come_from_every_origin(
    items: list[MemoryItem], encoder: Encoder, pipeline: Pipeline
) -> None:
    hops = Hops(Matcher(items, 0.7), Fitting(encoder, items).misfit)
    vector = encoder.encode(["When did the Windhover begin its life?"])[0]
    found = hops.about("Windhover", vector, 5)
    assert {match.item.origin for match in found} == {"a", "b", "c"}
    assert sum(match.item.origin == "b" for match in found) == EACH
    assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
    assert hops.about("Nowhere", vector, 5) == []
    assert len(hops.about("the Windhover", vector, 1)) == 1


SAID = [
    ("Windhover", "The Windhover's crew", True),
    ("Mount Cairl", "Cairl is a mount", True),
    ("Lund", "Lundy", False),
]


@pytest.mark.parametrize(("name", "text", "said"), SAID)
def test_a_text_says_a_name(name: str, text: str, said: bool) -> None:
    assert is_said(name, text) is said


def test_a_memory_near_for_its_name_alone_tells_nothing(items: list[MemoryItem]) -> None:
    assert tells("Who commanded Windhover?", "Windhover", items[2])
    assert not tells("Where was Windhover built?", "Windhover", items[2])
