"""Summaries: what they say, what they leave out, and how little they copy."""

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.knowledge_graph.summaries import (
    Copied,
    Detail,
    ExtractiveSummarizer,
    ModelSummarizer,
    Subgraph,
    erased,
)
from fedrag_flwr.models.base import Generator
from tests.answering.one_word import OneWord
from tests.strategies.federation import small_models

HARBOURS = Subgraph(
    subjects=("Harbours of Vessland", "Founded 1702"),
    entities=("Port Ferren", "salt", "Jonas Keel", "Pier 4"),
    told_once=frozenset({"Jonas Keel"}),
    relations=("Port Ferren exports salt", "the tall harbour crane of Port Ferren lifts crates"),
    sources=("In spring the tall harbour crane of Port Ferren lifts crates of salt.", "Port Ferren exports salt."),
)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g"]), max_size=30).map(" ".join)


def test_a_summary_names_subjects_entities_and_relations() -> None:
    text = ExtractiveSummarizer(most_copied=1.0).summarize(HARBOURS)
    assert all(told in text for told in ("Harbours of Vessland", "Port Ferren", "Jonas Keel", "exports salt"))


def test_what_copies_too_much_goes() -> None:
    text = ExtractiveSummarizer(most_copied=0.1).summarize(HARBOURS)
    assert "exports salt" in text
    assert "crane" not in text


@pytest.mark.parametrize("detail", ["1702", "Jonas Keel", "Pier 4", "exports"])
def test_erasure_leaves_details_out(detail: str) -> None:
    assert detail in ExtractiveSummarizer("full", 1.0).summarize(HARBOURS)
    assert detail not in ExtractiveSummarizer("erased", 1.0).summarize(HARBOURS)
    assert erased(erased(HARBOURS)) == erased(HARBOURS)


@given(
    st.lists(WORDS, max_size=6),
    st.lists(WORDS, max_size=6),
    st.lists(WORDS, min_size=1, max_size=4),
    st.sampled_from([0.0, 0.1, 0.5]),
)
def test_the_limit_on_copies_holds(relations: list[str], subjects: list[str], sources: list[str], limit: float) -> None:
    subgraph = Subgraph(tuple(subjects), tuple(subjects), frozenset(), tuple(relations), tuple(sources))
    assert Copied(sources).share(ExtractiveSummarizer("full", limit).summarize(subgraph)) <= limit


@given(WORDS, WORDS)
def test_the_longest_copy_is_the_longest_common_run(text: str, source: str) -> None:
    words, told = text.split(), source.split()
    runs = [
        len(words[i:j])
        for i in range(len(words))
        for j in range(i, len(words) + 1)
        if any(told[k : k + j - i] == words[i:j] for k in range(len(told)))
    ]
    assert Copied([source]).longest(text) == max(runs, default=0)


def test_a_model_s_summary_keeps_the_limit() -> None:
    summarizer = ModelSummarizer(small_models().generator, ExtractiveSummarizer(most_copied=0.1))
    text = summarizer.summarize(HARBOURS)
    assert text.strip()
    assert summarizer.cost.llm_calls == 1
    assert Copied(HARBOURS.sources).share(text) <= 0.1


# (what the model writes, the level of detail, what is left of it)
WRITTEN: list[tuple[str, Detail, str]] = [
    (
        "In spring the tall. Harbour crane of Port. Ferren lifts crates.",
        "full",
        "In spring the tall. Ferren lifts crates.",
    ),
    ("In spring the tall harbour crane lifts. Ships come and go.", "full", "Ships come and go."),
    ("Ships come and go. Trade began in 1702.", "full", "Ships come and go. Trade began in 1702."),
    ("Ships come and go. Trade began in 1702.", "erased", "Ships come and go."),
]


@pytest.mark.parametrize(("written", "detail", "left"), WRITTEN)
def test_a_model_s_sentences_copy_little_alone_and_together(written: str, detail: Detail, left: str) -> None:
    def generator() -> Generator:
        return cast("Generator", OneWord(small_models().generator(), written))

    summarizer = ModelSummarizer(generator, ExtractiveSummarizer(detail))
    assert summarizer.summarize(HARBOURS) == left


def test_a_model_that_only_copies_gives_way_to_lists() -> None:
    strict = ModelSummarizer(small_models().generator, ExtractiveSummarizer(most_copied=0.0))
    copied = replace(HARBOURS, sources=("Subjects: " + " ".join(HARBOURS.subjects),))
    assert Copied(copied.sources).share(strict.summarize(copied)) == 0.0
