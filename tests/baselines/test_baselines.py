"""Every baseline over the same documents: the right evidence within the budget, every call counted, the same again."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from fedrag_flwr.answering.prompts import reading_prompt
from fedrag_flwr.baselines import BASELINES, Built, Keep, Substrate, build_baseline
from fedrag_flwr.baselines.iterative import decompose_prompt
from fedrag_flwr.baselines.reading import evidence_words
from fedrag_flwr.errors import EmptySourceError, SettingError, StoreMismatchError
from fedrag_flwr.models.base import Completion, Generator, Grammar, Heard, Prompt
from fedrag_flwr.records import Answer, Question
from tests.answering.one_word import OneWord
from tests.baselines.made_up import LIMITS, MULTI_HOP, SINGLE, TEXTS, Counting, Parrot, made_up
from tests.strategies.federation import small_models

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
        name: documents(build_baseline(name, substrate).baseline.answer(Question("q", MULTI_HOP, "all")))
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

    def complete(
        self,
        prompt: Prompt,
        *,
        grammar: Grammar | None = None,
        max_tokens: int = 64,
        n: int = 1,
        seed: int = 0,
        heard: Heard | None = None,
    ) -> list[Completion]:
        if not _asks(prompt):
            return super().complete(prompt, grammar=grammar, max_tokens=max_tokens, n=n, seed=seed, heard=heard)
        self.prompts.append(prompt)
        self.completions.append(Completion(LONG[: 2 * max_tokens], 1, max_tokens, 0.0))
        return self.completions[-1:]


def test_a_long_step_is_not_taken_for_the_end() -> None:
    model = Wordy()
    build_baseline("iterative", made_up(model)).baseline.answer(Question("q", MULTI_HOP, "all"))
    asked = [prompt.user.rpartition("\nQuestion: ")[2] for prompt in model.prompts if not _asks(prompt)]
    assert asked == [LONG, MULTI_HOP]


def _asks(prompt: Prompt) -> bool:
    return prompt.system == decompose_prompt("", ()).system


@pytest.mark.parametrize("question", [SINGLE, MULTI_HOP])
@pytest.mark.parametrize("name", BASELINES)
def test_every_call_of_the_model_is_in_the_cost(name: str, question: str, answers: Answers) -> None:
    answer, seen = answers[name, question]
    assert answer.cost.llm_calls == len(seen.completions)
    assert answer.cost.tokens_in == sum(done.tokens_in for done in seen.completions)
    assert answer.cost.tokens_out == sum(done.tokens_out for done in seen.completions)
    assert answer.cost.seconds >= sum(done.seconds for done in seen.completions) > 0.0
    most = 2 * LIMITS.rounds + 1 if name == "iterative" else 1
    assert 1 <= answer.cost.llm_calls <= most
    assert name != "iterative" or answer.cost.llm_calls >= 3


@pytest.mark.parametrize("question", [SINGLE, MULTI_HOP])
@pytest.mark.parametrize("name", READING)
def test_the_last_prompt_holds_the_evidence_and_no_more_than_the_budget(
    name: str, question: str, answers: Answers
) -> None:
    answer, seen = answers[name, question]
    assert 0 < evidence_words(answer.evidence) <= LIMITS.words
    assert seen.prompts[-1] == reading_prompt(question, answer.evidence)


@pytest.mark.parametrize("name", BASELINES)
def test_an_answer_is_what_the_model_wrote_whatever_the_evidence_holds(
    name: str, model: Counting, constructed: Keep
) -> None:
    said = "Basil Quent"
    assert not any(said in text for _, text in TEXTS.values())
    real = small_models().generator()
    substrate = replace(made_up(model), generator=lambda: cast("Generator", OneWord(real, said)), keep=constructed)
    answer = build_baseline(name, substrate).baseline.answer(Question("q", SINGLE, "all"))
    assert (answer.text, answer.path) == (said, "cognizer")


@pytest.mark.parametrize("words", [40, 150])
@pytest.mark.parametrize("name", READING)
def test_no_sentence_is_read_twice(name: str, words: int, constructed: Keep) -> None:
    asks_again = Parrot(word=SINGLE)  # as a step, whose evidence is the question's, too
    substrate = replace(made_up(asks_again, passages=4, words=words), keep=constructed)
    read = build_baseline(name, substrate).baseline.answer(Question("q", MULTI_HOP, "all")).evidence
    told = [unit.text for unit in read if unit.id in substrate.places]  # summaries and notes are none of the documents'
    for sentence in substrate.sentences:
        assert sum(sentence.text in text for text in told) <= 1


@pytest.mark.parametrize("words", [40, 70, 90])
def test_the_last_passage_of_a_long_unit_is_cut_where_the_budget_ends(words: int) -> None:
    substrate = made_up(Parrot(), words=words)
    read = build_baseline("long-units", substrate).baseline.answer(Question("q", SINGLE, "all")).evidence
    assert words - 12 < evidence_words(read) <= words
    whole = [substrate.by_id[unit.id].text == unit.text for unit in read]
    assert whole.count(False) <= 1
    best = max(substrate.dense.scores(SINGLE))
    assert max(unit.score for unit in read) == pytest.approx(float(best), abs=1e-6)
    places = [substrate.places[unit.id] for unit in read]
    assert places == sorted(places)


def test_the_closed_book_sees_no_document(answers: Answers) -> None:
    answer, seen = answers["closed-book", SINGLE]
    assert (answer.evidence, answer.sources, answer.cost.llm_calls) == ((), (), 1)
    (prompt,) = seen.prompts
    assert prompt.user == f"Question: {SINGLE}"
    assert not any(text in f"{prompt.system}{prompt.examples}" for _, text in TEXTS.values())


@pytest.mark.parametrize("name", READING)
def test_documents_without_names_and_titles_are_answered_from_too(name: str) -> None:
    texts = {"a": ("", "bread rises because yeast makes gas in warm dough."), "b": ("", "salt slows the yeast down.")}
    built = build_baseline(name, made_up(Parrot(), texts))
    answer = built.baseline.answer(Question("q", "What makes dough rise?", "all"))
    assert "a" in documents(answer)


@pytest.mark.parametrize("name", BASELINES)
def test_construction_is_measured(name: str, built: dict[str, Built]) -> None:
    made = built[name].construction
    assert made.cost.seconds > 0.0
    assert (made.cost.llm_calls > 0) == (name in {"summary-tree", "communities"})
    assert all(count.partition("=")[2].isdigit() for count in made.counts)


def test_an_empty_corpus_is_refused(model: Counting) -> None:
    with pytest.raises(EmptySourceError, match="no passage"):
        made_up(model, {})


def test_vectors_must_fit(model: Counting) -> None:
    whole = made_up(model)
    with pytest.raises(StoreMismatchError):
        Substrate(
            whole.device,
            whole.documents,
            whole.passages,
            whole.passage_vectors[1:],
            whole.sentence_vectors,
            whole.questions,
            whole.pipeline,
            model,
        )


def test_an_unknown_baseline_is_named_with_those_that_exist(model: Counting) -> None:
    with pytest.raises(SettingError, match="filter-requery"):
        build_baseline("no-such-baseline", made_up(model))
