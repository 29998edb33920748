"""What memory says to a question as it came and with the first hop taken, and which memories the model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from fedrag_flwr.inference.fitting import Fitting
from fedrag_flwr.inference.hops import Hops
from fedrag_flwr.inference.leads import FROM_EACH, Asked, EvidenceLimits, Lead, Leads
from fedrag_flwr.inference.memorizer import Memorizer
from fedrag_flwr.inference.rewriting import Rewriter

from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit, Match, MemoryItem, Vector
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis

ROWS = [
    ("Which ship sank off Mount Cairl in 1924?", "Windhover", "NAME"),
    ("Who commanded the Windhover?", "Jonas Keel", "PERSON"),
    ("When was the Windhover launched?", "May 1911", "DATE"),
    ("Which mountain rises above Lund?", "Mount Cairl", "LOC"),
]


def nothing(vector: Vector, count: int) -> Sequence[EvidenceUnit]:
    return ()


@pytest.fixture(scope="module")
def leads(encoder: Encoder, pipeline: Pipeline) -> Leads:
    vectors = encoder.encode([question for question, *_ in ROWS])
    items = [
        MemoryItem(f"i{n}", q, a, "single", kind, (), item_anchors(pipeline.question(q), kind), vectors[n], "a")
        for n, (q, a, kind) in enumerate(ROWS)
    ]
    matcher, fitting = Matcher(items, 0.6), Fitting(encoder, items, home="a")
    return Leads(
        memorizer=Memorizer(matcher, 0.62, fitting, "a"),
        rewriter=Rewriter(matcher, fitting, encoder, pipeline, nothing),
        hops=Hops(matcher, fitting.misfit),
        encoder=encoder,
        pipeline=pipeline,
        limits=EvidenceLimits(passages=5, words=400, top_k=5, notes=4),
    )


def test_memory_answers_a_question_as_it_came(leads: Leads) -> None:
    lead = leads.lead("Who commanded the Windhover?")
    assert lead.known is not None
    assert (lead.known.item.answer, lead.via) == ("Jonas Keel", None)


def test_memory_answers_with_the_first_hop_taken(leads: Leads) -> None:
    lead = leads.lead("Who commanded the ship that sank off Mount Cairl?")
    assert lead.known is not None
    assert lead.via is not None
    assert (lead.known.item.answer, lead.via.name) == ("Jonas Keel", "Windhover")
    assert lead.asked.text == "Who commanded Windhover?"


def test_a_second_hop_that_memory_does_not_know_is_not_answered(leads: Leads) -> None:
    lead = leads.lead("Where was the ship that sank off Mount Cairl built?")
    assert lead.known is None


def test_no_second_hop_is_followed_where_none_is_asked_for(leads: Leads, encoder: Encoder, pipeline: Pipeline) -> None:
    question = "Who commanded the ship that sank off Mount Cairl?"
    [asked] = leads.read([question])
    found = [leads.hops.follow(question, asked.analysis, asked.vector, leads.recall(asked), k) for k in (0, 1)]
    assert [len(matches) for matches in found] == [0, 1]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_memories_localise_evidence_than_are_asked_for(leads: Leads, most: int) -> None:
    few = replace(leads, limits=replace(leads.limits, top_k=most))
    question = "What did the miller of Osgood sell?"
    [asked] = few.read([question])
    second = few.hops.follow(question, asked.analysis, asked.vector, few.recall(asked), FROM_EACH)
    assert len(few.lead(question).matches) == most + len(second)  # they come to those


def test_what_the_model_reads_beside_evidence_decides_nothing_else(leads: Leads) -> None:
    """Without notes memory leads to the same evidence."""
    bare = replace(leads, limits=replace(leads.limits, notes=0))
    for question in ("Where was the ship that sank off Mount Cairl built?", "Who saw the mountain above Lund?"):
        with_notes, without = leads.lead(question), bare.lead(question)
        assert with_notes.notes([], 4)
        assert without.notes([], 0) == []
        assert [one.item.id for one in without.matches] == [one.item.id for one in with_notes.matches]


def lead_of(rows: Sequence[tuple[str, str]]) -> Lead:
    one = np.ones(1, dtype=np.float32)
    matches = [
        Match(MemoryItem(f"i{n}", question, answer, "single", "", (), (), one, "a"), 1.0, 1.0, 0.0)
        for n, (question, answer) in enumerate(rows)
    ]
    return Lead(Asked("?", one, QuestionAnalysis((), (), "")), matches)


NOTES = [  # memories, a unit's text, the memories that are left
    ([("When was X launched?", "14 May 2009"), ("In what year was X launched?", "2009")], "", [0]),
    ([("In what year was X launched?", "2009"), ("When was X launched?", "14 May 2009")], "", [0, 1]),
    ([("Who commanded the Windhover?", "Jonas Keel")], "Jonas Keel commanded the Windhover.", []),
    ([("Who commanded the Windhover?", "Jonas Keel")], "Jonas Keel saw the Ossel.", [0]),
    ([("Who commanded the Windhover?", "Jonas Keel")], "Odile Varro commanded the Windhover.", [0]),
]


@pytest.mark.parametrize(("rows", "text", "left"), NOTES)
def test_notes_tell_something_of_their_own(rows: list[tuple[str, str]], text: str, left: list[int]) -> None:
    units = [EvidenceUnit("u", text, "a", 1.0)] if text else []
    assert [item.id for item in lead_of(rows).notes(units, 4)] == [f"i{n}" for n in left]
    assert len(lead_of(rows).notes(units, 1)) <= 1
