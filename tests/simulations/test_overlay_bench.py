"""The benchmarks of walks: growth is what it is called, kept rows are not measured again, and peers are dealt whole."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from fedrag_flwr.records import Answer
from simulations.bench_overlay_answers import marked, table
from simulations.bench_overlay_scale import FEW, TOPICS, World, growth, holdings, measured
from simulations.corpora.overlay_peers_data import PEERS, read_peers
from simulations.reporting.kept_rows import KeptRows, Row


@pytest.mark.parametrize(("power", "log_power"), [(0.5, 0.0), (1.0, 0.0), (0.0, 1.0)])
def test_exponents_are_those_of_the_numbers(power: float, log_power: float) -> None:
    sizes = [100, 1_000, 10_000, 100_000]
    queried = [size**power * math.log(size) ** log_power for size in sizes]
    by_size, by_log = growth(sizes, queried)
    assert (by_size if power else by_log) == pytest.approx(power or log_power, abs=0.01)


@pytest.mark.parametrize("world", get_args(World))
def test_who_can_answer_holds_documents(world: World) -> None:
    holds, able = holdings(1_000, world, np.random.default_rng(0))
    assert not (able & ~holds).any()
    assert set(able.sum(axis=0).tolist()) == {FEW} or world == "shared"
    assert able.shape == (1_000, TOPICS)


def test_sketch_walks_are_shorter_than_floods_in_one_network() -> None:
    rows = {kind: measured(kind, 100, "few", 1.0) for kind in ("sketch", "flooding")}
    assert float(rows["sketch"]["queried"]) < 0.3 * float(rows["flooding"]["queried"])
    assert rows["sketch"]["hit"] == rows["flooding"]["hit"] == 100.0


def test_a_row_is_measured_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def measure() -> Row:
        calls.append("now")
        return {"value": 1.5}

    first = KeptRows(tmp_path / "rows.jsonl").row("a", measure)
    with (tmp_path / "rows.jsonl").open("a", encoding="utf-8") as torn:
        torn.write('{"key": "b", "row"')
    again = KeptRows(tmp_path / "rows.jsonl")
    assert again.row("a", measure) == first
    again.row("b", lambda: first)
    assert KeptRows(tmp_path / "rows.jsonl").row("b", measure) == first
    assert calls == ["now"]


def test_categories_are_cut_into_twenty_peers_and_questions_know_their_owner(tmp_path: Path) -> None:
    rows = [
        {"headline": f"Story {n} of {c}", "authors": f"Writer {n}", "short_description": "", "category": f"C{c}"}
        for c in range(4)
        for n in range(20 * (c + 1))
    ]
    with gzip.open(tmp_path / "huffpost_news.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    peers = read_peers("huffpost", tmp_path, 5)
    assert len(peers.documents) == PEERS
    assert {len(own) for own in peers.documents.values()} == {5}
    for one in peers.questions:
        assert one.document in {document.id for document in peers.documents[one.peer]}
    assert len(peers.some(0.7, False, 0)) == 70
    topics = {peers.topic[peer] for peer, own in peers.documents.items() for d in own if d in peers.some(0.5, True, 0)}
    assert len(topics) == 2


def test_marks_count_words_on_both_sides() -> None:
    row = marked(Answer("q", "Ada Quent and more", "remote", 0.5), "Ada Quent", {"hops": 1.0})
    assert (row.em, row.precision, row.recall, row.acc) == (0.0, 0.5, 1.0, 1.0)
    assert row.f1 == pytest.approx(2 / 3)
    assert "| CRAG | - | - | - | - | 0.0 | 66.7 | 50.0 | 100.0 |" in table({"CRAG": [row]})[-1]
