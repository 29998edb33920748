"""Every baseline over the same documents: the right evidence within the budget, every call counted, the same again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.prompts import reading_prompt
from fedrag_flwr.models.base import Completion, Grammar, Prompt
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import Answer, Question
from simulations.baselines import BASELINES, Baseline, Construction, Keep, build_baseline
from simulations.baselines.entities import joined
from simulations.baselines.passages import grouped
from simulations.baselines.reading import evidence_words
from simulations.baselines.rounds import decompose_prompt
from simulations.baselines.summaries import Summarizer, central, whole_sentences
from tests.baselines.made_up import ASKED, LIMITS, MULTI_HOP, SINGLE, TEXTS, Counting, Parrot, assert_alike, made_up

Answers = dict[tuple[str, str], tuple[Answer, Counting]]
READING = [name for name in BASELINES if name != "closed-book"]
SECOND_HOP = ["pagerank", "communities", "hyperedges", "filter-requery"]


def documents(answer: Answer) -> set[str]:
    return {source.removeprefix("all/").partition("#")[0] for source in answer.sources}


@pytest.mark.parametrize("name", READING)
def test_evidence_is_of_the_document_that_answers(name: str, answers: Answers) -> None:
    answer, _ = answers[name, SINGLE]
    assert "tarn-bridge" in documents(answer)
    assert documents(answer) <= set(TEXTS)
    assert any("Odile Varro" in unit.text for unit in answer.evidence)
    assert all(unit.origin == "all" for unit in answer.evidence)


def test_what_follows_names_reaches_the_second_document_and_nearness_does_not(constructed: Keep) -> None:
    substrate = replace(made_up(Parrot(), passages=4, words=200), keep=constructed)
    found = {
        name: documents(build_baseline(name, substrate)[0].answer(Question("q", MULTI_HOP, "all")))
        for name in ("vanilla", *SECOND_HOP)
    }
    assert "odile-varro" not in found.pop("vanilla")
    assert [name for name, reached in found.items() if not {"tarn-bridge", "odile-varro"} <= reached] == []


def test_steps_are_asked_answered_and_read_in_the_end(answers: Answers) -> None:
    answer, seen = answers["iterative", MULTI_HOP]
    steps = [done.text.strip() for prompt, done in zip(seen.prompts, seen.completions, strict=True) if _asks(prompt)]
    asked = [prompt.user.rpartition("\nQuestion: ")[2] for prompt in seen.prompts if not _asks(prompt)]
    assert asked[-1] == MULTI_HOP
    assert steps[: len(asked) - 1] == asked[:-1]
    noted = [unit for unit in answer.evidence if unit.id.startswith("step-")]
    for unit, step in zip(noted, steps, strict=False):  # the last may be cut where the budget ends
        assert unit.text.startswith(step) or (unit is noted[-1] and step.startswith(unit.text))
    assert not any("step-" in source for source in answer.sources)


LONG = "Which of the engineers who drew bridges over the Ossel before 1930 designed the one that all call Tarn Bridge?"


class Wordy(Counting):
    """The real model, but its next question is a long one, in tokens of two letters."""

    def complete(self, prompt: Prompt, *, max_tokens: int = 64, **how: Any) -> list[Completion]:
        if not _asks(prompt):
            return super().complete(prompt, max_tokens=max_tokens, **how)
        self.prompts.append(prompt)
        self.completions.append(Completion(LONG[: 2 * max_tokens], 1, max_tokens, 0.0))
        return self.completions[-1:]


def test_a_long_step_is_not_taken_for_the_end() -> None:
    model = Wordy()
    build_baseline("iterative", made_up(model))[0].answer(Question("q", MULTI_HOP, "all"))
    asked = [prompt.user.rpartition("\nQuestion: ")[2] for prompt in model.prompts if not _asks(prompt)]
    assert asked == [LONG, MULTI_HOP]


def _asks(prompt: Prompt) -> bool:
    return prompt.system == decompose_prompt("", ()).system


@pytest.mark.parametrize(("name", "question"), ASKED)
def test_every_call_of_the_model_is_in_the_cost(name: str, question: str, answers: Answers) -> None:
    answer, seen = answers[name, question]
    assert answer.cost.llm_calls == len(seen.completions)
    assert answer.cost.tokens_in == sum(done.tokens_in for done in seen.completions)
    assert answer.cost.tokens_out == sum(done.tokens_out for done in seen.completions)
    assert answer.cost.seconds >= sum(done.seconds for done in seen.completions) > 0.0
    most = 2 * LIMITS.rounds + 1 if name == "iterative" else 1
    assert 1 <= answer.cost.llm_calls <= most
    assert name != "iterative" or answer.cost.llm_calls >= 3


@pytest.mark.parametrize(("name", "question"), [case for case in ASKED if case[0] in READING])
def test_the_last_prompt_holds_the_evidence_within_the_budget(name: str, question: str, answers: Answers) -> None:
    answer, seen = answers[name, question]
    assert 0 < evidence_words(answer.evidence) <= LIMITS.words
    assert seen.prompts[-1] == reading_prompt(question, answer.evidence)


@pytest.mark.parametrize("words", [40, 150])
@pytest.mark.parametrize("name", READING)
def test_no_sentence_is_read_twice_and_the_budget_holds(name: str, words: int, constructed: Keep) -> None:
    asks_again = Parrot(word=SINGLE)  # as a step, whose evidence is the question's, too
    substrate = replace(made_up(asks_again, passages=4, words=words), keep=constructed)
    read = build_baseline(name, substrate)[0].answer(Question("q", MULTI_HOP, "all")).evidence
    assert 0 < evidence_words(read) <= words
    told = [unit.text for unit in read if unit.id in substrate.places]  # summaries and notes are none of the documents'
    for sentence in substrate.sentences:
        assert sum(sentence.text in text for text in told) <= 1


def test_the_closed_book_sees_no_document(answers: Answers) -> None:
    answer, seen = answers["closed-book", SINGLE]
    assert (answer.evidence, answer.sources, answer.cost.llm_calls) == ((), (), 1)
    (prompt,) = seen.prompts
    assert prompt.user == f"Question: {SINGLE}"
    assert not any(text in f"{prompt.system}{prompt.examples}" for _, text in TEXTS.values())


Built = dict[str, tuple[Baseline, Construction]]


@pytest.mark.parametrize("name", BASELINES)
def test_construction_is_measured_once_and_kept(
    name: str, built: Built, answers: Answers, constructed: Keep, model: Counting
) -> None:
    _, made = built[name]
    assert made.cost.seconds > 0.0
    assert (made.cost.llm_calls > 0) == (name in {"summary-tree", "communities"})
    before = model.mark()
    again, told = build_baseline(name, replace(made_up(model), keep=Keep(constructed.folder)))
    assert model.since(before).completions == []
    assert (told.cost.llm_calls, told.cost.tokens_out, told.counts) == (
        made.cost.llm_calls,
        made.cost.tokens_out,
        made.counts,
    )
    assert_alike([answers[name, SINGLE][0], again.answer(Question(SINGLE, SINGLE, "all"))])


def test_construction_is_told_with_the_seconds_that_it_once_took(model: Counting, tmp_path: Path) -> None:
    before = model.mark()
    build_baseline("summary-tree", replace(made_up(model), keep=Keep(tmp_path)))
    took = sum(done.seconds for done in model.since(before).completions)
    substrate = replace(made_up(model), keep=Keep(tmp_path))
    _, again = build_baseline("summary-tree", substrate)
    assert again.cost.seconds >= substrate.spared >= took > 0.0
    _, after = build_baseline("vanilla", substrate)
    assert after.cost.seconds < took  # what others were spared is not its own


def test_what_is_kept_serves_no_other_texts_prompts_or_lengths(model: Counting, tmp_path: Path) -> None:
    keep, encoder, texts = Keep(tmp_path), load_encoder(), [text for _, text in TEXTS.values()]
    for some in (texts, texts, texts[::-1], texts[:1]):
        np.testing.assert_allclose(keep.encode(encoder, some), encoder.encode(some), atol=1e-6)
    assert len(list(tmp_path.glob("*.npz"))) == 3
    before = model.mark()
    line = Grammar(r"root ::= [^\n]+")
    for user, most in (("One.", 4), ("Two.", 4), ("One.", 4), ("One.", 5)):
        keep.complete(model, Prompt("Say it.", user), line, most, 7)
    assert len(model.since(before).completions) == 3


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
    ],
)
def test_a_sentence_cut_short_is_left_out(text: str, whole: str) -> None:
    assert whole_sentences(text) == whole


@pytest.mark.parametrize("share", [0, 250])
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


@pytest.mark.parametrize("most", [1, 40, 1000])
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


@pytest.mark.parametrize("order", [("near", "far"), ("far", "near")])
def test_a_hyperedge_is_reached_by_the_best_of_its_entities(order: tuple[str, str]) -> None:
    incident = {"near": [0, 1], "far": [1, 2]}
    assert joined({name: {"near": 1.0, "far": 0.3}[name] for name in order}, incident) == {0: 1.0, 1: 1.0, 2: 0.3}
