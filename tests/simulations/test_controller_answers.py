"""The benchmark of answers through the controller: its tables, and the order that it hands to the Cognizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.records import Question
from fedrag_flwr.settings import Settings
from simulations.bench_controller_answers import (
    FIRST,
    FITTED,
    NEAREST,
    SHIPPED,
    WAYS,
    WHOLE,
    FixedOrder,
    Row,
    orders,
    summary,
    whole_paragraphs,
)
from simulations.parts.controller_variants import Split
from tests.simulations.test_controller_bench import questions
from tests.strategies.federation import DOCUMENTS, toolbox


def test_differences_are_paired_by_question() -> None:
    f1 = {NEAREST: (0.0, 1.0), FIRST: (0.5, 0.0), FITTED: (1.0, 0.5), SHIPPED: (0.5, 0.0)}
    f1 |= {whole: f1[way] for way, whole in WHOLE.items()}
    rows = [
        Row("MuSiQue", f"q{number}", way, f1[way][number], 0.0, 1.0, number, 0.5)
        for way in reversed(WAYS)
        for number in ((1, 0) if way == FITTED else (0, 1))  # in whatever order they were answered
    ]
    told, kept = summary(rows, seed=7)
    own = kept["MuSiQue"]
    assert isinstance(own, dict)
    assert own["questions"] == 2
    assert own["means"][FITTED] == {"f1": 75.0, "em": 0.0, "acc": 100.0, "gold_read": 50.0}
    gain = own["f1"][f"{FITTED} - {FIRST}"]
    assert (gain["value"], gain["low"], gain["high"]) == pytest.approx((50.0, 50.0, 50.0))  # each question gains 50
    assert own["f1"][f"{SHIPPED} - {FIRST}"]["value"] == 0.0
    assert kept["all"] == own
    assert "| MuSiQue | 2 | controller | 75.0 | 0.0 | 100.0 | 50.0 | 0.50 |" in told
    _, some = summary(rows, seed=7, ways=(FIRST, FITTED))
    two = some["MuSiQue"]
    assert isinstance(two, dict)
    assert two["f1"] == {f"{FITTED} - {FIRST}": gain}


def test_the_cognizer_reads_what_a_fixed_order_puts_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in {**DOCUMENTS["people"], **DOCUMENTS["rivers"]}.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = Settings.from_config(
        {"memory.tokens-per-kilotoken": 0, "inference.passages": 1, "inference.abstain-below": -1.0}
    )
    with EdgeDevice("home", folder, tmp_path / "store", settings, toolbox()) as device:
        device.build(memories=False)
        engine = device.engine_over("none")
        for first in ("ossel", "jonas-keel"):
            order = FixedOrder(device.store, (first, "odile-varro"))
            assert [one.passage_id for one in order.rank("?", 2)] == [f"{first}#0", "odile-varro#0"]
            answer = replace(engine, order=order, ordered=1).finish(
                Question("q", "Where was Odile Varro born?", "home"), ()
            )
            assert {unit.id.partition("#")[0] for unit in answer.evidence} == {first}


@pytest.mark.parametrize("held_out", [True, False])
def test_the_controller_orders_what_is_asked_and_puts_both_halves_first(held_out: bool) -> None:
    splits = {"one": Split(questions(1, 20), questions(2, 20), 3), "other": Split(questions(3, 20), [], 3)}
    found = orders(splits, held_out=held_out)
    asked = [q for split in splits.values() for q in (split.train if held_out else split.dev)]
    assert found.keys() == {question.id for question in asked}
    if not held_out:
        assert all(set(found[question.id][FITTED][:2]) == set(question.gold) for question in asked)
        assert all(found[question.id][FIRST][0] == question.gold[0] for question in asked)


def test_whole_paragraphs_keep_their_order_and_the_budget() -> None:
    fields = {"paragraphs": [{"title": f"T{n}", "text": f"word{n} " * 99} for n in range(7)]}
    units = whole_paragraphs(fields, ("03", "00", "06", "01", "02", "05"))
    assert [unit.id for unit in units] == ["p3", "p0", "p6", "p1"]
    assert sum(len(unit.text.split()) + 1 for unit in units) == 400
