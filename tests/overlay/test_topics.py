"""Headings as topics: filed by the encoder or by the model, and kept on disk."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import SettingError
from fedrag_flwr.overlay.topics import HEADINGS, ModelTopics, topics_of
from tests.scripted import Scripted
from tests.strategies.federation import small_models

SMALL = ["rivers and lakes", "ships and harbours", "bridges and construction", "museums and painting", "the heart"]


@pytest.fixture
def headings(tmp_path: Path) -> Path:
    (tmp_path / "headings.json").write_text(json.dumps(SMALL))
    return tmp_path / "headings.json"


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Where does the Ossel flow into the sea?", "rivers and lakes"),
        ("Who built the viaduct over the valley?", "bridges and construction"),
        ("Which vein brings blood back?", "the heart"),
    ],
)
def test_a_question_is_filed_where_it_belongs(headings: Path, text: str, heading: str) -> None:
    encoder = small_models().encoder
    topics = topics_of(encoder, headings)
    [vector] = encoder.encode([text])
    weights = topics.weights(vector)
    assert topics.names[next(iter(weights))] == heading
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    assert sum(weights.values()) == pytest.approx(1)
    assert topics.counts(vector[None, :]).tolist() == [int(name == heading) for name in SMALL]
    assert topics.counts(np.zeros((0, encoder.dimension), dtype=np.float32)).sum() == 0


def test_the_model_chooses_one_of_the_nearest_headings(headings: Path) -> None:
    topics = topics_of(small_models().encoder, headings)
    chosen = ModelTopics(topics, small_models().generator()).weights(
        "Where does the Ossel rise?", {3: 0.5, 0: 0.3, 4: 0.2}
    )
    assert set(chosen) < {3, 0, 4}
    assert list(chosen.values()) == [1.0]


@pytest.mark.parametrize(("said", "topic"), [("2", 0), (" 3\n", 4), ("4", 3), ("0", 3), ("rivers", 3), ("", 3)])
def test_a_model_that_names_no_heading_leaves_the_nearest(headings: Path, said: str, topic: int) -> None:
    topics = topics_of(small_models().encoder, headings)
    chosen = ModelTopics(topics, Scripted(said)).weights("Where does the Ossel rise?", {3: 0.5, 0: 0.3, 4: 0.2})
    assert chosen == {topic: 1.0}


def test_headings_are_encoded_once(headings: Path, tmp_path: Path) -> None:
    encoder = small_models().encoder
    first = topics_of(encoder, headings, tmp_path / "kept")
    [file] = (tmp_path / "kept").iterdir()
    again = topics_of(encoder, headings, tmp_path / "kept")
    assert np.array_equal(first.centroids, again.centroids)
    file.write_bytes(file.read_bytes()[:-4])  # a torn one is made anew
    assert np.allclose(topics_of(encoder, headings, tmp_path / "kept").centroids, first.centroids, atol=1e-5)


def test_headings_serve_though_their_vectors_cannot_be_kept(headings: Path) -> None:
    topics = topics_of(small_models().encoder, headings, headings / "kept")  # no folder can be made in a file
    assert topics.names == tuple(SMALL)


@pytest.mark.parametrize("body", ["[]", "{", '{"a": 1}', '["a", 7]', '["a", ""]'])
def test_a_list_of_headings_that_is_none_is_refused(tmp_path: Path, body: str) -> None:
    (tmp_path / "bad.json").write_text(body)
    with pytest.raises(SettingError, match=r"overlay\.topics"):
        topics_of(small_models().encoder, tmp_path / "bad.json")


def test_shipped_headings_are_distinct_and_fit_a_message() -> None:
    names = json.loads(HEADINGS.read_text())
    assert len(set(names)) == len(names)
    assert 200 < len(names) <= 4_096  # topics that are learnt, up to 200, begin at some of them
