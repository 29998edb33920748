"""Which sentences bear an answer: every one has its features, the likely one comes first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.sentences import FEATURES, RankedText, describe, shipped_scorer

QUESTION = "When was Tarn Bridge opened by Odile Varro?"
WORDS = st.sampled_from(["Tarn", "Bridge", "opened", "Odile Varro", "1924", "salt", "the", "§", "and so on"])
SENTENCE = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
COSINE = st.floats(-1.0, 1.0, width=32)


@st.composite
def passages(draw: st.DrawFn) -> RankedText:
    sentences = draw(st.lists(SENTENCE, max_size=6))
    cosines = draw(st.lists(COSINE, min_size=len(sentences), max_size=len(sentences)))
    title = draw(st.sampled_from(["", "Tarn Bridge", "Odile Varro › Youth", "A guide to the salt of the north"]))
    return RankedText(draw(st.sampled_from("abc")), title, sentences, cosines, draw(st.floats(-50.0, 50.0)), "home")


RANKED = st.lists(passages(), max_size=8)


@given(st.text(max_size=60), RANKED)
def test_every_sentence_has_its_features(question: str, ranked: list[RankedText]) -> None:
    found = describe(question, ranked)
    assert found.values.shape == (len(found.places), len(FEATURES))
    assert np.isfinite(found.values).all()


def test_the_sentence_that_answers_is_the_likeliest() -> None:
    """A text that its cosine and the question's words favour, among others of the same passage and of another."""
    told = "Tarn Bridge was opened by Odile Varro in 1924."
    ranked = [
        RankedText("p1", "Salt", ["Salt is mined in the north.", "It is white."], [0.1, 0.0], 0.0),
        RankedText("p2", "Tarn Bridge", ["The bridge is green.", told, "It is long."], [0.4, 0.9, 0.3], 3.0),
    ]
    found = describe(QUESTION, ranked)
    assert found.places[int(np.argmax(shipped_scorer().odds(found.values)))] == (1, 1)
    assert describe(QUESTION, []).places == []


def test_a_title_leads_from_one_passage_to_another() -> None:
    """What a likely sentence names is told of under its own title: "led to" marks that, and no other passage."""
    ranked = [
        RankedText("p1", "Tarn Bridge", ["Tarn Bridge was designed by Odile Varro."], [0.9], 3.0),
        RankedText("p2", "Odile Varro", ["She was born in Lindmoor."], [0.2], 0.0),
        RankedText("p3", "Salt", ["It is white."], [0.2], 0.0),
    ]
    values = describe("Where was the designer of Tarn Bridge born?", ranked).values
    led, on = values[:, FEATURES.index("led to")], values[:, FEATURES.index("leads on")]
    assert led[1] > 0.0 == led[2]
    assert on[0] > 0.0 == on[1]


def test_the_shipped_scorer_is_whole() -> None:
    assert shipped_scorer().odds(np.zeros((3, len(FEATURES)))).shape == (3,)
