"""The benchmarks of walks: growth is what it is called, systems learn apart, and peers are dealt whole."""

import gzip
import json
import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from fedrag_flwr.records import Answer
from simulations.benchmarks.overlay import FEW, STEP, TOPICS, Knowledge, grown, growth, holdings, so_far
from simulations.benchmarks.routing import option_chosen
from simulations.benchmarks.walks import PEERS, marked, read_peers, summed
from simulations.corpora.domain_data import DomainQuestion


@pytest.mark.parametrize(("power", "log_power"), [(0.5, 0.0), (1.0, 0.0), (0.0, 1.0)])
def test_exponents_are_those_of_the_numbers(power: float, log_power: float) -> None:
    sizes = [100, 1_000, 10_000, 100_000]
    queried = [size**power * math.log(size) ** log_power for size in sizes]
    by_size, by_log = growth(sizes, queried)
    assert (by_size if power else by_log) == pytest.approx(power or log_power, abs=0.01)


@pytest.mark.parametrize("knowledge", get_args(Knowledge))
def test_who_can_answer_holds_documents(knowledge: Knowledge) -> None:
    holds, able = holdings(1_000, knowledge, np.random.default_rng(0))
    assert not (able & ~holds).any()
    assert set(able.sum(axis=0).tolist()) == {FEW} or knowledge == "shared"
    assert able.shape == (1_000, TOPICS)


def test_sketch_walks_are_shorter_than_floods_in_one_network() -> None:
    rows = {kind: grown(kind, 100, "few", 1.0, 500) for kind in ("sketch", "flooding")}
    assert float(rows["sketch"]["queried"]) < 0.3 * float(rows["flooding"]["queried"])
    assert rows["sketch"]["hits %"] == rows["flooding"]["hits %"] == 100.0


def test_a_curve_is_over_all_questions_so_far() -> None:
    queried = [9] * STEP + [3] * STEP + [6] * (STEP // 2)
    assert so_far([[count + more for count in queried] for more in (-1, 1)]) == [9.0, 6.0, 6.0]


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
        assert one.document in {document.id for document in peers.documents[one.domain]}
    assert len(peers.some(0.7, False, 0)) == 70
    topics = {peers.topic[peer] for peer, own in peers.documents.items() for d in own if d in peers.some(0.5, True, 0)}
    assert len(topics) == 2


def test_marks_count_words_on_both_sides() -> None:
    row = marked(Answer("q", "Ada Quent and more", "remote", 0.5), "Ada Quent")
    assert (row["EM"], row["precision"], row["recall"], row["ACC"]) == (0.0, 0.5, 1.0, 1.0)
    assert row["F1"] == pytest.approx(2 / 3)
    means = summed("CRAG", [{**row, "hops": 1.0, "queried": 1.0, "wire": 1.0, "hits": 1.0}])
    assert (means["F1"], math.isnan(means["hops"])) == (66.67, True)


@pytest.mark.parametrize(("text", "right"), [("It was Odile Varro.", 1.0), ("Jonas Keel", 0.0), ("salt", 0.0)])
def test_of_options_the_one_that_is_most_like_the_answer_counts(text: str, right: float) -> None:
    asked = DomainQuestion("q", "Who?", "Odile Varro", "bridges", "d", "dev", ("Jonas Keel", "Odile Varro"))
    assert option_chosen(text, asked) == right
    assert option_chosen(text, DomainQuestion("q", "Who?", "Odile Varro", "bridges", "d", "dev")) is None
