"""Among the memories that answer a question each device counts once, however many places one of them takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from fedrag_flwr.inference import memorizer
from fedrag_flwr.inference.fitting import Fitting
from fedrag_flwr.inference.hops import Hops
from fedrag_flwr.inference.leads import RECALLED, EvidenceLimits, Leads
from fedrag_flwr.inference.memorizer import EACH, Memorizer
from fedrag_flwr.inference.rewriting import Rewriter
from fedrag_flwr.memory.fusion.fusing import FusionRules, Words, merge
from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.records import EvidenceUnit, Match, MemoryItem, Vector
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import Pipeline
from tests.memory.store.samples import unit_vector

DIMENSION = 64
TOP = 5
PLACES = RECALLED * TOP
ASKED, TOLD = "Who designed Tarn Bridge?", "Who drew Tarn Bridge?"
COPIES = tuple(
    asked.format("who designed Tarn Bridge?") for asked in ("So, {}", "Well, {}", "Tell me: {}", "Again, {}")
)
AXES = np.eye(DIMENSION, dtype=np.float32)


def near(cosine: float, axis: int) -> Vector:
    """A unit vector at a cosine to the question, and at its square to others of another axis."""
    return np.asarray(cosine * AXES[0] + np.sqrt(1 - cosine**2) * AXES[axis], dtype=np.float32)


@dataclass
class Known:
    """Encodes the questions that it was told of; all others lie somewhere else."""

    id: str = "known"
    dimension: int = DIMENSION
    vectors: dict[str, Vector] = field(default_factory=dict)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self.vectors.get(text, unit_vector(text, DIMENSION)) for text in texts], dtype=np.float32)


class Counted(Matcher):
    """Counts how often it is asked."""

    asked = 0

    def top(self, vector: Vector, anchors: Collection[str], k: int) -> list[Match]:
        self.asked += 1
        return super().top(vector, anchors, k)


@pytest.fixture
def encoder() -> Known:
    vectors = {asked: near(0.97, axis) for axis, asked in enumerate(COPIES, 1)}
    return Known(vectors=vectors | {ASKED: AXES[0], TOLD: near(0.9, 40)})


def said(name: str, origin: str, question: str, answer: str, vector: Vector, pipeline: Pipeline) -> MemoryItem:
    anchors = item_anchors(pipeline.question(ASKED), "PERSON")
    return MemoryItem(name, question, answer, "single", "PERSON", (f"e{name}",), anchors, vector, origin)


def crowded(pipeline: Pipeline, encoder: Known) -> list[MemoryItem]:
    """Four wordings of a lie and twelve memories of no use, all nearer to the question than what three devices tell."""
    lies = [
        said(f"evil{n}", "evil", asked, "Jonas Keel", encoder.vectors[asked], pipeline)
        for n, asked in enumerate(COPIES)
    ]
    junk = [said(f"evil{n}", "evil", f"Junk {n}?", "Jonas Keel", near(0.97, n), pipeline) for n in range(10, 22)]
    true = [said(f"{name}1", name, TOLD, "Odile Varro", encoder.vectors[TOLD], pipeline) for name in "abc"]
    merging = merge([*lies, *junk, *true], FusionRules(), Words(encoder.encode, pipeline.questions))
    assert merging.over_quota == 0
    assert len(merging.items) == PLACES + 2
    return list(merging.items)


def leads_over(items: Sequence[MemoryItem], pipeline: Pipeline, encoder: Known) -> Leads:
    def nothing(vector: Vector, count: int) -> Sequence[EvidenceUnit]:
        return ()

    matcher, fitting = Counted(items, 0.6), Fitting(encoder, items, home="home")
    return Leads(
        memorizer=Memorizer(matcher, 0.56, fitting, "home"),
        rewriter=Rewriter(matcher, fitting, encoder, pipeline, nothing),
        hops=Hops(matcher, fitting.misfit),
        encoder=encoder,
        pipeline=pipeline,
        limits=EvidenceLimits(passages=5, words=400, top_k=TOP, notes=4),
    )


def test_one_device_does_not_take_the_places_of_those_that_contradict_it(pipeline: Pipeline, encoder: Known) -> None:
    leads = leads_over(crowded(pipeline, encoder), pipeline, encoder)
    [asked] = leads.read([ASKED])
    first = leads.recall(asked)
    assert {match.item.origin for match in first} == {"evil"}
    lie = leads.memorizer.answer(ASKED, asked.analysis, first)
    assert lie is not None
    assert lie.item.answer == "Jonas Keel"
    known = leads.lead(ASKED).known
    assert known is not None
    assert known.item.answer == "Odile Varro"


def test_where_one_device_leaves_others_no_room_home_alone_is_heard(
    pipeline: Pipeline, encoder: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memorizer, "MOST", PLACES)
    items = crowded(pipeline, encoder)
    assert leads_over(items, pipeline, encoder).lead(ASKED).known is None
    own = said("home1", "home", ASKED, "Ada Varro", AXES[0], pipeline)
    known = leads_over([*items, own], pipeline, encoder).lead(ASKED).known
    assert known is not None
    assert known.item.answer == "Ada Varro"


@pytest.mark.parametrize(
    ("origins", "delta"),
    [
        ([f"d{number // EACH}" for number in range(40)], 0.56),  # nobody takes more places than it may
        (["home"] * 40, 0.56),
        (["evil"] * 40, 0.99),  # the rest is not near enough
        (["evil"] * PLACES, 0.56),  # there is no rest
    ],
)
def test_memory_is_asked_once_where_nobody_takes_the_places_of_others(
    origins: list[str], delta: float, pipeline: Pipeline, encoder: Known
) -> None:
    items = [said(f"{n:02}", name, TOLD, "Odile Varro", near(0.9, 40), pipeline) for n, name in enumerate(origins)]
    leads = leads_over(items, pipeline, encoder)
    [asked] = leads.read([ASKED])
    matcher = leads.memorizer.matcher
    assert isinstance(matcher, Counted)
    first = leads.recall(asked)
    heard = Memorizer(matcher, delta, leads.memorizer.judge, "home").heard(ASKED, asked.analysis, asked.vector, first)
    assert heard is first
    assert matcher.asked == 1
