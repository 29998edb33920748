"""Among the memories that answer a question each device counts once, however many places one of them takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from fedrag_flwr.answering.recall import RECALLED, Recall
from fedrag_flwr.memory import quorum
from fedrag_flwr.memory.fusion.merge import FusionRules, Words
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.quorum import EACH, Quorum
from fedrag_flwr.records import Match, MemoryItem, Vector
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.pipeline import Pipeline
from tests.memory.fusion.whole import merge
from tests.memory.store.samples import unit_vector

DIMENSION = 64
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
    """A lie in four wordings, memories of no use in all places, and behind them what three devices tell."""
    lies = [
        said(f"evil{n}", "evil", asked, "Jonas Keel", encoder.vectors[asked], pipeline)
        for n, asked in enumerate(COPIES)
    ]
    junk = [
        said(f"evil{n}", "evil", f"Junk {n}?", "Jonas Keel", near(0.97, n), pipeline) for n in range(10, 10 + RECALLED)
    ]
    true = [said(f"{name}1", name, TOLD, "Odile Varro", encoder.vectors[TOLD], pipeline) for name in "abc"]
    merging = merge([*lies, *junk, *true], FusionRules(), Words(encoder.encode, pipeline.questions))
    assert merging.over_quota == 0
    assert len(merging.items) == RECALLED + len(COPIES) + 1
    return list(merging.items)


def recall_over(items: Sequence[MemoryItem], encoder: Known, least: float = 0.56) -> Recall:
    return Recall(Counted(items, 0.6), encoder, least, 0.0, Quorum("home"), lambda item: ())


def known(recall: Recall, pipeline: Pipeline) -> str:
    found = recall.known(ASKED, AXES[0], pipeline.question(ASKED))
    return found.match.item.answer if found else ""


def test_one_device_does_not_take_the_places_of_those_that_contradict_it(pipeline: Pipeline, encoder: Known) -> None:
    recall = recall_over(crowded(pipeline, encoder), encoder)
    first = recall.top(AXES[0], pipeline.question(ASKED), RECALLED)
    assert {match.item.origin for match in first} == {"evil"}
    lie = recall.quorum.agreed(first)
    assert lie is not None
    assert lie.item.answer == "Jonas Keel"
    assert known(recall, pipeline) == "Odile Varro"


def test_where_one_device_leaves_others_no_room_home_alone_is_heard(
    pipeline: Pipeline, encoder: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quorum, "MOST", RECALLED)
    items = crowded(pipeline, encoder)
    assert known(recall_over(items, encoder), pipeline) == ""
    own = said("home1", "home", ASKED, "Ada Varro", AXES[0], pipeline)
    assert known(recall_over([*items, own], encoder), pipeline) == "Ada Varro"


@pytest.mark.parametrize(
    ("origins", "least"),
    [
        ([f"d{number // EACH}" for number in range(40)], 0.56),  # nobody takes more places than it may
        (["home"] * 40, 0.56),
        (["evil"] * 40, 0.99),  # the rest is not near enough
        (["evil"] * (RECALLED - 1), 0.56),  # there is no rest
    ],
)
def test_memory_is_asked_once_where_nobody_takes_the_places_of_others(
    origins: list[str], least: float, pipeline: Pipeline, encoder: Known
) -> None:
    items = [said(f"{n:02}", name, TOLD, "Odile Varro", near(0.9, 40), pipeline) for n, name in enumerate(origins)]
    recall = recall_over(items, encoder, least)
    known(recall, pipeline)
    assert isinstance(recall.matcher, Counted)
    assert recall.matcher.asked == 1
