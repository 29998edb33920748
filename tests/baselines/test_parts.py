"""What baselines are made of: the evidence budget, summaries, communities, long units, tuples, steps."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.baselines.communities import leiden
from fedrag_flwr.baselines.entities import shared_sentences
from fedrag_flwr.baselines.hyperedges import joined
from fedrag_flwr.baselines.iterative import decompose_prompt
from fedrag_flwr.baselines.long_units import grouped
from fedrag_flwr.baselines.reading import evidence_words
from fedrag_flwr.baselines.summaries import Summarizer, central, whole_sentences
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval.base import within
from tests.baselines.made_up import LIMITS, MULTI_HOP, TEXTS, Counting, made_up

_UNITS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 40)).map(
        lambda sizes: EvidenceUnit("u", " ".join(["word"] * sizes[1]), "all", 0.5, " ".join(["title"] * sizes[0]))
    ),
    max_size=8,
)


@given(_UNITS, st.integers(0, 120))
def test_the_budget_holds_and_keeps_the_first_units_in_order(units: list[EvidenceUnit], most: int) -> None:
    kept = within(units, most)
    assert evidence_words(kept) <= most
    assert kept[:-1] == units[: max(len(kept) - 1, 0)]
    assert all(whole.text.startswith(part.text) for whole, part in zip(units, kept, strict=False))
    if evidence_words(units) <= most:
        assert kept == units


@given(st.integers(1, 30), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_central_texts_stay_in_order_and_within_their_words(count: int, words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [" ".join([f"t{number}"] * int(rng.integers(1, 20))) for number in range(count)]
    chosen = central(texts, rng.normal(size=(count, 4)).astype(np.float32), words)
    assert chosen
    assert sum(len(text.split()) for text in chosen) <= words
    places = [int(text.split()[0][1:]) for text in chosen]
    assert places == sorted(set(places))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("One. Two was cut sho", "One."),
        ("One. Two.", "One. Two."),
        (" cut short", "cut short"),
        ("Who? It is 3.5 metr", "Who?"),
        ("", ""),
    ],
)
def test_a_sentence_cut_short_is_left_out(text: str, whole: str) -> None:
    assert whole_sentences(text) == whole


@pytest.mark.parametrize("share", [0, 100, 250])
def test_summaries_stay_within_the_budget_of_construction(share: int) -> None:
    model = Counting()
    substrate = made_up(model, tokens_per_kilotoken=share)
    summarizer = Summarizer(substrate)
    budget = share * sum(model.count_tokens(passage.text) for passage in substrate.passages) // 1000
    for passage in substrate.passages:
        rows = [substrate.places[sentence.id] for sentence in passage.sentences]
        texts = [sentence.text for sentence in passage.sentences]
        assert summarizer.summarize(texts, substrate.sentence_vectors[rows])
    assert summarizer.cost.tokens_out <= budget
    assert summarizer.by_model == summarizer.cost.llm_calls == len(model.completions)
    assert (summarizer.by_model > 0) == (share > 0)
    assert summarizer.by_model + summarizer.extracted == len(substrate.passages)


def test_communities_are_what_hangs_together() -> None:
    pairs = Counter({pair: 2 for group in ("abcd", "wxyz") for pair in combinations(group, 2)} | {("d", "w"): 1})
    found = leiden(pairs, seed=3)
    assert {found[name] for name in "abcd"} != {found[name] for name in "wxyz"}
    assert len(set(found.values())) == 2
    assert leiden(Counter(), seed=3) == {}


@pytest.mark.parametrize("most", [1, 40, 80, 1000])
def test_long_units_hold_whole_documents_each_once(most: int, model: Counting) -> None:
    substrate = made_up(model)
    units = grouped(substrate, most)
    assert sorted(row for unit in units for row in unit) == list(range(len(substrate.passages)))
    for unit in units:
        held = {substrate.passages[row].document_id for row in unit}
        words = sum(len(substrate.passages[row].text.split()) for row in unit)
        assert words <= most or len(held) == 1
        assert all(passage.document_id not in held or row in unit for row, passage in enumerate(substrate.passages))
    assert len(units) == (1 if most == 1000 else len(TEXTS) if most == 1 else len(units))


def test_documents_state_tuples_and_sentences_share_entities(model: Counting) -> None:
    substrate = made_up(model, {"tarn-bridge": TEXTS["tarn-bridge"]})
    assert any((one.head, one.tail) == ("Tarn Bridge", "1924") for one in substrate.tuples)
    assert {one.passage_id for one in substrate.tuples} <= substrate.by_id.keys()
    assert shared_sentences(substrate.passages)["odile varro", "tarn bridge"] == 1


def test_steps_are_asked_for_over_what_was_found() -> None:
    first = decompose_prompt(MULTI_HOP, [])
    second = decompose_prompt(MULTI_HOP, [("Who designed Tarn Bridge?", "Odile Varro")])
    assert (first.system, first.examples) == (second.system, second.examples)
    assert first.user == f"Question: {MULTI_HOP}\nFound: nothing yet"
    assert second.user.endswith("\nFound:\n- Who designed Tarn Bridge? Odile Varro")
    assert LIMITS.rounds == 3


@pytest.mark.parametrize("order", [("near", "far"), ("far", "near")])
def test_a_hyperedge_is_reached_by_the_best_of_its_entities(order: tuple[str, str]) -> None:
    incident = {"near": [0, 1], "far": [1, 2]}
    assert joined({name: {"near": 1.0, "far": 0.3}[name] for name in order}, incident) == {0: 1.0, 1: 1.0, 2: 0.3}
