"""The benchmark of answers: sets, judging, made-up questions, rows that go on, tables."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text.pipeline import SpacyPipeline
from simulations.answers.bench import AnswerRow, read_rows
from simulations.answers.made_up import made_up
from simulations.answers.scoring import is_right, judged
from simulations.answers.sets import EVERYTHING, SETS, read_set
from simulations.answers.tables import (
    answer_table,
    calibration_error,
    kind_table,
    level_table,
    reliability_chart,
    reliability_table,
)

LONG = (
    "The ferry stops in winter because ice closes the channel between the islands, and the harbour office sends a bus "
    "over the bridge at Marn instead."
)


@pytest.mark.parametrize(
    ("gold", "said", "verdict"),
    [
        (GoldQuestion("1", "Who drew it?", "Ada Morrow", ("Morrow",)), "It was drawn by Ada Morrow.", "right"),
        (GoldQuestion("2", "Who drew it?", "Ada Morrow"), "Tomas Hale", "wrong"),
        (GoldQuestion("3", "Who drew it?", "Ada Morrow"), "I do not know.", "declined"),
        (GoldQuestion("4", "Who drew it?", ""), "", "right"),
        (GoldQuestion("5", "Who drew it?", ""), "Ada Morrow", "wrong"),
        (GoldQuestion("6", "Is it open?", "Yes"), "yes, all year", "right"),
        (GoldQuestion("7", "Is it open?", "Yes"), "No", "wrong"),
        (GoldQuestion("8", "How?", "Scrape.", must=("scrap", "nail|knife")), "Scrape it with a Knife.", "right"),
        (GoldQuestion("9", "How?", "Scrape.", must=("scrap", "nail|knife")), "Scrape it.", "wrong"),
        (GoldQuestion("10", "Which? Options: salt; copper; tin.", "tin"), "tin", "right"),
        (GoldQuestion("11", "Which? Options: salt; copper; tin.", "tin"), "salt, copper or tin", "wrong"),
        (GoldQuestion("12", "Why does it stop?", LONG), "Ice closes the channel between the islands.", "right"),
        (GoldQuestion("13", "Why does it stop?", LONG), "The captain sold the engine to a museum.", "wrong"),
        (GoldQuestion("14", "Why does the ferry stop in winter?", LONG), "The ferry stops in winter.", "wrong"),
    ],
)
def test_an_answer_is_judged_by_its_kind_of_gold(gold: GoldQuestion, said: str, verdict: str) -> None:
    assert judged(gold, said) == verdict


def test_a_long_option_is_not_taken_for_a_shorter_one_in_it() -> None:
    gold = GoldQuestion("1", "Which? Options: iron; iron oxide.", "iron oxide")
    assert is_right(gold, "iron oxide")
    assert not is_right(gold, "iron")


def test_made_up_questions_have_no_answer_and_say_what_changed() -> None:
    gold = [
        GoldQuestion("a", "Who founded the Elm Library in Linwick?", "Ada Morrow", documents=("elm",)),
        GoldQuestion("b", "When was the Harbour Bridge at Sandmouth opened?", "1931", documents=("bridge",)),
    ]
    found = made_up(gold, SpacyPipeline(), 6, seed=1)
    assert {one.kind for one in found} == {"other name", "other relation", "a count"}
    assert not any(one.answer or one.documents for one in found)
    assert len({one.question_id for one in found}) == len(found)
    assert all(one.text not in {gold[0].text, gold[1].text} for one in found)


@pytest.mark.skipif(data_root() is None, reason="no evaluation data")
@pytest.mark.parametrize("name", ["demo", "guides", "hotpotqa", "medquad"])
def test_a_set_lies_on_its_devices_and_on_one(name: str) -> None:
    data = data_root()
    assert data is not None
    found = read_set(name, data, "test")
    assert len(found.documents) > 1
    assert {one.home for one in found.questions} <= found.documents.keys()
    whole = found.together()
    held = {one.id for one in whole.documents[EVERYTHING]}
    assert len(held) == sum(map(len, found.documents.values()))
    assert all(set(one.documents) <= held for one in whole.questions)
    train = {one.question_id for one in read_set(name, data, "train").questions}
    assert train.isdisjoint(one.question_id for one in found.questions)


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(SettingError, match="known"):
        read_set("nothing", Path(), "test")
    assert len(SETS) == 7
    made = read_set("demo-made-up", Path(), "test")
    assert made.name == "demo", "it has the demo's store"
    assert made.questions
    assert not any(one.answer for one in made.questions)


def row(system: str, name: str, verdict: str, confidence: float = 0.9) -> AnswerRow:
    path = "abstained" if verdict == "declined" else "cognizer"
    return AnswerRow("demo", system, name, "single", verdict, path, confidence, 1.0, 1, 100, 5, 1.0, 1)


def test_rows_are_read_again_without_a_torn_last_line(tmp_path: Path) -> None:
    import json

    kept = [row("plain", "a", "right"), row("engine", "a", "wrong")]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept) + '{"set": "de', encoding="utf-8")
    assert read_rows(file) == kept
    assert read_rows(file) == kept
    assert read_rows(tmp_path / "none.jsonl") == []


def test_tables_count_and_compare_with_the_floor() -> None:
    verdicts = ["right", "wrong", "declined", "right"]
    rows = [row("plain", str(n), "wrong") for n in range(4)]
    rows += [row("engine", str(n), verdict) for n, verdict in enumerate(verdicts)]
    table = answer_table(rows)
    assert "| demo | plain | 4 | 0 | 4 | 0 |" in table
    assert "| demo | engine | 4 | 2 | 1 | 1 | +50.0" in table
    assert "0 / 4 / 0 | 2 / 1 / 1" in kind_table(rows)


def test_calibration_is_perfect_where_confidence_is_the_share_that_is_right() -> None:
    sure = [row("engine", str(n), "right", 1.0) for n in range(5)]
    assert calibration_error(sure) == 0.0
    wrong = [replace(one, verdict="wrong") for one in sure]
    assert calibration_error(wrong) == 1.0
    assert calibration_error([row("engine", "a", "declined")]) == 0.0
    assert "1.00 | 1.00" in reliability_table(sure)


def test_a_level_declines_what_is_below_it_and_the_diagram_counts_answers() -> None:
    rows = [row("always", "a", "right", 0.9), row("always", "b", "wrong", 0.2)]
    rows.append(replace(row("always", "c", "wrong", 0.4), kind="unanswerable"))
    table = level_table(rows, (0.0, 0.3, 0.5))
    assert "| 0.00 | 1 | 2 | 0 % | 0 % |" in table
    assert "| 0.30 | 1 | 1 | 50 % | 0 % |" in table
    assert "| 0.50 | 1 | 0 | 50 % | 100 % |" in table
    chart = reliability_chart(rows)
    assert chart.startswith("<svg")
    assert chart.count("1 answers") == 3
