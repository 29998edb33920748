"""The benchmark of answers: sets, judging, made-up questions, rows that go on, tables."""

from pathlib import Path

import pytest
from pandas import DataFrame, concat

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.text.pipeline import Pipeline
from simulations.answers.made_up import made_up
from simulations.answers.sets import EVERYTHING, SETS, is_right, judged, read_set
from simulations.benchmarks.answers import (
    answer_table,
    calibration_error,
    kind_table,
    level_table,
    ranking_table,
    reliability,
)
from simulations.corpora.multihop import data_root

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
    found = made_up(gold, Pipeline(), 6, seed=1)
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
    small = found.small(2, 1).together()
    assert len(small.questions) == 2
    assert {name for one in small.questions for name in one.documents} <= {
        one.id for one in small.documents[EVERYTHING]
    }
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


def row(system: str, name: str, verdict: str, confidence: float = 0.9, kind: str = "single") -> dict[str, object]:
    costs = {"seconds": 1.0, "calls": 1, "tokens in": 10, "tokens out": 3, "found five": 1.0, "found all": 1}
    told = {"set": "demo", "system": system, "id": name, "kind": kind, "verdict": verdict, "confidence": confidence}
    return {**told, "path": "abstained" if verdict == "declined" else "cognizer", **costs}


def test_tables_count_and_compare_with_the_floor() -> None:
    verdicts = ["right", "wrong", "declined", "right"]
    rows = [row("plain", str(n), "wrong") for n in range(4)]
    frame = DataFrame([*rows, *(row("engine", str(n), verdict) for n, verdict in enumerate(verdicts))])
    table = answer_table(frame).set_index("system")
    counts = table[["n", "right", "wrong", "declined"]].to_numpy().tolist()
    assert counts == [[4, 0, 4, 0], [4, 2, 1, 1]]
    assert table["right - plain"]["plain"] == ""
    assert str(table.loc["engine", "right - plain"]).startswith("+50.0 (")
    assert kind_table(frame)[["n", "plain", "engine"]].to_numpy().tolist() == [[4, "0 / 4 / 0", "2 / 1 / 1"]]
    assert ranking_table(frame).to_numpy().tolist() == [["demo", 4, 100.0, 100.0]]
    both = answer_table(concat([frame, frame.assign(set="other")]))
    assert both[both["set"] == "all"]["n"].tolist() == [8, 8]


def test_calibration_is_perfect_where_confidence_is_the_share_that_is_right() -> None:
    for verdict, error in (("right", 0.0), ("wrong", 1.0), ("declined", 0.0)):
        bins = reliability(DataFrame([row("engine", str(n), verdict, 1.0) for n in range(5)]))
        assert calibration_error(bins) == error
    mixed = reliability(DataFrame([row("engine", "a", "right", 0.91), row("engine", "b", "wrong", 0.25)]))
    assert mixed["confidence"].tolist() == ["0.2 to 0.3", "0.9 to 1.0"]
    assert mixed["right"].tolist() == [0.0, 1.0]


def test_a_level_declines_what_is_below_it() -> None:
    rows = [row("always", "a", "right", 0.9), row("always", "b", "wrong", 0.2)]
    table = level_table(DataFrame([*rows, row("always", "c", "wrong", 0.4, "unanswerable")]), (0.0, 0.3, 0.5))
    assert table.to_numpy().tolist() == [[0.0, 1, 2, 0, 0], [0.3, 1, 1, 50, 0], [0.5, 1, 0, 50, 100]]
