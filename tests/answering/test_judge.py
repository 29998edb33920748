"""How likely an answer is right: a probability over features of the declared length, whatever was written and read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.extract import NONE
from fedrag_flwr.answering.judge import (
    READ_FEATURES,
    RECALL_FEATURES,
    SPAN_FEATURES,
    Judge,
    invents_number,
    read_features,
    recall_features,
)
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.answering.read import Draft
from fedrag_flwr.answering.recall import Recalled
from fedrag_flwr.records import EvidenceUnit, Match, MemoryItem
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.pipeline import Pipeline
from tests.memory.store.samples import unit_vector

BRIDGE = EvidenceUnit("b", "Odile Varro designed it in 1924.", "bridges", 0.8, "Tarn Bridge")
ITEM = MemoryItem("i", "Who?", "Ada", "single", "PERSON", ("e",), (), unit_vector("q"), "home")

SHOP = EvidenceUnit("s", "Call 0555 1234. Founded on 3 May 1907. The roof cost 15,200 euros.", "shop", 0.8, "Shop")


@pytest.mark.parametrize(
    ("answer", "invented"),
    [
        ("123-456-7890", True),
        ("It was founded in 1908.", True),
        ("It was founded in 1907.", False),
        ("1907-05-03", False),
        ("15200 euros", False),
        ("15 200 euros", False),
        ("1. Call. 2. Wait 10 minutes.", False),
        ("In 1850, as asked.", False),
        ("nobody", False),
    ],
)
def test_a_number_that_no_passage_tells_is_invented(answer: str, invented: bool) -> None:
    assert invents_number(answer, "What happened in 1850?", [SHOP]) is invented


finite = st.floats(-1e6, 1e6)
numbers = st.floats()  # infinities and nan, too: a model may tell anything
texts = st.one_of(st.text(max_size=40), st.sampled_from(["yes", "No", "1924", "Odile Varro", "", "It was. It is."]))
drafts = st.builds(Draft, texts, logprob=numbers, unknown=numbers)
analyses = st.sampled_from(["", "YESNO", "DATE", "PERSON", "MONEY"]).map(lambda kind: QuestionAnalysis((), (), kind))
read = st.lists(
    st.builds(EvidenceUnit, st.text("ab", min_size=1), texts, st.just("a"), st.just(0.5), texts), max_size=4
)


@given(texts, analyses, drafts, read)
def test_an_answers_features_have_the_declared_length_and_are_finite(
    question: str, analysis: QuestionAnalysis, draft: Draft, units: list[EvidenceUnit]
) -> None:
    values = read_features(question, analysis, draft, units, NONE)
    assert len(values) == len(READ_FEATURES)
    assert all(map(math.isfinite, values))
    assert 0.0 <= Judge.load().of_draft(values) <= 1.0


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.0, 1.0))
def test_a_memorys_features_have_the_declared_length(score: float, similarity: float, relation: float) -> None:
    recalled = Recalled(Match(ITEM, score, similarity), relation)
    assert recall_features(recalled) == (score, similarity, relation)
    assert len(RECALL_FEATURES) == len(recall_features(recalled))
    assert 0.0 <= Judge.load().of_memory(recalled) <= 1.0


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=6), finite)
def test_a_logistic_model_gives_a_probability_that_grows_with_its_odds(
    weighted: list[tuple[float, float]], bias: float
) -> None:
    weights, values = zip(*weighted, strict=True)
    names = tuple(map(str, range(len(weights))))
    model = Logistic(features=names, weights=weights, bias=bias)
    assert 0.0 <= model.of(values) <= Logistic(features=names, weights=weights, bias=bias + 1.0).of(values) <= 1.0
    with pytest.raises(ValueError, match=r"weight for each feature"):
        Logistic(features=names, weights=weights[1:], bias=bias)


# (question, answer, what is then so of its features)
TOLD: list[tuple[str, str, dict[str, float]]] = [
    ("Who designed Tarn Bridge?", "Odile Varro", {"names told": 1.0}),
    ("Who designed Tarn Bridge?", "Jonas Keel", {"wrong kind": 0.0}),
    ("Who designed the Quill Viaduct?", "Odile Varro", {"names told": 0.0}),
    ("When was Tarn Bridge designed?", "1924", {"wrong kind": 0.0}),
    ("When was Tarn Bridge designed?", "by Odile Varro", {"wrong kind": 1.0}),
    ("Was Tarn Bridge designed in 1924?", "Yes", {"wrong kind": 0.0}),
    ("Was Tarn Bridge designed in 1924?", "Odile Varro", {"wrong kind": 1.0}),
    ("How did it come to be?", "Odile Varro designed it, " * 4, {"sentences": 1.0}),
]


@pytest.mark.parametrize(("question", "answer", "expected"), TOLD)
def test_what_the_features_tell(question: str, answer: str, expected: dict[str, float], pipeline: Pipeline) -> None:
    values = read_features(question, pipeline.question(question), Draft(answer, logprob=-0.5), [BRIDGE], NONE)
    told = dict(zip(READ_FEATURES, values, strict=True))
    assert {name: told[name] for name in expected} == expected
    assert told["log-probability"] == -0.5


def test_the_shipped_judge_is_whole() -> None:
    assert Judge.load().reading.features == READ_FEATURES
    assert Judge.load().spans.features == SPAN_FEATURES
