"""The benchmarks of walks: growth is what it is called, systems learn apart, and peers are dealt whole."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from fedrag_flwr.overlay.simulator import Asked
from fedrag_flwr.overlay.walks import WalkCount
from fedrag_flwr.records import Answer
from simulations.bench_overlay import STEP, so_far
from simulations.bench_overlay_answers import World as PeerWorld
from simulations.bench_overlay_answers import marked, table
from simulations.bench_overlay_scale import FEW, TOPICS, World, growth, holdings, measured
from simulations.corpora.overlay_peers_data import PEERS, Peers, read_peers
from simulations.fixtures.kept_devices import notes_of


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


def test_a_curve_is_over_all_questions_so_far() -> None:
    queried = [9] * STEP + [3] * STEP + [6] * (STEP // 2)
    runs = [[Asked(WalkCount(1, count + more, 2, True), 0, False) for count in queried] for more in (-1, 1)]
    assert so_far(runs) == [9.0, 6.0, 6.0]


def test_what_walks_of_one_system_taught_is_forgotten_for_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path))
    world = PeerWorld("huffpost", 5, Peers({}, {}, ()))
    peer = world.root / "home" / "devices" / "data" / "peer-00"
    peer.mkdir(parents=True)
    own, other = (peer / notes_of(walker) for walker in ("answers-topic-walk-40", "answers-random-walk-40"))
    for notes in (own, other):
        notes.touch()
    world.forget_walks("answers-topic-walk-40")
    assert (own.exists(), other.exists()) == (False, True)


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
