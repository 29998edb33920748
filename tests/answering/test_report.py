"""The server's report: what it quotes is told, each statement has its origin, and conflicts are named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fedrag_flwr.answering.read import Reader
from fedrag_flwr.caching.report import Reporter, Writer
from fedrag_flwr.models.base import Completion, Prompt
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import EvidenceUnit, Question
from fedrag_flwr.text.pipeline import Pipeline
from tests.scripted import Scripted

ASKED = Question("q1", "When was Tarn Bridge opened?", "home")
UNITS = (
    EvidenceUnit("r1", "Tarn Bridge was opened in 1924. It is painted green.", "bridges", 0.9, "Tarn Bridge"),
    EvidenceUnit("r2", "Tarn Bridge was opened in 1931, as [PERSON] wrote.", "museums", 0.8, "A guide to Tarn Bridge"),
    EvidenceUnit("r3", "Port Ferren was founded in 1702.", "harbours", 0.2, "Port Ferren"),
)


def script(answer: str, report: str, **how: Any) -> Scripted:
    """A model that answers with one text and reports with another."""

    def said(prompt: Prompt) -> Completion:
        return Completion(report if "report" in prompt.system else answer, 10, 5, **{"seconds": 0.1, **how})

    return Scripted(said)


def reporter(report: str, writer: Writer = "model", answer: str = "1924", abstain_below: float = 0.0) -> Reporter:
    reader = Reader(script(answer, report), 24)
    return Reporter(reader, load_encoder(threads=1), Pipeline(), 60, abstain_below, writer)


def told(report: str, writer: Writer = "model") -> tuple[str, int]:
    made = reporter(report, writer)
    answer = made.answer(ASKED, made.input(ASKED.text, UNITS))
    assert answer.text == "1924"
    assert set(answer.sources) <= {"bridges/r1", "museums/r2", "harbours/r3"}
    return answer.report, answer.cost.llm_calls


def test_a_replayed_report_keeps_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = reporter("")
    monkeypatch.setattr("fedrag_flwr.caching.report.time", SimpleNamespace(perf_counter=lambda: 0.0))
    for model, seconds in ((script("1924", ""), 0.0), (script("1924", "", seconds=5.0, cached=True), 10.0)):
        asked = replace(made, reader=replace(made.reader, generator=model))
        cost = asked.answer(ASKED, made.input(ASKED.text, UNITS)).cost
        assert (cost.seconds, cost.replayed) == (seconds, seconds > 0)


def number_of(text: str) -> int:
    units = reporter("").input(ASKED.text, UNITS)
    return next(number for number, unit in enumerate(units, 1) if text in unit.text)


def test_the_input_is_made_of_sentences_the_nearest_first() -> None:
    units = reporter("").input(ASKED.text, UNITS)
    assert units[0].text in ("Tarn Bridge was opened in 1924.", "Tarn Bridge was opened in 1931, as [PERSON] wrote.")
    assert "It is painted green." in [unit.text for unit in units]
    assert [unit.score for unit in units] == sorted((unit.score for unit in units), reverse=True)


def test_statements_carry_their_origin_and_conflicts_are_named() -> None:
    report, calls = told(f"Tarn Bridge was opened in 1924 ({number_of('1924')}).")
    assert report.startswith("Tarn Bridge was opened in 1924 (bridges/r1).")
    assert "In conflict: 1931 (museums/r2)." in report
    assert "1702" not in report  # it speaks of something else
    assert calls == 2


@pytest.mark.parametrize("number", [0, 9])
def test_a_statement_of_no_note_is_left_out(number: int) -> None:
    """The grammar gives no such number, but a model behind an address may not be bound by it."""
    report, _ = told(
        f"Tarn Bridge was opened in 1924 ({number}). Tarn Bridge was opened in 1931 ({number_of('1931')})."
    )
    assert report.startswith("Tarn Bridge was opened in 1931 (museums/r2).")
    assert "1924 (" not in report.partition("In conflict")[0]


@pytest.mark.parametrize(
    "statement",
    [
        "Tarn Bridge was opened in 1925",  # a number that the note does not hold
        "Odile Varro opened Tarn Bridge",  # a name that it does not hold
        "Tarn Bridge was opened by cheerful crowds with brass bands",  # words that it does not hold
    ],
)
def test_what_the_note_does_not_bear_is_left_out(statement: str) -> None:
    report, _ = told(f"{statement} ({number_of('1924')}).")
    assert statement not in report
    assert "opened in 19" in report  # the nearest note is quoted instead


def test_rules_quote_and_call_no_model_for_it() -> None:
    report, calls = told("", "extractive")
    assert "Tarn Bridge was opened in 1924 (bridges/r1)." in report
    assert calls == 1


def test_nobody_writes_but_conflicts_are_named() -> None:
    report, calls = told("", "none")
    assert report == "In conflict: 1931 (museums/r2)."
    assert calls == 1


def test_an_unlikely_answer_is_declined_and_what_was_told_is_reported() -> None:
    made = reporter(f"Tarn Bridge was opened in 1924 ({number_of('1924')}).", abstain_below=1.0)
    answer = made.answer(ASKED, made.input(ASKED.text, UNITS))
    assert (answer.text, answer.path) == ("", "abstained")
    assert answer.report == "Tarn Bridge was opened in 1924 (bridges/r1)."
    assert [one.step for one in answer.decisions] == ["place", "model", "confidence"]


def test_over_nothing_there_is_no_answer_and_no_call() -> None:
    answer = reporter("").answer(ASKED, ())
    assert (answer.text, answer.path, answer.report, answer.cost.llm_calls) == ("", "abstained", "", 0)
