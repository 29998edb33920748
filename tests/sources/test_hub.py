"""Rows of sets on the hub in our schema; no test asks the hub."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.benchmark import read_multihop
from fedrag_flwr.sources.hub import in_schema

HOTPOT: dict[str, Any] = {
    "id": "5a",
    "question": "Who designed the bridge over the Ossel?",
    "answer": "Odile Varro",
    "type": "bridge",
    "supporting_facts": {"title": ["Tarn Bridge", "Ossel"], "sent_id": [0, 1]},
    "context": {
        "title": ["Tarn Bridge", "Ossel", "Mount Cairl"],
        "sentences": [["It opened in 1924.", " Odile Varro designed it."], ["A river."], ["A mountain."]],
    },
}
MUSIQUE: dict[str, Any] = {
    "id": "2hop__1_2",
    "question": "Where was the designer of Tarn Bridge born?",
    "answer": "Lindmoor",
    "answer_aliases": ["Lindmoor Town"],
    "paragraphs": [
        {"idx": 0, "title": "Tarn Bridge", "paragraph_text": "Odile Varro designed it.", "is_supporting": True},
        {"idx": 1, "title": "Ossel", "paragraph_text": "A river.", "is_supporting": False},
    ],
}


def test_a_row_of_titles_and_sentences() -> None:
    row = in_schema(HOTPOT, "dev")
    assert (row["type"], row["split"], row["setting"], row["aliases"]) == ("bridge", "dev", "distractor", [])
    assert row["paragraphs"][0]["text"] == "It opened in 1924. Odile Varro designed it."
    assert [paragraph["is_supporting"] for paragraph in row["paragraphs"]] == [True, True, False]


def test_a_row_of_paragraphs() -> None:
    row = in_schema(MUSIQUE, "train")
    assert (row["type"], row["split"], row["aliases"]) == ("2hop", "train", ["Lindmoor Town"])
    assert [(p["title"], p["is_supporting"]) for p in row["paragraphs"]] == [("Tarn Bridge", True), ("Ossel", False)]


@pytest.mark.parametrize("missing", ["answer", "context", "supporting_facts"])
def test_a_row_of_another_shape_is_refused(missing: str) -> None:
    with pytest.raises(KeyError):
        in_schema({key: value for key, value in HOTPOT.items() if key != missing}, "dev")


@pytest.mark.skipif(importlib.util.find_spec("datasets") is not None, reason="datasets is installed: it would be asked")
def test_without_the_package_the_error_says_what_to_install() -> None:
    with pytest.raises(SourceError, match="not installed"):
        read_multihop("hub:hotpotqa/hotpot_qa:distractor")
